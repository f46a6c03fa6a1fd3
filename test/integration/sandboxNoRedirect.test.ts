import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { root } from "../support/repository.ts";
import type { InsideChild } from "../support/insideChild.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

describe("the transparent path where the kernel cannot redirect", function () {
  this.timeout(90_000);
  const folder = temporaryFolders();

  /** Runs a command inside, of a supervisor whose kernel has no nf_tables. */
  async function inside(command: string): Promise<InsideChild> {
    const without = path.join(folder(), "without");
    const support = path.join(root, "test/support");
    execFileSync("cc", ["-Wall", "-o", without, path.join(support, "withoutNetfilter.c")]);
    const tsx = path.join(root, "node_modules/tsx/dist/loader.mjs");
    const child = path.join(support, "insideChild.ts");
    const args = [process.execPath, "--import", tsx, child, command];
    const { stdout } = await promisify(execFile)(without, args, { cwd: root });
    return JSON.parse(stdout) as InsideChild;
  }

  it("serves the ports that matter, refuses every other at once, and says so", async () => {
    const { stdout, stderr, asked, description } = await inside(
      [
        "curl -sS http://plain.test/",
        "curl -sS https://tls.test/",
        "curl -6 -sS https://six.test/",
        "curl -s http://other.test:8081/ || echo refused",
        "curl -s http://localhost/ || echo own",
        "curl -sS -x http://127.0.0.1:61080 http://proxied.test:8081/",
        "getent ahostsv4 name.test | cut -c1-5 | uniq",
      ].join("; "),
    );
    const hello = "hello GET\n";
    assert.equal(stdout, `${hello.repeat(3)}refused\nown\n${hello}198.1\n`, stderr);
    assert.deepEqual(asked, ["plain.test:80", "tls.test:443", "six.test:443", "proxied.test:8081"]);
    assert.match(description, /without a proxy on ports 22, 80 and 443 alone \(.*not supported\)/);
  });
});
