// Puts the real agents that tests drive on this machine, pinned, from the package registry into the cache.
import fs from "node:fs";
import path from "node:path";
import { cached, cacheFolder } from "./cache.mjs";
import { command } from "./command.mjs";

const platform = `${process.platform}-${process.arch}`;

/**
 * `program` is relative to the agent's folder in the cache. Where there is a package for each platform, that one alone
 * is installed: it holds the whole native program.
 */
const agents = {
  "claude-code": {
    version: "2.1.332",
    install: (version) => `@anthropic-ai/claude-code-${platform}@${version}`,
    program: `node_modules/@anthropic-ai/claude-code-${platform}/claude`,
  },
  codex: {
    version: "0.171.0",
    install: (version) => `@openai/codex@${version}-${platform}`,
    program: `node_modules/@openai/codex/vendor/${rustTarget()}/bin/codex`,
  },
  opencode: {
    version: "1.18.33",
    install: (version) => `opencode-${platform}@${version}`,
    program: `node_modules/opencode-${platform}/bin/opencode`,
  },
  gemini: {
    version: "0.61.0",
    install: (version) => `@google/gemini-cli@${version}`,
    program: "node_modules/.bin/gemini",
  },
};

function rustTarget() {
  const processor = process.arch === "arm64" ? "aarch64" : "x86_64";
  return `${processor}-unknown-linux-musl`;
}

/** Names of the agents that {@link setupAgent} knows. */
export const agentNames = Object.keys(agents);

const folderOf = (name) => `${name}-${agents[name].version}-${platform}`;

/** Where the agent's program is once {@link setupAgent} has run. */
export function agentProgram(name) {
  return path.join(cacheFolder(), folderOf(name), agents[name].program);
}

/** Installs the agent when it is missing and gives the absolute path of its program. */
export async function setupAgent(name) {
  const { version, install, program } = agents[name];
  await cached(folderOf(name), async (partial) => {
    fs.writeFileSync(path.join(partial, "package.json"), '{"private":true}\n');
    const quiet = ["--no-fund", "--no-audit", "--loglevel=error"];
    await command("npm", ["install", "--ignore-scripts", ...quiet, install(version)], {
      cwd: partial,
    });
    await command(path.join(partial, program), ["--version"], {
      env: { ...process.env, HOME: partial, DISABLE_AUTOUPDATER: "1" },
    });
  });
  return agentProgram(name);
}
