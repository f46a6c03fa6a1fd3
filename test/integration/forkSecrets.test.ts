import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
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

  it("hide in every file whose name tells of them, and behind every link of such a name", async () => {
    const named = [
      ...[".env", ".env~", ".env-prod", "a/prod.env", ".envrc", ".flaskenv", ".dev.vars.staging"],
      ...[".envs/.production", ".envs/.local/.django", ".npmrc", ".pypirc", ".netrc", ".my.cnf"],
      ...[
        ".kube/config",
        ".aws/config",
        ".docker/config.json",
        "auth.json",
        "kubeconfig",
        "x.tfstate",
      ],
      ...[
        "x.tfvars",
        "x.tfvars.json",
        "secrets.toml",
        "credentials.ini",
        "config/master.key",
        ".boto",
      ],
      ...[
        "config/credentials/test.key",
        "x.jks",
        "local.settings.json",
        "terraform.tfstate.backup",
      ],
    ];
    const links: readonly (readonly [string, string, string])[] = [
      [".env.one", "conf/one", "conf/one"],
      ["b/.env", "../conf/two", "conf/two"],
      ["c/.env", "../by-name/three", "conf/three"], // through a directory's link
      ["d/.env", "/four", "conf/four"],
      ["e/.env", "second", "conf/five"],
      ["f/.env", "../node_modules/six", "node_modules/six"], // in an overlay
    ];
    for (const backend of ["clone", "overlay"] as const) {
      using fixture = new ForkFixture();
      git(fixture.workspace, "init", "-q");
      fixture.write(".gitignore", "node_modules\n");
      for (let i = 0; i < 40; i++) fixture.write(`node_modules/x/${i}.js`, "x\n");
      for (const name of named) fixture.write(name, `password = "${secret}"\n`);
      for (const [, , file] of links) fixture.write(file, `A=${secret}\n`);
      symlinkSync("conf", path.join(fixture.workspace, "by-name"));
      for (const [link, target] of links) {
        mkdirSync(path.dirname(path.join(fixture.workspace, link)), { recursive: true });
        const to = target === "/four" ? path.join(fixture.workspace, "conf/four") : target;
        symlinkSync(to, path.join(fixture.workspace, link));
      }
      symlinkSync("../conf/five", path.join(fixture.workspace, "e/second"));
      symlinkSync("../../../../outside", path.join(fixture.workspace, "conf/.env"));
      symlinkSync(".env.loop", path.join(fixture.workspace, ".env.loop"));
      linkSync(path.join(fixture.workspace, "conf/one"), path.join(fixture.workspace, "hard"));
      linkSync(path.join(fixture.workspace, "a/prod.env"), path.join(fixture.workspace, "a/hard"));
      const forked = await fixture.fork(backend);
      const seen = ["a/hard", ...named, ...links.map(([, , file]) => file), "hard"];
      for (const file of seen) {
        const bytes = await text(forked.reader.read("shadow", file));
        assert.match(bytes, /HOLDFAST_SECRET/, `${backend} ${file}`);
        assert.ok(!bytes.includes(secret), `${backend} ${file}`);
      }
      assert.deepEqual(await forked.changeLines(), [], backend);
      await forked.remove();
    }
  });

  it("are found wherever in a file they begin, to its last byte, of every kind that begins alike", async () => {
    using fixture = new ForkFixture();
    const rest = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA9876";
    const tokens = ["ghp", "gho", "ghu", "ghs", "ghr"].map((kind) => `${kind}_${rest}`);
    const secrets = [...tokens, "https://someone:correct-horse-battery@example.org"];
    const files = secrets.flatMap((secret, kind) =>
      Array.from({ length: 9 }, (_, offset) => {
        const file = `src/${kind}-${offset}.ts`;
        fixture.write(file, " ".repeat(offset) + secret);
        return file;
      }),
    );
    const forked = await fixture.fork();
    const shown = files.filter((file) => {
      const bytes = readFileSync(forked.at(file), "utf8");
      return bytes.includes(rest) || bytes.includes("correct-horse-battery");
    });
    assert.deepEqual(shown, []);
    await forked.remove();
  });

  it("stand again in a source file that was renamed; a .env leaves them behind under another name", async () => {
    using fixture = new ForkFixture();
    const token = `ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA9876`;
    const source = `export const a = 1;\nexport const token = "${token}";\n`;
    fixture.write("client.ts", source);
    fixture.write(".env", env);
    const forked = await fixture.fork();
    const masked = readFileSync(forked.at("client.ts"), "utf8");
    assert.ok(!masked.includes(token));
    const unmasked = (to: string, added: string, from?: string): Promise<string> =>
      text(forked.reader.unmask(to, Buffer.from(added), from));
    const other = "$HOLDFAST_SECRET_API_KEY\n";
    assert.equal(await unmasked("api.ts", masked + other, "client.ts"), source + other);
    assert.equal(await unmasked("api.ts", masked), masked);
    assert.equal(await unmasked("public.txt", other, ".env"), other);
    rmSync(forked.at(".env"));
  });
});
