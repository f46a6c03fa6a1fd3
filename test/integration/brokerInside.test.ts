import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Socket } from "node:net";
import { insideWorld, type InsideWorld } from "../support/insideWorld.ts";

/** A registry with one package, a git repository over plain files, an echo, and a WebSocket that says what it is told. */
function originOf(
  tarball: () => Buffer,
  repository: () => string,
): Parameters<typeof insideWorld>[0] {
  return {
    handler(request, response) {
      const url = request.url ?? "/";
      if (url === "/tiny") {
        const integrity = `sha512-${createHash("sha512").update(tarball()).digest("base64")}`;
        const dist = { tarball: "https://registry.test/tiny/-/tiny-1.0.0.tgz", integrity };
        const version = { name: "tiny", version: "1.0.0", dist };
        response.setHeader("content-type", "application/json");
        const tags = { latest: "1.0.0" };
        response.end(
          JSON.stringify({ name: "tiny", "dist-tags": tags, versions: { "1.0.0": version } }),
        );
      } else if (url.endsWith(".tgz")) response.end(tarball());
      else if (url.startsWith("/repo.git/")) {
        const file = path.join(repository(), url.slice("/repo.git/".length).replace(/\?.*/, ""));
        try {
          response.end(readFileSync(file));
        } catch {
          response.statusCode = 404;
          response.end();
        }
      } else if (request.headers["content-type"] === "application/grpc-web+proto") {
        response.setHeader("content-type", "application/grpc-web+proto");
        request.pipe(response);
      } else response.end(`hello ${request.method ?? ""} ${request.httpVersion}\n`);
    },
    prepare(server) {
      server.on("upgrade", (request: { headers: Record<string, string> }, socket: Socket) => {
        const key = `${request.headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
        const accept = createHash("sha1").update(key).digest("base64");
        const head = [
          "HTTP/1.1 101 Switching Protocols",
          "Upgrade: websocket",
          "Connection: Upgrade",
        ];
        socket.write([...head, `Sec-WebSocket-Accept: ${accept}`, "", ""].join("\r\n"));
        // One unmasked text frame.
        socket.on("data", () => socket.write(Buffer.from([0x81, 4, ...Buffer.from("said")])));
        socket.on("error", () => socket.destroy());
      });
    },
  };
}

describe("broker: real clients in the whole sandbox", function () {
  this.timeout(90_000);
  let inside: InsideWorld;
  let tarball = Buffer.alloc(0);
  let repository = "";

  beforeEach(async () => {
    inside = await insideWorld(
      originOf(
        () => tarball,
        () => repository,
      ),
    );
    const { root } = inside.fixture;
    mkdirSync(path.join(root, "package"));
    writeFileSync(path.join(root, "package/package.json"), '{"name":"tiny","version":"1.0.0"}');
    execFileSync("tar", ["-czf", "tiny.tgz", "package"], { cwd: root });
    tarball = readFileSync(path.join(root, "tiny.tgz"));
    repository = path.join(root, "repo");
    const git = (...words: string[]): void =>
      void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], {
        stdio: "pipe",
      });
    git("init", "-q", repository);
    writeFileSync(path.join(repository, "f"), "content\n");
    git("-C", repository, "add", "f");
    git("-C", repository, "commit", "-q", "-m", "one");
    git("-C", repository, "update-server-info");
    repository = path.join(repository, ".git");
  });
  afterEach(async () => await inside[Symbol.asyncDispose]());

  const webSocket = `const crypto = require("crypto"), tls = require("tls"), net = require("net");
    const proxy = net.connect(61080, "127.0.0.1", () => proxy.write("CONNECT ws.test:443 HTTP/1.1\\r\\nHost: ws.test:443\\r\\n\\r\\n"));
    proxy.once("data", () => {
      const socket = tls.connect({ socket: proxy, servername: "ws.test", ca: require("fs").readFileSync(process.env.SSL_CERT_FILE) });
      socket.write("GET /chat HTTP/1.1\\r\\nHost: ws.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: " + crypto.randomBytes(16).toString("base64") + "\\r\\n\\r\\n");
      let text = ""; let asked = false;
      socket.on("data", (part) => { text += part.toString("latin1");
        if (!asked && text.includes("101")) { asked = true; socket.write(Buffer.from([0x81, 0x82, 1, 2, 3, 4, 0x69, 0x6b])); }
        if (text.includes("said")) { console.log(text.slice(9, 12), "said"); process.exit(0); } });
    });`;

  const clients: readonly [who: string, command: string, says: string | RegExp][] = [
    ["curl", "curl -sS --http1.1 https://curl.test/", "hello GET 1.1\n"],
    ["curl over HTTP/2", "curl -sS https://curl.test/", /^hello GET /],
    ["curl over HTTP/1.0", "curl -sS -0 http://old.test/", /^hello GET 1/],
    ["git", "git clone -q https://git.test/repo.git r && cat r/f", "content\n"],
    [
      "npm",
      "echo '{}' > package.json && npm install --registry https://registry.test/ tiny --no-audit --no-fund >/dev/null && cat node_modules/tiny/package.json",
      /"name":"tiny"/,
    ],
    [
      "Python's urllib",
      `python3 -c 'import urllib.request as r; print(r.urlopen("https://py.test/").read().decode(), end="")'`,
      /^hello GET/,
    ],
    ["a WebSocket", `node -e '${webSocket}'`, "101 said\n"],
  ];
  for (const [who, command, says] of clients) {
    it(`${who} works`, async () => {
      const { stdout, stderr } = await inside.run(command);
      if (typeof says === "string") assert.equal(stdout, says, stderr);
      else assert.match(stdout, says, stderr);
    });
  }

  it("Node's own https through the transparent path works", async () => {
    const script = `require("https").get("https://node.test/", (answer) => answer.pipe(process.stdout))`;
    const { stdout, stderr } = await inside.run(`node -e '${script}'`, { proxies: false });
    assert.match(stdout, /^hello GET/, stderr);
  });

  it("gRPC-web is held whole and comes back whole", async () => {
    const call = inside.run(
      `printf '\\0\\0\\0\\0\\3abc' > message && curl -sS --http1.1 -H 'content-type: application/grpc-web+proto' --data-binary @message https://grpc.test/s/m | od -An -c | tr -d ' \\n'`,
    );
    const { host } = inside.world;
    await host.until(() => host.holds.length === 1);
    host.holds[0]?.decide({ decision: "approve", scope: "call" });
    assert.equal((await call).stdout, "\\0\\0\\0\\0003abc");
  });

  it("HTTP/2 without TLS is refused in its own words", async () => {
    const script = `const c = require("http2").connect("http://clear.test:8080"); c.on("goaway", (code, _, data) => { console.log(code, String(data)); process.exit(0); }); c.on("error", () => 0); c.request({ ":path": "/" }).on("error", () => 0);`;
    const { stdout, stderr } = await inside.run(`node -e '${script}'`, { proxies: false });
    assert.match(stdout, /^13 HTTP\/2 without TLS is not passed on/, stderr);
    assert.deepEqual(
      inside.world.host.of("alert").map(({ code }) => code),
      ["clear-http2"],
    );
  });

  it("a WebSocket over HTTP/2 is refused", async () => {
    const { stdout, stderr } = await inside.run(
      `node -e 'const c = require("http2").connect("https://ws2.test"); const s = c.request({ ":method": "CONNECT", ":authority": "ws2.test" }); s.on("response", (h) => { console.log(h[":status"]); process.exit(0); }); s.on("error", (e) => { console.log(e.code); process.exit(0); }); c.on("error", () => 0);'`,
      { proxies: false },
    );
    assert.match(stdout, /^(?:405|ERR_HTTP2)/, stderr);
    assert.deepEqual(inside.world.host.of("verdict"), []);
  });
});

describe("broker: a client that is told to come back", function () {
  this.timeout(60_000);

  it("is answered while its call stays held, and finds the approval", async () => {
    await using inside = await insideWorld({
      waiting: { answerAfterSeconds: 1 },
      handler: (request, response) => response.end(`sent ${request.method ?? ""}\n`),
    });
    const call = "curl -sS --http1.1 -i -d x=1 https://later.test/";
    const first = await inside.run(call);
    assert.match(first.stdout, /HTTP\/1.1 503 [^]*Retry-After: 1\r\n[^]*the very same call again/);
    const { host } = inside.world;
    assert.equal(host.holds.length, 1);
    host.holds[0]?.decide({ decision: "approve", scope: "call" });
    const second = await inside.run(call);
    assert.match(second.stdout, /200 OK[^]*sent POST\n/);
    assert.equal(host.holds.length, 1);
  });
});
