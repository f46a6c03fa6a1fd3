import assert from "node:assert/strict";
import fc from "fast-check";
import { environmentSpans } from "../../src/node/fork/environmentFile.ts";
import { maskText, SecretNames, unmaskText } from "../../src/node/fork/secretMasks.ts";

interface Case {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** Undefined: nothing to hide. */
  readonly masked: string | undefined;
}

/** Made up at run time, so that no scanner takes this file for a leak. */
const token = (prefix: string, length: number): string =>
  prefix + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA".repeat(8).slice(0, length);
const github = token("ghp_", 36);
const aws = `AKIAQWERTYUIOPASDFGH`;
const pem = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0\n".repeat(3)}-----END PRIVATE KEY-----`;

const cases: readonly Case[] = [
  {
    name: "values of an environment file, but not what tells nobody anything",
    path: ".env",
    text: "# comment\nAPI_KEY=abc123\nexport TOKEN='t o k' # why\nPORT=3000\nDEBUG=true\nNODE_ENV=test\nURL=http://localhost:80/x\nEMPTY=\n",
    masked:
      "# comment\nAPI_KEY=$HOLDFAST_SECRET_API_KEY\nexport TOKEN='$HOLDFAST_SECRET_TOKEN' # why\nPORT=3000\nDEBUG=true\nNODE_ENV=test\nURL=http://localhost:80/x\nEMPTY=\n",
  },
  {
    name: "a quoted value over several lines, CRLF",
    path: "config/.env.production",
    text: `KEY="one\r\ntwo=2"\r\nB=bee\r\n`,
    masked: `KEY="$HOLDFAST_SECRET_KEY"\r\nB=$HOLDFAST_SECRET_B\r\n`,
  },
  {
    name: "one value, one name; one name, one value",
    path: ".env",
    text: "A=same-value\nB=same-value\nC_D=x1y2\nc-d=other\n",
    masked:
      "A=$HOLDFAST_SECRET_A\nB=$HOLDFAST_SECRET_A\nC_D=$HOLDFAST_SECRET_C_D\nc-d=$HOLDFAST_SECRET_C_D_2\n",
  },
  { name: "a template", path: ".env.example", text: "API_KEY=put-yours-here\n", masked: undefined },
  {
    name: "a token in .npmrc",
    path: ".npmrc",
    text: "save-exact=true\n//registry.example.com/:_authToken=abcdef-123\n",
    masked: "save-exact=true\n//registry.example.com/:_authToken=$HOLDFAST_SECRET_AUTH_TOKEN\n",
  },
  {
    name: "tokens anywhere",
    path: "src/client.ts",
    text: `const a = "${github}";\nconst b = '${aws}';\n`,
    masked: `const a = "$HOLDFAST_SECRET_GITHUB_TOKEN";\nconst b = '$HOLDFAST_SECRET_AWS_ACCESS_KEY_ID';\n`,
  },
  {
    name: "the password of a URL only",
    path: "compose.yml",
    text: "db: postgres://me:hunter22@db.example.com/app\n",
    masked: "db: postgres://me:$HOLDFAST_SECRET_PASSWORD@db.example.com/app\n",
  },
  {
    name: "a private key",
    path: "deploy.pem",
    text: `before\n${pem}\nafter\n`,
    masked: "before\n$HOLDFAST_SECRET_PRIVATE_KEY\nafter\n",
  },
  { name: "a private key of a test", path: "test/fixtures/key.pem", text: pem, masked: undefined },
  {
    name: "a key store",
    path: "a/release.jks",
    text: "\0\u00ff",
    masked: "$HOLDFAST_SECRET_RELEASE_JKS",
  },
  { name: "plain code", path: "src/a.ts", text: "const secret = read();\n", masked: undefined },
  {
    name: "a token in git's configuration",
    path: ".git/config",
    text: `[remote "origin"]\n\turl = https://me:${github}@example.com/r.git\n`,
    masked: `[remote "origin"]\n\turl = https://me:$HOLDFAST_SECRET_PASSWORD@example.com/r.git\n`,
  },
];

/** Real files of secrets, with the values that nobody may see. */
const shown: Readonly<Record<string, readonly string[]>> = {
  ".env": [
    "\uFEFFA=hidden1\nB=hidden2\n", // a byte order mark
    "A: hidden1\n",
    "# A=hidden1\n#export B=hidden2\n",
    'A="hidden1\nB="hidden2"\nC=hidden3\n', // a quote that was forgotten
    "A='hidden1'\"hidden2\"hidden3\n",
    "A=hidden1\\\n  hidden2\n",
    'A="""hidden1\nhidden2"""\n',
    "A=<<END\nhidden1\nEND\n",
    "export A=hidden1 B=hidden2\n",
    "set -gx A hidden1\nsetenv B hidden2\ndeclare -x C=hidden3\n$env:D = 'hidden4'\n",
    "A+=hidden1\nA[0]=hidden2\nÄ=hidden3\n",
    "A=$HOLDFAST_SECRET_A hidden1\n",
    "A=/Hidden1/AbCdEFghIJkL\n",
    "A=1\rB=hidden1\r",
    "hidden1\n",
  ],
  ".env~": ["A=hidden1\n"],
  ".env-staging": ["A=hidden1\n"],
  ".flaskenv": ["A=hidden1\n"],
  ".dev.vars": ["A=hidden1\n"],
  ".envs/.local/.django": ["A=hidden1\n"],
  ".envrc": ["use nix\nexport A=hidden1; export B=hidden2\nif true; then C=hidden3; fi\nhidden4\n"],
  ".kube/config": ["users:\n- user:\n    token: hidden1\n    client-key-data: hidden2=\n"],
  ".docker/config.json": ['{"auths":{"r.example.com":{"auth":"hidden1="}}}'],
  "config/master.key": ["hidden1\n"],
  "config/credentials/production.key": ["hidden1"],
  "terraform.tfstate": ['{"password": "hidden1 \\"hidden2, hidden3"}'],
  "prod.tfvars": ['db_password = "hidden1 hidden2"\nmap = { api_token = "hidden3" }\n'],
  "secrets.yml": [
    "production:\n  stripe: hidden1 hidden2\n  list:\n    - hidden3\n  k: |\n    hidden4\n",
  ],
  "secrets.json": ['{"a":{"b":"hidden1"},"c":["hidden2", "hidden3"]}'],
  "auth.json": ['{"http-basic":{"r.example.com":{"username":"u","password":"hidden1"}}}'],
  ".pgpass": ["db.example.com:5432:app:me:hidden1:hidden2\n"],
  ".netrc": ["machine a login me\npassword\n hidden1\n"],
  ".pypirc": ["[pypi]\nusername = __token__\npassword = hidden1,hidden2'hidden3\n"],
  ".yarnrc.yml": ["npmAuthToken: hidden1\nnpmAuthIdent: me:hidden2\n"],
};

async function check({ path, text, masked }: Case): Promise<void> {
  const names = new SecretNames();
  const result = await maskText(path, text, names);
  assert.equal(result, masked);
  const values = new Map(names.secrets.map((one) => [one.name, one.value]));
  if (result !== undefined) assert.equal(unmaskText(result, values), text);
}

describe("secret masks", () => {
  for (const one of cases) it(one.name, () => check(one));

  for (const [path, texts] of Object.entries(shown))
    it(`${path} shows nothing, whatever it is written in`, async () => {
      for (const shownText of texts) {
        const text = Buffer.from(shownText, "utf8").toString("latin1");
        await check({ name: path, path, text, masked: await hidden(path, text) });
        await check({
          name: path,
          path,
          text: "\0" + text,
          masked: await hidden(path, "\0" + text),
        });
      }
    });

  async function hidden(path: string, text: string): Promise<string | undefined> {
    const masked = await maskText(path, text, new SecretNames());
    assert.doesNotMatch(masked ?? text, /hidden\d/i);
    return masked;
  }

  it("commands of an .envrc stay; a file whose name tells of secrets hides whole when it is too large", async () => {
    const commands = "use flake\nlayout python\nPATH_add bin\n[ -f x ] && source_up\n# why\n\n";
    assert.deepEqual(environmentSpans(commands, true), []);
    const large = `A=${"x".repeat(1 << 20)}\n`;
    assert.equal(await maskText(".env", large, new SecretNames()), "$HOLDFAST_SECRET_ENV");
  });

  it("a file of several names hides what it would hide under any of them", async () => {
    const text = "API_KEY=hunter2hunter2\n";
    const all = ["plain", ".env", "node_modules/x/plain"];
    for (const [at, path] of all.entries()) {
      const links = all.filter((_, other) => other !== at);
      const masked = await maskText(path, text, new SecretNames(), links);
      assert.equal(masked, "API_KEY=$HOLDFAST_SECRET_API_KEY\n", path);
    }
  });

  it("unmasking gives the text back, whatever it is", async () => {
    const line = fc.tuple(
      fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,8}$/),
      fc.constantFrom("=", " = ", "='", '="', ": "),
      fc.string({ maxLength: 12 }),
      fc.constantFrom("\n", "\r\n", "'\n", '"\n', "$HOLDFAST_SECRET_A\n"),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 6 }),
        fc.constantFrom(".env", ".npmrc", "x.p12", "src/a.ts"),
        async (lines, path) => {
          const text = Buffer.from(lines.flat().join(""), "utf8").toString("latin1");
          const names = new SecretNames();
          const masked = await maskText(path, text, names);
          const values = new Map(names.secrets.map((one) => [one.name, one.value]));
          if (masked !== undefined) assert.equal(unmaskText(masked, values), text);
        },
      ),
      { numRuns: 150 },
    );
  });
});
