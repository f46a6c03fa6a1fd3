// Puts the public MCP conformance suite on this machine, pinned, from the package registry into the cache. It needs a
// newer Node than ours; the editor of the tests brings one.
import fs from "node:fs";
import path from "node:path";
import { cached } from "./cache.mjs";
import { command } from "./command.mjs";
import { setupEditor } from "./setupEditor.mjs";

const version = "0.1.16";

/** Installs the suite when it is missing. Gives the command line that its arguments are added to. */
export async function setupConformance() {
  const folder = await cached(`mcp-conformance-${version}`, async (partial) => {
    fs.writeFileSync(path.join(partial, "package.json"), '{"private":true}\n');
    const quiet = ["--no-fund", "--no-audit", "--loglevel=error"];
    const suite = `@modelcontextprotocol/conformance@${version}`;
    await command("npm", ["install", "--ignore-scripts", ...quiet, suite], { cwd: partial });
  });
  const { node } = await setupEditor();
  const program = path.join("node_modules", "@modelcontextprotocol", "conformance", "dist");
  return [node, path.join(folder, program, "index.js")];
}
