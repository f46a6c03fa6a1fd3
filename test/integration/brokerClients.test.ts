import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request as requestHttp } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { execa } from "execa";
import { javaOptions } from "../../src/node/broker/javaTrust.ts";
import { proxyFromEnvironment } from "../../src/node/broker/upstreamProxy.ts";
import { brokerWorld, type BrokerWorld } from "../support/brokerWorld.ts";
import { nativeBridge } from "../support/nativeBridge.ts";
import { requestOver, tunnel } from "../support/proxyClient.ts";
import { root } from "../support/repository.ts";
import { nativePath } from "../support/sandboxFixture.ts";

/** A registry with one package that anybody may install. */
const manifest = JSON.stringify({ name: "tiny", version: "1.0.0" });
let tarball = Buffer.alloc(0);

describe("broker: real clients through the real bridge", function () {
  this.timeout(150_000);
  let world: BrokerWorld;
  let bridge: ChildProcess;
  let env: Record<string, string>;
  let home: string;

  before(async () => {
    home = await mkdtemp(path.join(tmpdir(), "holdfast-clients-"));
    await mkdir(path.join(home, "package"));
    await writeFile(path.join(home, "package/package.json"), manifest);
    await execa("tar", ["-czf", "tiny.tgz", "package"], { cwd: home });
    const packed = await execa("cat", [path.join(home, "tiny.tgz")], { encoding: "buffer" });
    tarball = Buffer.from(packed.stdout);
    world = await brokerWorld({
      handler(request, response) {
        if (request.url === "/tiny") {
          const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
          const dist = { tarball: "https://registry.test/tiny/-/tiny-1.0.0.tgz", integrity };
          const version = { name: "tiny", version: "1.0.0", dist };
          response.setHeader("content-type", "application/json");
          response.end(
            JSON.stringify({
              name: "tiny",
              "dist-tags": { latest: "1.0.0" },
              versions: { "1.0.0": version },
            }),
          );
        } else if (request.url?.endsWith(".tgz") === true) response.end(tarball);
        else response.end(`hello ${String(request.headers["x-name"] ?? "")}`);
      },
    });
    const proxied = await nativeBridge(world.doorSocket);
    bridge = proxied.child;
    const variables = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
    env = {
      ...world.broker.env,
      ...Object.fromEntries(variables.map((name) => [name, proxied.proxy])),
      JAVA_TOOL_OPTIONS: javaOptions(proxied.proxy, path.join(world.directory, "ca/ca-bundle.jks")),
      HOME: home,
      PATH: process.env["PATH"] ?? "",
    };
  });
  after(async () => {
    bridge.kill();
    await world[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });

  const python = "import sys; U='https://py.test/'; ";
  const java = `import java.net.*; import java.net.http.*;
public class Get { public static void main(String[] a) throws Exception {
  var url = new URI("https://java.test/").toURL().openStream();
  System.out.println(new String(url.readAllBytes()));
  var client = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).build();
  System.out.println(client.send(HttpRequest.newBuilder(new URI("https://java.test/")).build(), HttpResponse.BodyHandlers.ofString()).body());
} }`;
  const clients: Record<
    string,
    { program: string; args: () => string[]; says: RegExp; needs?: string[] }
  > = {
    curl: { program: "curl", args: () => ["-sS", "https://curl.test/"], says: /^hello/ },
    "Python's urllib": {
      program: "python3",
      args: () => [
        "-c",
        `${python}import urllib.request as r; print(r.urlopen(U).read().decode())`,
      ],
      says: /^hello/,
    },
    "Python's requests": {
      program: "python3",
      args: () => [
        "-c",
        `${python}import requests; print(requests.get(U, headers={'x-name': 'r'}).text)`,
      ],
      says: /^hello r/,
      needs: ["python3", "-c", "import requests"],
    },
    "Node with undici": {
      program: process.execPath,
      args: () => [
        "-e",
        `const {fetch,EnvHttpProxyAgent,setGlobalDispatcher}=require(${JSON.stringify(path.join(root, "node_modules/undici"))});
         setGlobalDispatcher(new EnvHttpProxyAgent());
         fetch("https://node.test/").then(r=>r.text()).then(console.log)`,
      ],
      says: /^hello/,
    },
    npm: {
      program: "npm",
      args: () => ["view", "tiny", "version", "--registry", "https://registry.test/"],
      says: /^1\.0\.0/,
    },
    "npm, installing": {
      program: "npm",
      args: () => ["install", "tiny", "--registry", "https://registry.test/", "--prefix", home],
      says: /added 1 package/,
    },
    git: {
      program: "git",
      args: () => ["-c", "http.followRedirects=false", "ls-remote", "https://x.denied.test/r.git"],
      says: /Holdfast: denied by test\.denied/,
    },
    "a JVM": {
      program: "java",
      args: () => [path.join(home, "Get.java")],
      says: /^hello \nhello /,
      needs: ["java", "--source", "17", "--version"],
    },
  };
  for (const [name, { program, args, says, needs }] of Object.entries(clients)) {
    it(`serves ${name}`, async () => {
      if (needs !== undefined) {
        const [first = "", ...rest] = needs;
        const { exitCode } = await execa(first, rest, { reject: false });
        // What this machine has not got is not a client here.
        if (exitCode !== 0) return;
        await writeFile(path.join(home, "Get.java"), java);
      }
      const { stdout, stderr } = await execa(program, args(), {
        env,
        extendEnv: false,
        reject: false,
      });
      assert.match(`${stdout}\n${stderr}`, says);
    });
  }

  it("has a bridge to go through", () => assert.ok(existsSync(nativePath), "make -C native"));
});

describe("broker: behind another proxy", function () {
  this.timeout(30_000);

  it("goes through the proxy that the supervisor's environment names, with its login", async () => {
    const asked: string[] = [];
    await using origin = await brokerWorld();
    const corporate = createServer();
    corporate.on("connect", (request, client) => {
      asked.push(`${request.url ?? ""} ${String(request.headers["proxy-authorization"])}`);
      const { port } = new URL(origin.proxy);
      // The far side is another broker: it terminates TLS for any name.
      requestHttp({ port, method: "CONNECT", path: request.url, agent: false })
        .once("connect", (_response, upstream) => {
          client.write("HTTP/1.1 200 OK\r\n\r\n");
          upstream.pipe(client).pipe(upstream);
        })
        .end();
    });
    await new Promise<void>((resolve) => corporate.listen(0, "127.0.0.1", resolve));
    const { port } = corporate.address() as AddressInfo;
    const proxyFor = proxyFromEnvironment({
      HTTPS_PROXY: `http://me:pass@127.0.0.1:${String(port)}`,
      NO_PROXY: "direct.example, .internal",
    });
    assert.equal(proxyFor({ host: "direct.example", port: 443 }), undefined);
    assert.equal(proxyFor({ host: "a.internal", port: 443 }), undefined);
    const socket = await proxyFor({ host: "far.test", port: 443 })?.tunnel(
      { host: "far.test", port: 443 },
      new AbortController().signal,
    );
    socket?.destroy();
    corporate.close();
    const login = Buffer.from("me:pass").toString("base64");
    assert.deepEqual(asked, [`far.test:443 Basic ${login}`]);
  });

  it("asks that proxy for no name and no address that leads inside", async () => {
    const asked: string[] = [];
    const far = createServer((_request, response) => response.end("far\n"));
    await new Promise<void>((resolve) => far.listen(0, "127.0.0.1", resolve));
    const proxyFor: ReturnType<typeof proxyFromEnvironment> = () => ({
      tunnel: (authority) => {
        asked.push(authority.host);
        return Promise.resolve(connect((far.address() as AddressInfo).port, "127.0.0.1"));
      },
    });
    const resolve = (name: string) =>
      name === "split.example"
        ? Promise.resolve([{ address: "10.1.2.3", family: 4 }])
        : Promise.reject(new Error("ENOTFOUND"));
    await using world = await brokerWorld({ proxyFor, resolve });
    const get = async (host: string): Promise<number | undefined> => {
      const socket = await tunnel(world, `${host}:80`);
      const options = { path: "/", headers: { host } };
      const { response } = await requestOver(socket, options, (request) => request.end());
      socket.destroy();
      return response.statusCode;
    };
    const inside = ["split.example", "printer", "router.lan", "metadata.google.internal"];
    for (const host of [...inside, "10.0.0.1", "169.254.169.254", "localhost"]) {
      assert.equal(await get(host), 403, host);
    }
    assert.equal(await get("far.example"), 200);
    assert.deepEqual(asked, ["far.example"]);
    far.close();
    far.closeAllConnections();
  });
});
