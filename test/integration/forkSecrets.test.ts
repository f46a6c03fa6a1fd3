import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { maskedSecrets } from "../../src/node/fork/secretMasks.ts";
import { ForkFixture, git } from "../support/forkFixture.ts";

const secret = "s3cr3t-value-0001";
const env = `API_KEY=${secret}\nPORT=3000\n`;

async function text(bytes: Promise<Uint8Array | undefined>): Promise<string> {
  return Buffer.from((await bytes) ?? []).toString();
}

/** Files below a directory in which a text stands. */
function holders(directory: string, wanted: string): string {
  const args = ["-c", `grep -rlF -e "$1" "$2" || true`, "sh", wanted, directory];
  return execFileSync("sh", args, { encoding: "utf8" });
}

describe("fork: secrets", () => {
  it("are not in the shadow, come back at publish line by line, and are no change", async () => {
    using fixture = new ForkFixture();
    git(fixture.workspace, "init", "-q");
    git(fixture.workspace, "remote", "add", "origin", `https://me:${secret}@example.com/r.git`);
    fixture.write(".gitignore", ".env\n");
    fixture.write(".env", env, 0o400);
    fixture.write("app/.env.local", env);
    // Whichever of its names is met first.
    for (const name of ["other", "app/.a", "app/zz"])
      linkSync(path.join(fixture.workspace, "app/.env.local"), path.join(fixture.workspace, name));
    fixture.write("plain.txt", "plain\n");
    const before = statSync(path.join(fixture.workspace, ".env"));
    const forked = await fixture.fork();

    assert.equal(holders(forked.fork.shadow, secret), "");
    assert.deepEqual(maskedSecrets(forked.paths.state), [{ name: "API_KEY", value: secret }]);
    assert.equal(statSync(path.join(forked.paths.state, "masks.json")).mode & 0o777, 0o600);
    assert.equal(statSync(forked.at(".env")).mode & 0o777, 0o400);
    assert.equal(Math.trunc(statSync(forked.at(".env")).mtimeMs), Math.trunc(before.mtimeMs));
    assert.deepEqual(await forked.changeLines(), []);
    assert.match(forked.fork.notes.join("\n"), /secrets are hidden from the agent in .*\.env/);

    const masked = "API_KEY=$HOLDFAST_SECRET_API_KEY\nPORT=3000\n";
    assert.equal(await text(forked.reader.read("base", ".env")), masked);
    assert.equal(await text(forked.reader.read("shadow", ".env")), masked);
    const edited = `${masked}NEW=1\n`;
    writeFileSync(forked.at("app/.env.local"), edited);
    writeFileSync(forked.at("plain.txt"), edited);
    assert.deepEqual(await forked.changeLines(), [
      "modified app/.a",
      "modified app/.env.local",
      "modified app/zz",
      "modified other",
      "modified plain.txt",
    ]);
    const bytes = Buffer.from(edited);
    assert.equal(await text(forked.reader.unmask("app/.env.local", bytes)), `${env}NEW=1\n`);
    assert.equal(await text(forked.reader.unmask("plain.txt", bytes)), edited);
    assert.equal(readFileSync(path.join(fixture.workspace, ".env"), "utf8"), env);
  });

  it("survive a rename of their file", async () => {
    using fixture = new ForkFixture();
    fixture.write(".env", `${env}A=1\nB=2\nC=3\n`);
    const forked = await fixture.fork();
    renameSync(forked.at(".env"), forked.at(".env.old"));
    assert.deepEqual(await forked.changeLines(), ["renamed .env.old <- .env"]);
    const shadow = await forked.reader.read("shadow", ".env.old");
    const published = text(forked.reader.unmask(".env.old", shadow!));
    assert.equal(await published, `${env}A=1\nB=2\nC=3\n`);
  });
});
