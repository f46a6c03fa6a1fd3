import path from "node:path";
import type { ToolKind } from "../../base/toolKind.ts";
import type { AgentAdapter, AgentProgram, LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch, AgentSecret } from "../../runtime/ports.ts";
import { hookProgram, nativeInside, sandboxHome } from "../sandbox/insidePaths.ts";
import { codexMcp } from "../mcp/mcpConfiguration.ts";
import { placeholderOf } from "../secrets/placeholder.ts";
import { requireAgent } from "./findProgram.ts";
import { HookTranslator, type HookDialect } from "./hookTranslator.ts";
import { launchOf } from "./launchOf.ts";
import { codexLogin, readCredentials } from "./logins.ts";
import {
  authorityOf,
  homeOf,
  keysFor,
  modelAddress,
  refuseSilencing,
  withoutInput,
} from "./modelKeys.ts";

const hookEvents = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PermissionRequest",
  "PreModelRequest",
  "Interrupt",
  "PostToolUse",
  "SubagentStart",
  "SubagentStop",
  "Stop",
  "SessionEnd",
];

const kinds: Readonly<Record<string, ToolKind>> = {
  Bash: "execute",
  apply_patch: "edit",
  update_plan: "think",
  view_image: "read",
  web_search: "fetch",
  spawn_agent: "agent",
  collaborationspawn_agent: "agent",
  collaborationwait_agent: "agent",
};

/** The answer of `apply_patch` begins with its exit code; a command's output says nothing of how it ended. */
const dialect: HookDialect = {
  kinds,
  starters: new Set(["spawn_agent", "collaborationspawn_agent"]),
  endsWithTurn: true,
  statusOf: (tool, response) => {
    if (tool === "Bash") return "ran";
    const text = typeof response === "string" ? response : "";
    return /^Exit code: [1-9]/.test(text) ? "failed" : "ok";
  },
};

/** The hooks that no configuration of a person or project takes away, and what is turned off inside. */
function requirements(): string {
  const hooks = hookEvents.flatMap((event) => [
    `[[hooks.${event}]]`,
    'matcher = ""',
    `[[hooks.${event}.hooks]]`,
    'type = "command"',
    `command = ${JSON.stringify(hookProgram)}`,
    "timeout = 3",
  ]);
  return [
    'allowed_approval_policies = ["never"]',
    "[features]",
    "hooks = true",
    "[hooks]",
    `managed_dir = ${JSON.stringify(path.dirname(nativeInside))}`,
    ...hooks,
    "",
  ].join("\n");
}

/** What asks the maker's servers for more than answers: catalogues, suggestions, a daemon that outlives the session. */
const offInside = ["apps", "plugins", "remote_plugin", "tool_suggest", "daemon_auto_start"];

/** TOML's basic strings take what JSON's do. */
const quoted = (text: string): string => JSON.stringify(text);

/** Models that Codex offers a newer one for: asked once outside, and inside, where its home is new, at every start. Who names
 * a model has chosen. */
const upgrades: Readonly<Record<string, string>> = {
  "gpt-5.5": "gpt-6-sol",
  "gpt-5.6-sol": "gpt-6-sol",
  "gpt-5.6-terra": "gpt-6-sol",
  "gpt-5.6-luna": "gpt-6-luna",
};

function configuration(workspace: string, base: string | undefined, login: boolean): string {
  const provider = [
    'model_provider = "openai-at"',
    "[model_providers.openai-at]",
    'name = "OpenAI"',
    `base_url = ${quoted(base ?? "")}`,
    'wire_api = "responses"',
    ...(login ? ["requires_openai_auth = true"] : ['env_key = "OPENAI_API_KEY"']),
  ];
  return [
    'approval_policy = "never"',
    'sandbox_mode = "danger-full-access"',
    "check_for_update_on_startup = false",
    'cli_auth_credentials_store = "file"',
    ...(base === undefined ? [] : provider),
    "[features]",
    ...offInside.map((feature) => `${feature} = false`),
    "[analytics]",
    "enabled = false",
    "[notice.model_migrations]",
    ...Object.entries(upgrades).map(([model, newer]) => `${quoted(model)} = ${quoted(newer)}`),
    `[projects.${quoted(workspace)}]`,
    'trust_level = "trusted"',
    "",
  ].join("\n");
}

/** Where a login gets tokens, and where a new one begins. */
const logins = [
  { host: "auth.openai.com", path: "/oauth/**" },
  { host: "auth.openai.com", path: "/api/accounts/**" },
];

interface Access {
  readonly model: URL;
  /** Where a login asks about itself besides. */
  readonly account?: URL;
  readonly auth: string | undefined;
  readonly secrets: readonly AgentSecret[];
  readonly isLogin: boolean;
}

/** A key of the person's environment, else their login, else the key in their `auth.json`. */
function accessOf(env: LaunchRequest["env"]): Access {
  const base = "OPENAI_BASE_URL";
  const model = modelAddress(env, base, "https://api.openai.com/v1");
  const keyFile = (): string =>
    JSON.stringify({ auth_mode: "apikey", OPENAI_API_KEY: placeholderOf("OPENAI_API_KEY") });
  const keys = keysFor(env, ["OPENAI_API_KEY"], model);
  if (keys.length > 0) return { model, auth: keyFile(), secrets: keys, isLogin: false };
  const folder = env["CODEX_HOME"] ?? path.join(homeOf(env), ".codex");
  const kept = readCredentials(path.join(folder, "auth.json"));
  const chat = modelAddress(env, base, "https://chatgpt.com/backend-api/codex");
  const account = new URL("https://chatgpt.com");
  const login = codexLogin(kept, [chat, account], Date.now());
  if (login !== undefined) {
    const { content, secrets } = login;
    return { model: chat, account, auth: content, secrets, isLogin: true };
  }
  const key = (kept as { OPENAI_API_KEY?: unknown } | null | undefined)?.OPENAI_API_KEY;
  if (typeof key !== "string" || key === "")
    return { model, auth: undefined, secrets: [], isLogin: false };
  const secrets = keysFor({ OPENAI_API_KEY: key }, ["OPENAI_API_KEY"], model);
  return { model, auth: keyFile(), secrets, isLogin: false };
}

function argumentsOf(program: string, request: LaunchRequest): readonly string[] {
  const { command, prompt, interactive, unattended } = request;
  refuseSilencing("codex", command, silences);
  const free = "--dangerously-bypass-approvals-and-sandbox";
  if (prompt === undefined || interactive)
    return [program, free, ...command, ...(prompt === undefined ? [] : [prompt])];
  const argv = [program, "exec", "--skip-git-repo-check", free, ...command, prompt];
  return unattended === true ? withoutInput(argv) : argv;
}

function silences(word: string, next: string): boolean {
  const setting = /^(-c|--config)$/.test(word) ? next : word.replace(/^(-c|--config)=?/, "");
  if (/^\s*(features\.(codex_)?hooks\s*=|features\s*=|hooks\b)/.test(setting)) return true;
  return (word === "--disable" && /hooks$/.test(next)) || /^--disable=.*hooks$/.test(word);
}

const program: AgentProgram = {
  name: "codex",
  variable: "HOLDFAST_CODEX",
  install: "npm install -g @openai/codex",
};

/** Codex: hooks from `requirements.toml` in the sandbox's own /etc. Commands, patches and tools of MCP servers are told;
 * plans and searches are not. */
export const codex: AgentAdapter = {
  name: "codex",
  title: "Codex",
  detail: "The codex program on your PATH.",
  coverage: "partial",
  program,
  launch: (request): Promise<AgentLaunch> => {
    const found = requireAgent(program, request.env);
    const { model, account = model, auth, secrets, isLogin } = accessOf(request.env);
    const folder = `${sandboxHome}/.codex`;
    const base =
      request.env["OPENAI_BASE_URL"] === undefined ? undefined : model.href.replace(/\/$/, "");
    const config = configuration(request.workspace, base, isLogin);
    const servers = codexMcp(request.mcpServers ?? []);
    const files = [
      { path: "/etc/codex/requirements.toml", content: requirements(), mode: 0o644 },
      { path: `${folder}/config.toml`, content: `${config}${servers}`, mode: 0o600 },
      ...(auth === undefined ? [] : [{ path: `${folder}/auth.json`, content: auth, mode: 0o600 }]),
    ];
    const key = isLogin ? {} : { OPENAI_API_KEY: placeholderOf("OPENAI_API_KEY") };
    const launch = launchOf(request, {
      program: found,
      argv: argumentsOf(found, request),
      env: { CODEX_HOME: folder, ...(secrets.length > 0 ? key : {}) },
      files,
      modelHosts: [...new Set([model, account].map(authorityOf))],
      logins,
      secrets,
      withoutSecret:
        "Codex has no key: set OPENAI_API_KEY, or log in with `codex login` outside of Holdfast",
    });
    return Promise.resolve(launch);
  },
  translator: () => new HookTranslator(dialect),
};
