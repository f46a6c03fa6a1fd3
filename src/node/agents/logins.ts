import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import * as z from "zod";
import { Failure } from "../../base/errors.ts";
import { parseJson } from "../../base/jsonl.ts";
import type { AgentSecret } from "../../runtime/ports.ts";
import { placeholderOf } from "../secrets/placeholder.ts";
import { headerSecret, watchedSecret } from "./modelKeys.ts";

/**
 * A login of the person's as the sandbox may have it: the credential file with placeholders for its tokens. The access
 * token is filled in on the way to the model. The refresh token goes nowhere, and the file says that the access token
 * lasts: getting new tokens is for outside, where their place is.
 */
export interface SeededLogin {
  readonly content: string;
  readonly secrets: readonly AgentSecret[];
}

/** How long the seeded file says that the login lasts, milliseconds: longer than any transaction. */
const lastingMs = 30 * 24 * 3600_000;

/** A login that ends sooner than this after the start is not begun with, milliseconds. */
const shortestMs = 60_000;

/** A credential file is a few kilobytes; one that is larger than this, bytes, is something else. */
const largest = 1024 * 1024;

/** The content of a JSON file of the person's, which may be a link; undefined when it is not there or is something else. */
export function readCredentials(file: string): unknown {
  let descriptor: number | undefined;
  try {
    // A pipe would make the start wait for whoever writes into it.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > largest) return undefined;
    return parseJson(readFileSync(descriptor, "utf8"));
  } catch {
    return undefined; // not logged in this way
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** A member that is null or of a wrong type counts as left out: the login itself still stands. */
const text = z.string().optional().catch(undefined);
const milliseconds = z.number().optional().catch(undefined);

function refuseEnded(
  agent: string,
  program: string,
  endsAt: number | undefined,
  now: number,
): void {
  if (endsAt === undefined || endsAt > now + shortestMs) return;
  const end = new Date(endsAt);
  // A number can lie beyond what a date can say.
  const when = Number.isNaN(end.getTime()) ? "" : ` ${end.toISOString()}`;
  const message = `the login of ${agent} ended${when}`;
  const fix = `run ${program} once outside of Holdfast: it renews its login by itself`;
  throw new Failure("failed", "login-ended", message, fix);
}

const claudeFile = z.looseObject({
  claudeAiOauth: z.looseObject({
    accessToken: z.string().min(1),
    refreshToken: text,
    expiresAt: milliseconds,
    scopes: z.array(z.string()).optional().catch(undefined),
    subscriptionType: text,
    rateLimitTier: text,
  }),
});

/** Claude Code's `~/.claude/.credentials.json`. */
export function claudeLogin(
  raw: unknown,
  addresses: readonly URL[],
  now: number,
): SeededLogin | undefined {
  const found = claudeFile.safeParse(raw).data?.claudeAiOauth;
  if (found === undefined) return undefined;
  refuseEnded("Claude Code", "claude", found.expiresAt, now);
  const access = "CLAUDE_ACCESS_TOKEN";
  const refresh = "CLAUDE_REFRESH_TOKEN";
  const { scopes = [], subscriptionType = null, rateLimitTier = null } = found;
  const claudeAiOauth = {
    accessToken: placeholderOf(access),
    refreshToken: placeholderOf(refresh),
    expiresAt: now + lastingMs,
    scopes,
    subscriptionType,
    rateLimitTier,
  };
  return {
    content: JSON.stringify({ claudeAiOauth }),
    secrets: [
      headerSecret(access, found.accessToken, ...addresses),
      ...watched(refresh, found.refreshToken),
    ],
  };
}

const codexFile = z.looseObject({
  tokens: z.looseObject({
    id_token: z.string(),
    access_token: z.string().min(1),
    refresh_token: text,
    account_id: text,
  }),
});

/** Codex's `auth.json` of a ChatGPT login. An identity token must be one that can be read: the seeded one is unsigned and
 * says which plan and account, not who. */
export function codexLogin(
  raw: unknown,
  addresses: readonly URL[],
  now: number,
): SeededLogin | undefined {
  const tokens = codexFile.safeParse(raw).data?.tokens;
  if (tokens === undefined) return undefined;
  const access = "CODEX_ACCESS_TOKEN";
  const refresh = "CODEX_REFRESH_TOKEN";
  refuseEnded("Codex", "codex", expiryOf(tokens.access_token), now);
  const content = {
    auth_mode: "chatgpt",
    OPENAI_API_KEY: null,
    tokens: {
      id_token: anonymousToken(tokens.id_token, now),
      access_token: placeholderOf(access),
      refresh_token: placeholderOf(refresh),
      account_id: tokens.account_id ?? null,
    },
    last_refresh: new Date(now).toISOString(),
  };
  return {
    content: JSON.stringify(content),
    secrets: [
      headerSecret(access, tokens.access_token, ...addresses),
      ...watched(refresh, tokens.refresh_token),
      ...watched("CODEX_ID_TOKEN", tokens.id_token),
    ],
  };
}

const geminiFile = z.looseObject({
  access_token: z.string().min(1),
  refresh_token: text,
  id_token: text,
  expiry_date: milliseconds,
  scope: text,
});

/** Gemini CLI's `~/.gemini/oauth_creds.json`. */
export function geminiLogin(
  raw: unknown,
  addresses: readonly URL[],
  now: number,
): SeededLogin | undefined {
  const found = geminiFile.safeParse(raw).data;
  if (found === undefined) return undefined;
  refuseEnded("Gemini CLI", "gemini", found.expiry_date, now);
  const access = "GEMINI_ACCESS_TOKEN";
  const refresh = "GEMINI_REFRESH_TOKEN";
  const content = {
    access_token: placeholderOf(access),
    refresh_token: placeholderOf(refresh),
    token_type: "Bearer",
    scope: found.scope ?? "",
    expiry_date: now + lastingMs,
  };
  return {
    content: JSON.stringify(content),
    secrets: [
      headerSecret(access, found.access_token, ...addresses),
      ...watched(refresh, found.refresh_token),
      ...watched("GEMINI_ID_TOKEN", found.id_token),
    ],
  };
}

function watched(name: string, value: string | undefined): readonly AgentSecret[] {
  return value === undefined || value === "" ? [] : [watchedSecret(name, value)];
}

const claimsOf = z.looseObject({
  exp: z.number().optional().catch(undefined),
  "https://api.openai.com/auth": z
    .looseObject({ chatgpt_plan_type: text, chatgpt_account_id: text })
    .optional()
    .catch(undefined),
});

function readClaims(token: string): z.output<typeof claimsOf> {
  const payload = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
  return claimsOf.safeParse(parseJson(payload)).data ?? {};
}

function expiryOf(token: string): number | undefined {
  const { exp } = readClaims(token);
  return exp === undefined ? undefined : exp * 1000;
}

function anonymousToken(token: string, now: number): string {
  const auth = readClaims(token)["https://api.openai.com/auth"] ?? {};
  const { chatgpt_plan_type: plan = "unknown", chatgpt_account_id: account = "" } = auth;
  const claims = {
    exp: Math.floor((now + lastingMs) / 1000),
    "https://api.openai.com/auth": { chatgpt_plan_type: plan, chatgpt_account_id: account },
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none", typ: "JWT" })}.${part(claims)}.${Buffer.from("none").toString("base64url")}`;
}
