import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { execa } from "execa";
import { brokerWorld, type BrokerWorld } from "../support/brokerWorld.ts";

/** Answers with what it saw. */
function echo(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    const { method, url, httpVersion } = request;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method, url, httpVersion, headers: request.rawHeaders, body }));
  });
}

interface Curled {
  readonly status: number;
  readonly body: string;
}

async function curl(world: BrokerWorld, ...args: readonly string[]): Promise<Curled> {
  const marked = ["-sS", "--max-time", "20", "-w", "\n%{http_code}", ...args];
  const { stdout } = await execa("curl", marked, { env: world.env, reject: false });
  const cut = stdout.lastIndexOf("\n");
  return { status: Number(stdout.slice(cut + 1)), body: stdout.slice(0, cut) };
}

describe("broker: the door", function () {
  this.timeout(30_000);
  let world: BrokerWorld;
  before(async () => {
    world = await brokerWorld({ handler: echo });
  });
  after(async () => await world[Symbol.asyncDispose]());
  beforeEach(() => {
    world.host.drafts.length = 0;
    world.host.holds.length = 0;
  });

  const passes: Record<string, { args: string[]; version: string; protocol: string }> = {
    "absolute-form HTTP/1.1": {
      args: ["http://plain.test/a?b=1"],
      version: "1.1",
      protocol: "HTTP/1.1",
    },
    "CONNECT with TLS and HTTP/1.1": {
      args: ["--http1.1", "https://tls.test/a?b=1"],
      version: "1.1",
      protocol: "HTTP/1.1",
    },
    "CONNECT with TLS and HTTP/2": {
      args: ["--http2", "https://tls.test/a?b=1"],
      version: "2.0",
      protocol: "HTTP/2",
    },
    "CONNECT with plain HTTP": {
      args: ["--proxytunnel", "http://plain.test/a?b=1"],
      version: "1.1",
      protocol: "HTTP/1.1",
    },
  };
  for (const [name, { args, version, protocol }] of Object.entries(passes)) {
    it(`passes ${name} and journals it before it leaves`, async () => {
      const { status, body } = await curl(world, ...args);
      assert.equal(status, 200);
      const seen = JSON.parse(body) as { url: string; httpVersion: string };
      assert.deepEqual([seen.url, seen.httpVersion], ["/a?b=1", version]);
      await world.host.until(() => world.host.of("request.finished").length === 1);
      assert.deepEqual(
        world.host.drafts.map((draft) => draft.kind),
        ["request.started", "verdict", "request.finished"],
      );
      const [started] = world.host.of("request.started");
      assert.equal(started?.protocol, protocol);
      assert.equal(started.path, "/a?b=1");
    });
  }

  it("passes SOCKS5 with names resolved outside", async () => {
    const { status } = await curl(
      world,
      "--proxy",
      world.proxy.replace("http:", "socks5h:"),
      "https://tls.test/s",
    );
    assert.equal(status, 200);
  });

  it("denies with the reason, as JSON and as text", async () => {
    const json = await curl(world, "https://x.denied.test/");
    assert.equal(json.status, 403);
    const parsed = JSON.parse(json.body) as { error: { message: string } };
    assert.match(parsed.error.message, /this host is denied/);
    const text = await curl(world, "-A", "git/2.39", "https://x.denied.test/");
    assert.match(text.body, /^Holdfast: denied by test\.denied: this host is denied/);
  });

  it("holds until a person approves, and sends exactly the approved bytes", async () => {
    const answer = curl(world, "--json", '{"x":1}', "https://tls.test/post");
    await world.host.until(() => world.host.holds.length === 1);
    assert.equal(world.host.of("request.finished").length, 0);
    const hold = world.host.holds[0]!;
    assert.match(
      hold.request.payload as string,
      /^POST https:\/\/tls\.test\/post\r\n[^]*\r\n\r\n\{"x":1\}$/,
    );
    hold.decide({ decision: "approve", scope: "call" });
    const { status, body } = await answer;
    assert.equal(status, 200);
    assert.equal((JSON.parse(body) as { body: string }).body, '{"x":1}');
    assert.equal(world.host.of("hold.spent").length, 1);
  });

  it("answers a denied hold with the person's reason", async () => {
    const answer = curl(world, "--json", '{"x":2}', "https://tls.test/post");
    await world.host.until(() => world.host.holds.length === 1);
    world.host.holds[0]!.decide({ decision: "deny", scope: "call", reason: "not today" });
    const { status, body } = await answer;
    assert.equal(status, 403);
    assert.match(body, /a person looked at this call and denied it: not today/);
  });

  it("holds no like call again once approved for the transaction", async () => {
    const first = curl(world, "--json", '{"y":1}', "https://tls.test/again");
    await world.host.until(() => world.host.holds.length === 1);
    world.host.holds[0]!.decide({ decision: "approve", scope: "transaction" });
    assert.equal((await first).status, 200);
    assert.equal((await curl(world, "--json", '{"y":2}', "https://tls.test/again")).status, 200);
    assert.equal(world.host.holds.length, 1);
  });

  it("spools a large held body to a private file and removes it after", async () => {
    const large = "x".repeat(3 * 1024 * 1024);
    const answer = execa(
      "curl",
      ["-sS", "--data-binary", "@-", "-H", "content-type: text/plain", "https://tls.test/large"],
      { env: world.env, input: large },
    );
    await world.host.until(() => world.host.holds.length === 1);
    const payload = world.host.holds[0]!.request.payload as unknown as {
      bodyFile: string;
      bodyBytes: number;
    };
    assert.equal(payload.bodyBytes, large.length);
    assert.equal((await stat(payload.bodyFile)).mode & 0o777, 0o600);
    world.host.holds[0]!.decide({ decision: "approve", scope: "call" });
    assert.equal((JSON.parse((await answer).stdout) as { body: string }).body.length, large.length);
    // It goes once the answer is through and journaled.
    while (existsSync(payload.bodyFile)) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  const refused: Record<string, string[]> = {
    "loopback by number": ["http://127.0.0.1:9/"],
    "loopback by name": ["http://localhost:9/"],
    "loopback in hexadecimal": ["http://0x7f000001/"],
    "loopback mapped into IPv6": ["http://[::ffff:127.0.0.1]/"],
    "cloud metadata": ["http://169.254.169.254/latest/meta-data/"],
    "a private network": ["https://10.1.2.3/"],
  };
  for (const [name, args] of Object.entries(refused)) {
    it(`denies ${name}`, async () => {
      const { status, body } = await curl(world, "--noproxy", "", ...args);
      assert.equal(status, 403);
      assert.match(body, /floor\.address/);
    });
  }

  it("refuses a Host that is not where the connection leads", async () => {
    const { status } = await curl(world, "--http1.1", "-H", "Host: evil.test", "https://tls.test/");
    assert.equal(status, 421);
    const direct = await curl(world, "-H", "Host: evil.test", "http://plain.test/");
    assert.equal(direct.status, 400);
  });

  it("keeps its private key out of what the sandbox sees", async () => {
    for (const name of ["ca.pem", "ca-bundle.pem"]) {
      assert.doesNotMatch(await readFile(join(world.directory, "ca", name), "utf8"), /PRIVATE/);
    }
  });
});

describe("broker: addresses", function () {
  this.timeout(30_000);

  it("denies a name that resolves to a private address, among public ones too", async () => {
    const answers = [
      { address: "93.184.216.34", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    await using world = await brokerWorld({ resolve: () => Promise.resolve(answers) });
    const { status, body } = await curl(world, "http://rebind.example/");
    assert.equal(status, 403);
    assert.match(body, /rebind\.example is a loopback address/);
  });

  it("asks no resolver about a call that may not go", async () => {
    const asked: string[] = [];
    await using world = await brokerWorld({
      resolve: (name) => {
        asked.push(name);
        return Promise.resolve([{ address: "93.184.216.34", family: 4 }]);
      },
    });
    await curl(world, "https://data.denied.test/");
    assert.deepEqual(asked, []);
  });
});
