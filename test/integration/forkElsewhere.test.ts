import { chmodSync, readdirSync } from "node:fs";
import path from "node:path";
import { nativeBuild } from "../support/nativeBuild.ts";
import { runSuites, runSuitesAsUser } from "../support/suitesElsewhere.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

/** Every suite of forks but those that bring builds or sandboxes of their own. */
const suites = readdirSync(import.meta.dirname)
  .filter((name) => /^fork(?!Elsewhere|Faults|RunsProject)\w+\.test\.ts$/.test(name))
  .map((name) => path.join("test/integration", name));

describe("fork: all suites elsewhere", function () {
  this.timeout(900_000);
  const folder = temporaryFolders();

  if (process.getuid?.() === 0) {
    it("as an ordinary user", async () => await runSuitesAsUser(suites, folder()));
  }

  it("with a native program that looks for its own errors", async () => {
    const native = nativeBuild("sanitized");
    const own = folder();
    chmodSync(own, 0o755); // one of the tests forks as another user
    await runSuites(suites, { TMPDIR: own, HOLDFAST_TEST_NATIVE: native });
  });
});
