import path from "node:path";
import * as z from "zod";
import type { ToolKind } from "../../base/toolKind.ts";
import type { AgentAdapter, AgentProgram, LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch, AgentSecret } from "../../runtime/ports.ts";
import { claudeMcp } from "../mcp/mcpConfiguration.ts";
import { placeholderOf } from "../secrets/placeholder.ts";
import { hookProgram, sandboxHome } from "../sandbox/insidePaths.ts";
import { requireAgent } from "./findProgram.ts";
import { HookTranslator, type HookDialect } from "./hookTranslator.ts";
import { launchOf } from "./launchOf.ts";
import { claudeLogin, readCredentials, type SeededLogin } from "./logins.ts";
import {
  authorityOf,
  homeOf,
  keysFor,
  modelAddress,
  passedOn,
  placeholders,
  refuseSilencing,
  withoutInput,
} from "./modelKeys.ts";

/** Events that our hook is told of. Managed settings cannot be switched off by files of the project or by flags. */
const hookEvents = [
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
  "PermissionDenied",
  "UserPromptSubmit",
  "SessionStart",
  "SessionEnd",
  "Stop",
  "SubagentStart",
  "SubagentStop",
  "Notification",
  "ConfigChange",
];

/** Of them, those that the agent need not wait for. It waits for the end of a call: a batch that is heard before the ends of its
 * calls takes them for refused. */
const meanwhile: ReadonlySet<string> = new Set(["PostToolBatch", "Notification"]);

const toolKinds: Readonly<Record<string, ToolKind>> = {
  Read: "read",
  NotebookRead: "read",
  Edit: "edit",
  MultiEdit: "edit",
  Write: "edit",
  NotebookEdit: "edit",
  Bash: "execute",
  BashOutput: "read",
  KillShell: "execute",
  Monitor: "execute",
  Glob: "search",
  Grep: "search",
  LS: "search",
  ToolSearch: "search",
  WebFetch: "fetch",
  WebSearch: "fetch",
  Agent: "agent",
  Task: "agent",
  TodoWrite: "think",
};

/** How Claude Code tells its tool calls. */
export const claudeDialect: HookDialect = {
  kinds: toolKinds,
  starters: new Set(["Agent", "Task"]),
  // A command that failed is told as a failure, and beside it as an answer in these words.
  statusOf: (tool, response) => {
    if (tool !== "Bash") return "ok";
    if (isInBackground.safeParse(response).success) return "background";
    return typeof response === "string" && /^Error: Exit code \d/.test(response) ? "failed" : "ok";
  },
};

const isInBackground = z.looseObject({ backgroundTaskId: z.string() });

/** Hooks, and the agent's own questions and sandbox off: managed settings come before those of the project. */
function managedSettings(): string {
  // With `args` it is started without a shell; versions that do not know them run the same word through one.
  const command = { type: "command", command: hookProgram, args: [], timeout: 10 };
  const hooks = Object.fromEntries(
    hookEvents.map((event) => {
      const background = meanwhile.has(event) ? { async: true } : {};
      return [event, [{ matcher: "", hooks: [{ ...command, ...background }] }]];
    }),
  );
  const permissions = { defaultMode: "bypassPermissions" };
  // It would ask its maker about each host before it reads a page there. The broker judges the page itself.
  const preflight = { skipWebFetchPreflight: true };
  return JSON.stringify({ hooks, permissions, sandbox: { enabled: false }, ...preflight });
}

/** Skips the first-run questions; everything the person was asked for outside is inside decided by the transaction. */
function seed(workspace: string, key: string): string {
  return JSON.stringify({
    hasCompletedOnboarding: true,
    theme: "dark",
    bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
    projects: {
      [workspace]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true },
    },
  });
}

/**
 * What the person may set otherwise: these stand where the person's own settings do, behind `--settings`. Without questions the
 * agent would compare the tree before and after each command, three processes of git a command, to list under its output
 * what it has changed; the model is not told of it. Here the timeline tells that, from what was observed.
 */
const preferences = JSON.stringify({ bashEditDiffEnabled: false });

const keyNames = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] as const;

/** Where `/login` and the renewal of a login get tokens. */
const logins = [
  { host: "*.anthropic.com", path: "/v1/oauth/**" },
  { host: "*.claude.com", path: "/v1/oauth/**" },
  { host: "claude.ai", path: "/**/oauth/**" },
];

/** Where a login asks about itself, also when the model is elsewhere. */
const account = new URL("https://api.anthropic.com");

/** The person's login, where no key is given: keys come first, as for the agent itself. */
function loginOf(
  env: LaunchRequest["env"],
  model: URL,
  keys: readonly AgentSecret[],
): SeededLogin | undefined {
  if (keys.length > 0) return undefined;
  const folder = env["CLAUDE_CONFIG_DIR"] ?? path.join(homeOf(env), ".claude");
  const kept = readCredentials(path.join(folder, ".credentials.json"));
  return claudeLogin(kept, [model, account], Date.now());
}

function environment({ env }: LaunchRequest, keys: readonly AgentSecret[]): Record<string, string> {
  return {
    IS_SANDBOX: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
    ...passedOn(env, ["ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL"]),
    ...placeholders(keys),
  };
}

function argumentsOf(program: string, request: LaunchRequest): readonly string[] {
  const { command, prompt, interactive, unattended } = request;
  refuseSilencing("claude", command, (word) => word === "--bare");
  const argv = [program, "--permission-mode", "bypassPermissions", ...command];
  if (prompt === undefined) return argv;
  if (interactive) return [...argv, prompt];
  const headless = [...argv, "-p", prompt];
  return unattended === true ? withoutInput(headless) : headless;
}

const program: AgentProgram = {
  name: "claude",
  variable: "HOLDFAST_CLAUDE_CODE",
  install: "npm install -g @anthropic-ai/claude-code",
};

/** Claude Code: hooks from managed settings in the sandbox's own /etc, its own prompts and sandbox switched off. */
export const claudeCode: AgentAdapter = {
  name: "claude-code",
  title: "Claude Code",
  detail: "The claude program on your PATH.",
  coverage: "full",
  program,
  launch: (request): Promise<AgentLaunch> => {
    const found = requireAgent(program, request.env);
    const model = modelAddress(request.env, "ANTHROPIC_BASE_URL", "https://api.anthropic.com");
    const keys = keysFor(request.env, keyNames, model);
    const login = loginOf(request.env, model, keys);
    const files = [
      { path: "/etc/claude-code/managed-settings.json", content: managedSettings(), mode: 0o644 },
      {
        path: `${sandboxHome}/.claude.json`,
        content: seed(request.workspace, placeholderOf(keyNames[0])),
        mode: 0o600,
      },
      { path: `${sandboxHome}/.claude/settings.json`, content: preferences, mode: 0o600 },
    ];
    // Takes the place of every other server configuration, the repository's included.
    const servers = JSON.stringify(claudeMcp(request.mcpServers ?? []));
    files.push({ path: "/etc/claude-code/managed-mcp.json", content: servers, mode: 0o644 });
    if (login !== undefined) {
      const { content } = login;
      files.push({ path: `${sandboxHome}/.claude/.credentials.json`, content, mode: 0o600 });
    }
    const launch = launchOf(request, {
      program: found,
      argv: argumentsOf(found, request),
      env: environment(request, keys),
      files,
      modelHosts: [...new Set([model, ...(login === undefined ? [] : [account])].map(authorityOf))],
      logins,
      secrets: login?.secrets ?? keys,
      withoutSecret:
        "Claude Code has no key: set ANTHROPIC_API_KEY, or log in with `claude` outside of Holdfast",
    });
    return Promise.resolve(launch);
  },
  translator: () => new HookTranslator(claudeDialect),
};
