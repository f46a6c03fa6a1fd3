import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { git, type ForkedFixture, type ForkFixture } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture, type ForkPlace } from "../support/forkPlaces.ts";
import { run, type Ran } from "../support/sandboxFixture.ts";
import { actOn } from "../support/treeOracle.ts";
import { makeSample } from "../samples/makeSample.mjs";

/** What an agent does in a project first, each as it would type it; then what came of it. */
const script = `
say() { echo "$*" >> /tmp/said; }
npm test >/tmp/log 2>&1; say "npm test $?"
node_modules/.bin/tsc --noEmit -p vendor | grep -c "error TS" >> /tmp/said
npm install --offline --no-audit --no-fund --install-links ./vendor/greeting >/tmp/install 2>&1 || cat /tmp/install >&2
node -e 'import("greeting").then((m) => console.log(m.default))' >> /tmp/said
git status --porcelain >> /tmp/said
git stash -q; git status --porcelain >> /tmp/said; git stash pop -q; say "stash $?"
git mv docs/prices.md docs/list.md; say "mv of a file $?"
git mv src/cart src/basket 2>/dev/null; say "mv of a folder $?"
git commit -qam "agent" && git log --format=%s | sed -n 1p >> /tmp/said
cat /tmp/said
`;

const said = (folderMoved: boolean): readonly string[] => [
  "npm test 0",
  "2",
  "hello from a package",
  " M package-lock.json",
  " M package.json",
  "stash 0",
  "mv of a file 0",
  `mv of a folder ${folderMoved ? 0 : 128}`,
  "agent",
];

const moved = [
  "renamed src/basket/cart.ts <- src/cart/cart.ts",
  "renamed src/basket/discount.ts <- src/cart/discount.ts",
];

async function runInside(fixture: ForkFixture, forked: ForkedFixture): Promise<Ran> {
  const { workspace } = fixture;
  const launch = { argv: ["bash", "-c", script], env: {}, files: [], readOnly: [], modelHosts: [] };
  const { fork, paths } = forked;
  const { nativePath } = fixture;
  return run({ workspace, fork, paths, cwd: workspace, launch }, { nativePath });
}

/** A package to install, a quick type check, and a lock file, so that npm need ask nobody. */
function addToSample(sample: string): void {
  const at = (name: string): string => path.join(sample, name);
  const put = (name: string, content: unknown): void => {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    writeFileSync(at(name), typeof content === "string" ? content : JSON.stringify(content));
  };
  const read = (name: string): Readonly<Record<string, unknown>> =>
    JSON.parse(readFileSync(at(name), "utf8")) as Readonly<Record<string, unknown>>;
  const greeting = { name: "greeting", version: "1.0.0", type: "module", main: "index.js" };
  put("vendor/greeting/package.json", greeting);
  put("vendor/greeting/index.js", 'export default "hello from a package";\n');
  const compilerOptions = { types: [], lib: ["es2022"], skipLibCheck: true, rootDir: ".." };
  put("vendor/tsconfig.json", {
    extends: "../tsconfig.json",
    compilerOptions,
    include: ["../src/orders"],
  });
  const { name, version, devDependencies } = read("package.json");
  const installed = ["typescript", "@types/node", "undici-types"].map((one) => {
    const place = `node_modules/${one}`;
    const found = read(`${place}/package.json`);
    return [
      place,
      { version: found["version"], dependencies: found["dependencies"], dev: true },
    ] as const;
  });
  const packages = { "": { name, version, devDependencies }, ...Object.fromEntries(installed) };
  put("package-lock.json", { name, version, lockfileVersion: 3, packages });
  git(sample, "add", ".");
  git(sample, "commit", "-qm", "vendor");
}

describe("fork: the agent runs the project at once, in the sandbox", function () {
  this.timeout(240_000);
  let sample: string;
  before(() => {
    sample = makeSample(mkdtempSync(path.join(tmpdir(), "holdfast-sample-")));
    addToSample(sample);
  });
  after(() => rmSync(sample, { recursive: true, force: true }));

  async function check(place: ForkPlace): Promise<void> {
    using placed = new PlacedFixture(place);
    const { fixture } = placed;
    execFileSync("cp", ["-a", `${sample}/.`, fixture.workspace]);
    const before = actOn(fixture.workspace, []);
    const forked = await fixture.fork(place.backend);
    const ran = await runInside(fixture, forked);
    const overlay = place.backend === "overlay";
    assert.deepEqual(ran.stdout.trimEnd().split("\n"), said(!overlay), ran.stderr);
    assert.equal(forked.fork.notes.join("\n").includes("EXDEV"), overlay);
    const changed = (await forked.changeLines()).filter((line) => !line.includes("(ignored)"));
    assert.deepEqual(changed, [
      "renamed docs/list.md <- docs/prices.md",
      "modified package-lock.json",
      "modified package.json",
      ...(overlay ? [] : moved),
    ]);
    assert.deepEqual(actOn(fixture.workspace, []), before);
    await forked.remove();
  }

  for (const place of forkPlaces) it(place.name, () => check(place));
});
