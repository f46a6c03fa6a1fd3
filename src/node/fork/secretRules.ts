import type { lintSource as lintSourceType } from "@secretlint/core";

/** A secret value in a text: half-open range of UTF-16 units, and what to call it. */
export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/** How the name of a file says what is in it. `whole`: nothing in it is for other eyes. */
export type SecretKind = "environment" | "settings" | "whole" | "content";

const templates = /\.(example|sample|template|dist|defaults?|test-example)$/i;
const environmentName = /^(\.env(\..+)?|.+\.env|\.envrc)$/i;
const wholeName = /(\.(p12|pfx|jks|keystore|kdbx|ppk)|^\.vault-token|^\.htpasswd)$/i;
const settingsName =
  /^(\.npmrc|\.yarnrc(\.yml)?|\.pypirc|\.netrc|_netrc|\.git-credentials|\.dockercfg|credentials(\.(json|toml|ini))?|secrets\.(json|ya?ml|toml)|\.pgpass|\.my\.cnf|.*\.tfvars|kubeconfig)$/i;
const settingsPath = /(^|\/)(\.docker\/config\.json|\.git\/config)$/;

/** What a path's name says of its content. */
export function secretKind(path: string): SecretKind {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (templates.test(name)) return "content";
  if (environmentName.test(name)) return "environment";
  if (wholeName.test(name)) return "whole";
  if (settingsName.test(name) || settingsPath.test(path)) return "settings";
  return "content";
}

/** Values that tell nobody anything: hiding them would only break the project. */
const harmless: readonly RegExp[] = [
  /^(true|false|yes|no|on|off|null|none|undefined)$/i,
  /^-?\d{1,6}(\.\d{1,3})?$/,
  /^(development|production|test|testing|staging|local|ci|debug|info|warn|warning|error|trace|silent|verbose)$/i,
  /^(localhost|127\.0\.0\.1|0\.0\.0\.0|::1)(:\d{1,5})?$/i,
  /^https?:\/\/(localhost|127\.0\.0\.1)(:\d{1,5})?(\/[\w./-]*)?$/i,
  /^\$\{?\w+\}?$/,
  /^\.{0,2}\/[\w./-]{0,60}$/,
];

function isHarmless(value: string): boolean {
  return value === "" || harmless.some((pattern) => pattern.test(value));
}

function isPlaceholder(value: string): boolean {
  return value.includes("$HOLDFAST_SECRET_");
}

/** Name of a secret after the key that it stands at. */
function nameOfKey(key: string): string {
  const name = key
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/^[_0-9]+|_+$/g, "")
    .toUpperCase()
    .slice(0, 80);
  return name === "" ? "VALUE" : name;
}

const assignment = /^([ \t]*(?:export[ \t]+)?)([\w.-]+)([ \t]*=[ \t]*)/gm;

/** Values of `KEY=value` lines: quoted (over several lines too), or to the end of the line or a comment. */
export function environmentSpans(text: string): SecretSpan[] {
  const spans: SecretSpan[] = [];
  let until = 0;
  for (const match of text.matchAll(assignment)) {
    const start = match.index + match[0].length;
    if (match.index < until) continue; // inside a quoted value of several lines
    const [from, to] = valueAt(text, start);
    until = to;
    if (!isHarmless(text.slice(from, to)) && !isPlaceholder(text.slice(from, to)))
      spans.push({ start: from, end: to, name: nameOfKey(match[2] ?? "") });
  }
  return spans;
}

function valueAt(text: string, start: number): readonly [number, number] {
  const quote = text[start];
  if (quote === '"' || quote === "'" || quote === "`") {
    for (let at = start + 1; at < text.length; at++) {
      if (text[at] === "\\" && quote === '"') at++;
      else if (text[at] === quote) return [start + 1, at];
    }
  }
  const line = text.indexOf("\n", start);
  const end = line < 0 ? text.length : line;
  const value = text.slice(start, end).replace(/[ \t]+#.*$/, "");
  return [start, start + value.trimEnd().length];
}

const settingKeys =
  /(_?authToken|_auth|_?password|passwd|token|secret|api[_-]?key|secret[_-]?access[_-]?key|session[_-]?token|access[_-]?key[_-]?id|client[_-]?secret|private[_-]?key|auth)["']?[ \t]*[=:][ \t]*["']?([^\s"',}]+)/gi;
const netrcWords = /\b(password|account)[ \t]+(\S+)/g;
const authorization = /\b(basic|bearer)[ \t]+([\w+/=.~-]{8,})/gi;
const urlPassword = /:\/\/([^\s:/@"'`<>]+):([^\s/@"'`<>]+)@/g;

function groupSpans(text: string, pattern: RegExp, name: string | undefined): SecretSpan[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const value = match[2] ?? "";
    const start = match.index + match[0].lastIndexOf(value);
    if (isHarmless(value) || isPlaceholder(value)) return [];
    return [{ start, end: start + value.length, name: name ?? nameOfKey(match[1] ?? "") }];
  });
}

/** Tokens that secretlint's preset does not know: [what, pattern]. */
const moreTokens: readonly (readonly [string, RegExp])[] = [
  ["AWS_ACCESS_KEY_ID", /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
  ["STRIPE_KEY", /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}\b/g],
  ["STRIPE_WEBHOOK_SECRET", /\bwhsec_[A-Za-z0-9]{24,}\b/g],
  ["GOOGLE_API_KEY", /\bAIza[A-Za-z0-9_-]{35}\b/g],
  ["GITLAB_TOKEN", /\bglpat-[A-Za-z0-9_-]{20,}\b/g],
  ["OPENAI_API_KEY", /\bsk-(?:proj|svcacct)-[A-Za-z0-9_-]{20,}\b/g],
  ["HUGGINGFACE_TOKEN", /\bhf_[A-Za-z0-9]{30,}\b/g],
  ["PYPI_TOKEN", /\bpypi-AgEI[A-Za-z0-9_-]{40,}\b/g],
  ["DOCKER_TOKEN", /\bdckr_pat_[A-Za-z0-9_-]{20,}\b/g],
];

const privateKey =
  /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----/g;

/** Loaded at the first file that is worth it: the rules are half a megabyte of program. */
async function lintWithPreset(text: string): ReturnType<typeof lintSourceType> {
  const [{ lintSource }, { creator }] = await Promise.all([
    import("@secretlint/core"),
    import("@secretlint/secretlint-rule-preset-recommend"),
  ]);
  return lintSource({
    source: { content: text, filePath: "/file", ext: "", contentType: "text" },
    options: {
      config: { rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule: creator }] },
      noPhysicFilePath: true,
      maskSecrets: false,
    },
  });
}

const ruleNames: Readonly<Record<string, string>> = {
  AWSSecretAccessKey: "AWS_SECRET_ACCESS_KEY",
  AWSAccountID: "AWS_ACCOUNT_ID",
  BasicAuth: "PASSWORD",
};

async function presetSpans(text: string): Promise<SecretSpan[]> {
  const found = await lintWithPreset(text);
  return found.messages.flatMap((message) => {
    const [start, end] = message.range;
    const part = text.slice(start, end);
    if (/:\/\//.test(part))
      return groupSpans(part, urlPassword, "PASSWORD").map((span) => ({
        ...span,
        start: span.start + start,
        end: span.end + start,
      }));
    const key = /^[\w"'-]+\s*[=:]+>?\s*["']?(?=\S)/.exec(part)?.[0] ?? "";
    const name = ruleNames[message.messageId] ?? nameOfKey(message.messageId);
    return [{ start: start + key.length, end, name }];
  });
}

/** Secrets in any text: secretlint's recommended rules, URLs with passwords, private keys, and a few tokens more. */
export async function contentSpans(text: string): Promise<SecretSpan[]> {
  return [
    ...[...text.matchAll(privateKey)].map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
      name: "PRIVATE_KEY",
    })),
    ...(await presetSpans(text)),
    ...groupSpans(text, urlPassword, "PASSWORD"),
    ...moreTokens.flatMap(([name, pattern]) =>
      [...text.matchAll(pattern)].map((match) => ({
        start: match.index,
        end: match.index + match[0].length,
        name,
      })),
    ),
  ];
}

/** All secrets of a file, in order and without overlap (of two that overlap the one that begins first, then the longer). */
export async function secretSpans(path: string, text: string): Promise<readonly SecretSpan[]> {
  const kind = secretKind(path);
  if (kind === "whole")
    return text === "" ? [] : [{ start: 0, end: text.length, name: wholeFileName(path) }];
  const spans = await contentSpans(text);
  if (kind === "environment") spans.push(...environmentSpans(text));
  if (kind === "settings")
    spans.push(
      ...groupSpans(text, settingKeys, undefined),
      ...groupSpans(text, netrcWords, undefined),
      ...groupSpans(text, authorization, "AUTHORIZATION"),
    );
  return withoutOverlap(spans);
}

/** In order; of two that overlap the one that begins first, then the longer. */
export function withoutOverlap(spans: readonly SecretSpan[]): readonly SecretSpan[] {
  const kept: SecretSpan[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end))
    if (span.end > span.start && span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span);
  return kept;
}

/** Name of a secret that is a whole file. */
export function wholeFileName(path: string): string {
  return nameOfKey(path.slice(path.lastIndexOf("/") + 1));
}
