import path from "node:path";
import * as z from "zod";
import type { AgentAdapter, AgentProgram, LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch, AgentSecret } from "../../runtime/ports.ts";
import { openCodeMcp } from "../mcp/mcpConfiguration.ts";
import { sandboxHome } from "../sandbox/insidePaths.ts";
import { requireAgent } from "./findProgram.ts";
import { launchOf } from "./launchOf.ts";
import { readCredentials } from "./logins.ts";
import {
  authorityOf,
  headerSecret,
  homeOf,
  modelAddress,
  placeholders,
  refuseSilencing,
  withoutInput,
} from "./modelKeys.ts";
import { OpencodeTranslator } from "./opencodeEvents.ts";
import { opencodePlugin } from "./opencodePlugin.ts";

/** A provider that OpenCode knows by itself: the variable of its key and its address; `base` names the variable that
 * moves it. */
interface Provider {
  readonly id: string;
  readonly key: string;
  readonly address: string;
  readonly base?: string;
}

/** The provider that asks for no key: the maker's. */
const own = "opencode";

const providers: readonly Provider[] = [
  {
    id: "anthropic",
    key: "ANTHROPIC_API_KEY",
    address: "https://api.anthropic.com/v1",
    base: "ANTHROPIC_BASE_URL",
  },
  {
    id: "openai",
    key: "OPENAI_API_KEY",
    address: "https://api.openai.com/v1",
    base: "OPENAI_BASE_URL",
  },
  {
    id: "google",
    key: "GEMINI_API_KEY",
    address: "https://generativelanguage.googleapis.com/v1beta",
    base: "GOOGLE_GEMINI_BASE_URL",
  },
  { id: "openrouter", key: "OPENROUTER_API_KEY", address: "https://openrouter.ai/api/v1" },
  { id: own, key: "OPENCODE_API_KEY", address: "https://opencode.ai/zen/v1" },
  { id: "groq", key: "GROQ_API_KEY", address: "https://api.groq.com/openai/v1" },
  { id: "mistral", key: "MISTRAL_API_KEY", address: "https://api.mistral.ai/v1" },
  { id: "deepseek", key: "DEEPSEEK_API_KEY", address: "https://api.deepseek.com" },
  { id: "xai", key: "XAI_API_KEY", address: "https://api.x.ai/v1" },
];

interface Access {
  readonly provider: Provider;
  readonly model: URL;
  readonly secret: AgentSecret;
  readonly moved: boolean;
}

const keptKeys = z.record(
  z.string(),
  z.looseObject({ type: z.string().optional(), key: z.string().optional() }).catch({}),
);

/** The keys that the person has for providers: in the environment, else as `opencode auth login` kept them. */
function accesses(env: LaunchRequest["env"]): readonly Access[] {
  const data = env["XDG_DATA_HOME"] ?? path.join(homeOf(env), ".local", "share");
  const kept = keptKeys.safeParse(readCredentials(path.join(data, "opencode", "auth.json"))).data;
  return providers.flatMap((provider) => {
    const login = kept?.[provider.id];
    const value = env[provider.key] ?? (login?.type === "api" ? login.key : undefined);
    if (value === undefined || value === "") return [];
    const moved = provider.base !== undefined && (env[provider.base] ?? "") !== "";
    const model = modelAddress(env, provider.base ?? "", provider.address);
    return [{ provider, model, secret: headerSecret(provider.key, value, model), moved }];
  });
}

/** The address as OpenCode's providers want it: with the version in its path. */
function baseOf({ model, provider }: Access): string {
  const version = new URL(provider.address).pathname;
  const base = model.href.replace(/\/$/, "");
  if (base.endsWith(version)) return base;
  return provider.id === "openai" && model.pathname !== "/" ? base : `${base}${version}`;
}

const pluginPlace = "/etc/opencode/holdfast.mjs";

/** Managed configuration: it comes before the person's and the project's. */
function managed(all: readonly Access[], request: LaunchRequest): string {
  const provider = Object.fromEntries(
    all
      .filter(({ moved }) => moved)
      .map((access) => [
        access.provider.id,
        {
          options: { baseURL: baseOf(access) },
        },
      ]),
  );
  const keyed = all.map((access) => access.provider.id);
  // Its own free models come before those of the person's key where it chooses by itself, as a session does.
  const unwanted = keyed.length > 0 && !keyed.includes(own) ? [own] : [];
  return JSON.stringify({
    ...(request.session === true ? {} : { plugin: [`file://${pluginPlace}`] }),
    autoupdate: false,
    share: "disabled",
    provider,
    disabled_providers: unwanted,
    mcp: openCodeMcp(request.mcpServers ?? []),
  });
}

/** What the person would be asked is inside decided by the transaction; a project may still refuse. */
const personal = JSON.stringify({ permission: { "*": "allow" } });

/** In a session it talks with itself over loopback. Where the model is at 127.0.0.1, outside, calls to that name go to the
 * broker: then it takes the other name. */
function sessionArguments(
  program: string,
  command: readonly string[],
  all: readonly Access[],
): readonly string[] {
  const isNamed = command.some((word) => /^--hostname(=|$)/.test(word));
  const isTaken = all.some(({ model }) => model.hostname === "127.0.0.1");
  const other = isTaken && !isNamed ? ["--hostname", "localhost"] : [];
  return [program, ...command, ...other];
}

function argumentsOf(program: string, request: LaunchRequest): readonly string[] {
  const { command, prompt, interactive, unattended } = request;
  refuseSilencing("opencode", command, (word) => /^--pure(=|$)/.test(word));
  if (prompt === undefined) return [program, "--auto", ...command];
  if (interactive) return [program, "--auto", "--prompt", prompt, ...command];
  const argv = [program, "run", "--auto", ...command, prompt];
  return unattended === true ? withoutInput(argv) : argv;
}

const program: AgentProgram = {
  name: "opencode",
  variable: "HOLDFAST_OPENCODE",
  install: "npm install -g opencode-ai",
};

/** OpenCode: its steps come from a plugin in the sandbox's own /etc. */
export const opencode: AgentAdapter = {
  name: "opencode",
  title: "OpenCode",
  detail: "The opencode program on your PATH.",
  coverage: "full",
  program,
  launch: (request): Promise<AgentLaunch> => {
    const found = requireAgent(program, request.env);
    const all = accesses(request.env);
    const config = `${sandboxHome}/.config/opencode/opencode.json`;
    const launch = launchOf(request, {
      program: found,
      argv:
        request.session === true
          ? sessionArguments(found, request.command, all)
          : argumentsOf(found, request),
      env: {
        ...placeholders(all.map(({ secret }) => secret)),
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_SHARE: "1",
      },
      files: [
        {
          path: "/etc/opencode/opencode.json",
          content: managed(all, request),
          mode: 0o644,
        },
        { path: pluginPlace, content: opencodePlugin, mode: 0o644 },
        { path: config, content: personal, mode: 0o600 },
      ],
      modelHosts: [...new Set(all.map(({ model }) => authorityOf(model)))],
      logins: [],
      secrets: all.map(({ secret }) => secret),
      withoutSecret:
        "OpenCode has no key: set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's, or run `opencode auth login` outside of Holdfast",
    });
    return Promise.resolve(launch);
  },
  translator: () => new OpencodeTranslator(),
};
