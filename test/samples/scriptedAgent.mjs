#!/usr/bin/env node
// A stand-in for a coding agent that always does the same work on the sample project, with plain Node and nothing else.
// It tells what it does as JSON lines on the one-way socket $HOLDFAST_AGENT_SOCK; without one it works in silence.
//   node scriptedAgent.mjs [--delay MS] [--post URL] [--patience MS]
//     --delay     pause before each step, so that a person can watch (0)
//     --post      where it tries to send its summary (https://hooks.chat.example/services/T00/B00)
//     --patience  how long it waits for an answer to that before it goes on; 0 waits as long as it takes (3000)
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import tls from "node:tls";

const { delay, post, patience } = optionsOf(process.argv.slice(2));
const socket = await connect(process.env.HOLDFAST_AGENT_SOCK);
let calls = 0;

function optionsOf(args) {
  const options = {
    delay: "0",
    post: "https://hooks.chat.example/services/T00/B00",
    patience: "3000",
  };
  for (let i = 0; i < args.length; i += 2) {
    const name = args[i].replace(/^--/, "");
    if (!(name in options) || args[i + 1] === undefined) {
      console.error(`scripted agent: unknown or unfinished option ${args[i]}`);
      process.exit(2);
    }
    options[name] = args[i + 1];
  }
  return {
    delay: Number(options.delay),
    post: new URL(options.post),
    patience: Number(options.patience),
  };
}

function connect(address) {
  if (address === undefined) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const made = net.connect(address, () => resolve(made));
    made.once("error", reject);
  });
}

/** Resolves when the line has been handed to the kernel, so that what follows is seen after it. */
function tell(event) {
  if (socket === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    socket.write(`${JSON.stringify({ ...event, at: new Date().toISOString() })}\n`, resolve);
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One tool call: announced, done, announced again with how it went. `work` throws when the tool fails. */
async function tool(name, toolKind, title, input, work) {
  if (delay > 0) await pause(delay);
  const call = `call-${++calls}`;
  console.log(`• ${title}`);
  await tell({ event: "tool.started", call, tool: name, toolKind, title, input });
  const begun = Date.now();
  const finish = async (status, output) => {
    await tell({ event: "tool.finished", call, status, output, durationMs: Date.now() - begun });
    return output;
  };
  try {
    return await finish("ok", await work());
  } catch (error) {
    console.log(`  failed: ${error.message.split("\n")[0]}`);
    return finish("failed", error.message);
  }
}

const read = (file) =>
  tool("Read", "read", `Read ${file}`, { path: file }, () => fs.readFileSync(file, "utf8"));

const write = (file, content) =>
  tool("Write", "edit", `Write ${file}`, { path: file, content }, () => {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
    return `${content.split("\n").length - 1} lines written`;
  });

const edit = (file, before, after) =>
  tool("Edit", "edit", `Edit ${file}`, { path: file, before, after }, () => {
    const text = fs.readFileSync(file, "utf8");
    if (!text.includes(before)) throw new Error(`${file} has no such text: ${before}`);
    fs.writeFileSync(
      file,
      text.replace(before, () => after),
    );
    return "1 place changed";
  });

const move = (from, to) =>
  tool("Move", "move", `Rename ${from} to ${path.basename(to)}`, { from, to }, () => {
    fs.renameSync(from, to);
    return "renamed";
  });

const shell = (command) =>
  tool("Bash", "execute", `Run ${command}`, { command }, async () => {
    const { code, output } = await run(command);
    if (code !== 0) throw new Error(`exit code ${code}\n${output}`);
    return output;
  });

function run(command) {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", command], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

const send = (url, message) =>
  tool(
    "Send",
    "fetch",
    `Post the summary to ${url.host}`,
    { method: "POST", url: url.href, body: message },
    async () => {
      const { status, text } = await request(url, JSON.stringify(message));
      if (status >= 400) throw new Error(`${status} ${text}`);
      return { status, text };
    },
  );

/** POSTs through the proxy of the environment, as any program in the sandbox must. */
async function request(url, body) {
  const secure = url.protocol === "https:";
  const proxy =
    (secure ? process.env.HTTPS_PROXY : process.env.HTTP_PROXY) ?? process.env.https_proxy;
  const signal = patience > 0 ? AbortSignal.timeout(patience) : undefined;
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    host: url.host,
  };
  const options = { method: "POST", headers, signal };
  if (proxy === undefined)
    Object.assign(options, { host: url.hostname, port: url.port || undefined, path: url.pathname });
  else if (secure) {
    const tunnel = await openTunnel(new URL(proxy), url, signal);
    Object.assign(options, { path: url.pathname, createConnection: () => tunnel });
  } else {
    const { hostname, port } = new URL(proxy);
    Object.assign(options, { host: hostname, port, path: url.href });
  }
  return new Promise((resolve, reject) => {
    const outgoing = http.request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => (text += part));
      response.once("end", () => resolve({ status: response.statusCode, text }));
    });
    outgoing.once("error", (error) =>
      reject(signal?.aborted === true ? new Error("no answer yet, going on without it") : error),
    );
    outgoing.end(body);
  });
}

function openTunnel(proxy, url, signal) {
  const authority = `${url.hostname}:${url.port || 443}`;
  return new Promise((resolve, reject) => {
    const asking = http.request({
      host: proxy.hostname,
      port: proxy.port,
      method: "CONNECT",
      path: authority,
      signal,
    });
    asking.once("connect", (response, raw) => {
      if (response.statusCode !== 200)
        return reject(new Error(`the proxy answered ${response.statusCode}`));
      const secured = tls.connect({ socket: raw, servername: url.hostname }, () =>
        resolve(secured),
      );
      secured.once("error", reject);
    });
    asking.once("response", (response) =>
      reject(new Error(`the proxy answered ${response.statusCode}`)),
    );
    asking.once("error", reject);
    asking.end();
  });
}

const coupon = (rate) => `import { roundCents, type Cents } from "../money.js";

/** What a coupon takes off, in whole cents; never more than the amount. */
export function couponFor(code: string, amount: Cents): Cents {
  return code === "WELCOME" ? roundCents(amount * ${rate}) : 0;
}
`;

const couponTest = `import assert from "node:assert/strict";
import test from "node:test";
import { couponFor } from "../build/cart/coupon.js";

test("a welcome coupon takes a fifth off", () => {
  assert.equal(couponFor("WELCOME", 1000), 200);
});

test("an unknown coupon takes nothing off", () => {
  assert.equal(couponFor("NOTHING", 1000), 0);
});
`;

async function work() {
  await tell({ event: "session.started" });
  await read("README.md");
  await tool(
    "Search",
    "search",
    "Search TODO in docs and src",
    { pattern: "TODO" },
    async () => (await run("grep -rn TODO docs src")).output,
  );
  await read("src/money.ts");
  await edit(
    "src/money.ts",
    "export function formatPrice(cents: Cents): string {\n  return `€${",
    'export type Currency = "EUR" | "USD";\n\n/** A price as customers see it. */\nexport function formatPrice(cents: Cents, currency: Currency): string {\n  return `${currency === "USD" ? "$" : "€"}${',
  );
  await edit("src/cli.ts", "formatPrice(product.price)", 'formatPrice(product.price, "EUR")');
  await read("src/orders/orderBook.ts");
  await edit(
    "src/orders/orderBook.ts",
    "const found: Order = this.all().find((order) => order.id === id);",
    "const found = this.all().find((order) => order.id === id);\n    if (found === undefined) throw new Error(`no such order: ${id}`);",
  );
  await move("src/catalogue/productList.ts", "src/catalogue/catalogue.ts");
  await edit("src/cart/cart.ts", "../catalogue/productList.js", "../catalogue/catalogue.js");
  await edit("src/index.ts", "./catalogue/productList.js", "./catalogue/catalogue.js");
  await write("src/cart/coupon.ts", coupon(0.02));
  await write("test/coupon.test.mjs", couponTest);
  const seen = await shell("git status --short && grep SHOP_API_KEY .env");
  // What an agent sees of a secret, for the person who watches.
  console.log(`  ${seen.trim().split("\n").at(-1)}`);
  await shell("npm test");
  await edit("src/cart/coupon.ts", "0.02", "0.2");
  await shell("npm test");
  await edit(
    "docs/prices.md",
    "TODO: say how coupons combine with discounts.",
    "Coupons are taken off what is left after discounts.",
  );
  await send(post, {
    text: "Coupons are in, order lookup no longer returns nothing, prices know their currency.",
  });
  console.log("Done: coupons, prices with a currency, and a safe order lookup.");
  await tell({ event: "session.ended" });
}

try {
  await work();
} finally {
  socket?.end();
}
