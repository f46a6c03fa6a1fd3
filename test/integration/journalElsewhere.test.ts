import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { builtCommand, commandWorlds } from "../support/holdfastCommand.ts";

describe("an exported journal on another machine", () => {
  const newWorld = commandWorlds();
  let world: ReturnType<typeof newWorld>;
  let lines: readonly string[];
  let head = "";

  beforeEach(async () => {
    world = newWorld({ "a.txt": "one\n" });
    const { transaction } = await world.json<{ transaction: string }>([
      ...["run", "--", "sh", "-c", "echo two >> a.txt"],
    ]);
    await world.run(["check", transaction]); // the last that writes into it by itself
    const { stdout } = await world.run(["journal", "export", transaction, "--format", "jsonl"]);
    lines = stdout.trimEnd().split("\n");
    const proof = await world.run(["journal", "verify", transaction, "--json"]);
    ({ head } = JSON.parse(proof.stdout) as { head: string });
  });

  /** Verifies a file where nothing of the transaction is: another state directory, another folder. */
  const verify = async (
    text: string,
  ): Promise<{ code: number; answer: Record<string, unknown>; stderr: string }> => {
    const elsewhere = path.join(world.workspace, "..", "elsewhere");
    mkdirSync(elsewhere, { recursive: true });
    const file = path.join(elsewhere, "journal.jsonl");
    writeFileSync(file, text);
    const { code, stdout, stderr } = await world.run(["journal", "verify", file, "--json"], {
      env: { HOLDFAST_HOME: path.join(elsewhere, "home") },
    });
    return { code, answer: JSON.parse(stdout) as Record<string, unknown>, stderr };
  };

  const join = (all: readonly string[]): string => all.map((line) => `${line}\n`).join("");

  it("verifies, with the head that its own machine tells", async () => {
    const { code, answer } = await verify(join(lines));
    assert.equal(code, 0);
    assert.equal(answer["ok"], true);
    assert.equal(answer["entries"], lines.length);
    assert.equal(answer["head"], head);
  });

  it("the head is plain SHA-256 of the last line: any tool can tell it", () => {
    const last = lines.at(-1) ?? "";
    const told = execFileSync("sha256sum", { input: last, encoding: "utf8" }).split(" ")[0];
    assert.equal(told, head);
  });

  const changes: readonly (readonly [
    what: string,
    change: (all: readonly string[]) => readonly string[],
    line: (count: number) => number,
  ])[] = [
    [
      "one that was tampered with",
      (all) => all.with(2, (all[2] ?? "").replace('"at":"2', '"at":"3')),
      () => 4,
    ],
    [
      "its first line changed",
      (all) => all.with(0, (all[0] ?? "").replace("command", "commanD")),
      () => 2,
    ],
    [
      "two lines swapped",
      (all) => [...all.slice(0, 2), all[3] ?? "", all[2] ?? "", ...all.slice(4)],
      () => 3,
    ],
    ["a line left out", (all) => all.filter((_, index) => index !== 2), () => 3],
    ["a line twice", (all) => [...all.slice(0, 3), all[2] ?? "", ...all.slice(3)], () => 4],
    ["its beginning left out", (all) => all.slice(1), () => 1],
    ["a line of another hand at the end", (all) => [...all, '{"seq":0}'], (count) => count + 1],
  ];
  for (const [what, change, line] of changes)
    it(`tells ${what}, and where`, async () => {
      const { code, answer, stderr } = await verify(join(change(lines)));
      assert.equal(code, 1);
      assert.equal(answer["ok"], false);
      assert.equal((answer["broken"] as { line: number }).line, line(lines.length));
      assert.match(stderr, new RegExp(`line ${line(lines.length)}`));
    });

  it("the end cut off shows in the head and the count; half a line is told as torn", async () => {
    const whole = await verify(join(lines.slice(0, -2)));
    assert.equal(whole.code, 0);
    assert.equal(whole.answer["entries"], lines.length - 2);
    assert.notEqual(whole.answer["head"], head);
    const torn = await verify(join(lines).slice(0, -20));
    assert.equal(torn.answer["entries"], lines.length - 1);
    assert.ok(Number(torn.answer["tornBytes"]) > 0);
  });

  it("needs nothing but the command: no state directory is made for it", () => {
    const elsewhere = path.join(world.workspace, "..", "bare");
    mkdirSync(elsewhere);
    const file = path.join(elsewhere, "journal.jsonl");
    writeFileSync(file, join(lines));
    const home = path.join(elsewhere, "home");
    execFileSync(process.execPath, [builtCommand, "journal", "verify", file], {
      cwd: elsewhere,
      env: { PATH: process.env["PATH"], HOLDFAST_HOME: home },
    });
    assert.throws(() => readFileSync(home), /ENOENT/);
  });
});
