// Mocha's own spec reporter, which also leaves its counts, by file too, in the file that $HOLDFAST_TEST_RESULT names.
const fs = require("node:fs");
const path = require("node:path");
const { reporters, Runner } = require("mocha");

class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const root = path.dirname(__dirname);
    const files = {};
    /** A hook that fails has the file of its suite. */
    const countsOf = (test) => {
      const file = path.relative(root, test.file ?? test.parent?.file ?? "");
      return (files[file] ??= { passed: 0, failed: 0, failures: [] });
    };
    runner.on(Runner.constants.EVENT_TEST_PASS, (test) => (countsOf(test).passed += 1));
    runner.on(Runner.constants.EVENT_TEST_FAIL, (test, error) => {
      const counts = countsOf(test);
      counts.failed += 1;
      counts.failures.push(`${test.fullTitle()}\n${error?.stack ?? String(error)}`);
    });
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures } = runner.stats;
      const file = process.env.HOLDFAST_TEST_RESULT;
      if (file) fs.writeFileSync(file, JSON.stringify({ passed: passes, failed: failures, files }));
    });
  }
}

module.exports = CountingReporter;
