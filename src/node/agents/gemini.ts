import { realpathSync } from "node:fs";
import path from "node:path";
import type { AgentAdapter, AgentProgram, LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch } from "../../runtime/ports.ts";
import { geminiMcp } from "../mcp/mcpConfiguration.ts";
import { hookProgram, sandboxHome } from "../sandbox/insidePaths.ts";
import { findProgram, requireAgent } from "./findProgram.ts";
import { GeminiTranslator } from "./geminiEvents.ts";
import { launchOf } from "./launchOf.ts";
import { geminiLogin, readCredentials, type SeededLogin } from "./logins.ts";
import {
  authorityOf,
  homeOf,
  keysFor,
  modelAddress,
  passedOn,
  placeholders,
  withoutInput,
} from "./modelKeys.ts";

/** Those around each question to the model are left out: some carry the whole conversation every time. */
const hookEvents = [
  "SessionStart",
  "SessionEnd",
  "BeforeAgent",
  "AfterAgent",
  "BeforeTool",
  "AfterTool",
  "Notification",
];

/** System settings: they come before the person's and the project's. */
function managed(selectedType: string, request: LaunchRequest): string {
  const command = { name: "holdfast", type: "command", command: hookProgram, timeout: 10_000 };
  const hook = [{ matcher: "*", hooks: [command] }];
  const told = request.session === true ? [] : hookEvents;
  return JSON.stringify({
    hooks: Object.fromEntries(told.map((event) => [event, hook])),
    hooksConfig: { enabled: true, disabled: [] },
    security: { auth: { selectedType }, folderTrust: { enabled: false }, disableYoloMode: false },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    tools: { sandbox: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    mcpServers: geminiMcp(request.mcpServers ?? []),
  });
}

/**
 * Gemini CLI takes system settings only where the file and every folder above it belong to root, so that the user whom they
 * bind cannot have written them. In the sandbox nothing belongs to root, and nobody can write there: /etc is sealed. This
 * goes into the agent's own process before its first line and answers the question of the owner for these paths.
 *
 * It also looks up a host before it reads a page, and reads none whose address is not public. Names have made-up addresses
 * here, and the broker checks the real ones: that question is answered with a public address.
 */
const ownPreload = `const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const sealed = new Set(["/", "/etc", "/etc/gemini-cli", "/etc/gemini-cli/settings.json"]);
const { statSync } = fs;
fs.statSync = (path, ...rest) => {
  const found = statSync(path, ...rest);
  if (found !== undefined && sealed.has(String(path))) found.uid = typeof found.uid === "bigint" ? 0n : 0;
  return found;
};
const names = require("node:dns/promises");
const { lookup } = names;
names.lookup = async (name, options) => {
  if (name === "localhost" || require("node:net").isIP(name) !== 0) return lookup(name, options);
  const somewhere = { address: "8.8.8.8", family: 4 };
  return options?.all === true ? [somewhere] : somewhere;
};
syncBuiltinESMExports();
`;

/** In a session the end of its input leaves Gemini CLI idle when its servers run; told by a signal it cleans up and goes. */
const farewellPreload = `process.stdin.once("end", () => process.kill(process.pid, "SIGTERM"));
`;

const preloadPlace = "/etc/gemini-cli/preload.cjs";

const codeAssist = "https://cloudcode-pa.googleapis.com";

/** Where a login asks about itself; its tokens are renewed at none of them. */
const account = [
  { host: "oauth2.googleapis.com", path: "/tokeninfo" },
  { host: "www.googleapis.com", path: "/oauth2/*/userinfo" },
];

const logins = [
  { host: "oauth2.googleapis.com", path: "/token" },
  { host: "accounts.google.com", path: "/**" },
];

interface Access {
  readonly models: readonly URL[];
  readonly secrets: SeededLogin["secrets"];
  readonly selectedType: string;
  readonly login?: string;
}

function accessOf(env: LaunchRequest["env"]): Access {
  const gemini = modelAddress(
    env,
    "GOOGLE_GEMINI_BASE_URL",
    "https://generativelanguage.googleapis.com",
  );
  const keys = keysFor(env, ["GEMINI_API_KEY"], gemini);
  const byKey = { models: [gemini], secrets: keys, selectedType: "gemini-api-key" };
  if (keys.length > 0) return byKey;
  const assist = modelAddress(env, "CODE_ASSIST_ENDPOINT", codeAssist);
  const file = path.join(homeOf(env), ".gemini", "oauth_creds.json");
  const places = [assist, ...account.map(({ host }) => new URL(`https://${host}`))];
  const login = geminiLogin(readCredentials(file), places, Date.now());
  if (login === undefined) return byKey;
  const { content, secrets } = login;
  return { models: [assist], secrets, selectedType: "oauth-personal", login: content };
}

/** How the program is started: a script of Node's with our preload, anything else with it in Node's options. */
function startOf(
  found: string,
  env: LaunchRequest["env"],
): { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const script = realpathSync(found);
  const node = /\.[cm]?js$/.test(script) ? findProgram("node", env, "/") : undefined;
  return node === undefined
    ? { argv: [found], env: { NODE_OPTIONS: `--require=${preloadPlace}` } }
    : { argv: [node, "--require", preloadPlace, script], env: {} };
}

function argumentsOf(start: readonly string[], request: LaunchRequest): readonly string[] {
  const { command, prompt, interactive, unattended } = request;
  if (request.session === true) return [...start, ...command];
  const argv = [...start, "--yolo", ...command];
  if (prompt === undefined) return argv;
  if (interactive) return [...argv, "--prompt-interactive", prompt];
  const headless = [...argv, "--prompt", prompt];
  return unattended === true ? withoutInput(headless) : headless;
}

const program: AgentProgram = {
  name: "gemini",
  variable: "HOLDFAST_GEMINI",
  install: "npm install -g @google/gemini-cli",
};

/** Gemini CLI: hooks from system settings in the sandbox's own /etc. Calls come without ids, refused ones without an end. */
export const gemini: AgentAdapter = {
  name: "gemini",
  title: "Gemini CLI",
  detail: "The gemini program on your PATH.",
  coverage: "partial",
  program,
  launch: (request): Promise<AgentLaunch> => {
    const found = requireAgent(program, request.env);
    const { models, secrets, selectedType, login } = accessOf(request.env);
    const names = ["GOOGLE_GEMINI_BASE_URL", "CODE_ASSIST_ENDPOINT", "GEMINI_MODEL"];
    const seeded = `${sandboxHome}/.gemini/oauth_creds.json`;
    const start = startOf(found, request.env);
    const preload = `${ownPreload}${request.session === true ? farewellPreload : ""}`;
    const launch = launchOf(request, {
      program: found,
      argv: argumentsOf(start.argv, request),
      env: {
        ...start.env,
        GEMINI_DEFAULT_AUTH_TYPE: selectedType,
        GEMINI_CLI_NO_RELAUNCH: "true",
        GEMINI_CLI_TRUST_WORKSPACE: "true",
        ...passedOn(request.env, [...names, "GOOGLE_CLOUD_PROJECT"]),
        ...(login === undefined ? placeholders(secrets) : {}),
      },
      files: [
        {
          path: "/etc/gemini-cli/settings.json",
          content: managed(selectedType, request),
          mode: 0o644,
        },
        { path: preloadPlace, content: preload, mode: 0o644 },
        ...(login === undefined ? [] : [{ path: seeded, content: login, mode: 0o600 }]),
      ],
      modelHosts: models.map(authorityOf),
      logins,
      ...(login === undefined ? {} : { account }),
      secrets,
      withoutSecret:
        "Gemini CLI has no key: set GEMINI_API_KEY, or log in with `gemini` outside of Holdfast",
    });
    return Promise.resolve(launch);
  },
  translator: () => new GeminiTranslator(),
};
