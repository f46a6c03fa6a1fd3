import type { lintSource as lintSourceType } from "@secretlint/core";
import { environmentSpans } from "./environmentFile.ts";
import { isHarmless, isPlaceholder, nameOfKey, type SecretSpan } from "./secretSpan.ts";

/**
 * How the name of a file says what is in it. `whole`: nothing in it is for other eyes. `values`: the keys are. native/src/suspect.c
 * tells of every file that is more than `content` here.
 */
export type SecretKind = "environment" | "settings" | "values" | "whole" | "content";

const templates = /\.(example|sample|template|dist|defaults?|test-example)$/i;
const environmentName =
  /^(\.env([._~-].*)?|.+\.env~?|\.envrc([._~-].*)?|\.flaskenv|\.dev\.vars(\..+)?)$/i;
const environmentPath = /(^|\/)\.envs\//i;
const wholeName =
  /(\.(p12|pfx|jks|keystore|kdbx|ppk)|^\.vault-token|^\.htpasswd|^(master|secret|signing|encryption)\.key)$/i;
const wholePath = /(^|\/)credentials\/[^/]+\.key$/i;
const valuesName = /^secrets\.(json|ya?ml|toml)$/i;
const settingsName =
  /^(\.npmrc|\.yarnrc(\.yml)?|\.pypirc|\.netrc|_netrc|\.git-credentials|\.dockercfg|credentials(\.(json|toml|ini))?|auth\.json|\.my\.cnf|\.s3cfg|\.boto|local\.settings\.json|application_default_credentials\.json|\.pgpass|.*\.tfvars(\.json)?|.*\.tfstate(\.backup)?|kubeconfig|.*\.kubeconfig)$/i;
const settingsPath = /(^|\/)(\.docker\/config\.json|\.kube\/config|\.aws\/config|\.git\/config)$/;

/** What a path's name says of its content. */
export function secretKind(path: string): SecretKind {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (templates.test(name)) return "content";
  if (environmentName.test(name) || environmentPath.test(path)) return "environment";
  if (wholeName.test(name) || wholePath.test(path)) return "whole";
  if (valuesName.test(name)) return "values";
  if (settingsName.test(name) || settingsPath.test(path)) return "settings";
  return "content";
}

const secretKey = String.raw`[\w.-]*(?:pass(?:word|wd|phrase)|passw|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|auth(?!or)|credential|key-data|connection[_-]?string)[\w.-]*`;
const quoted = String.raw`"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)'`;
/** In files of settings: at the start of a line an unquoted value goes to its end, else to what may end it. */
const settingKeys: readonly RegExp[] = [
  new RegExp(String.raw`(${secretKey})["']?[ \t]*[=:][ \t]*(?:${quoted})`, "gi"),
  new RegExp(
    String.raw`^[ \t-]*(?:\/\/[^\s=]*:)?(${secretKey})[ \t]*[=:][ \t]*([^\s"'{[#;](?:[^\r\n]*[^\s])?)`,
    "gim",
  ),
  new RegExp(String.raw`(${secretKey})["']?[ \t]*[=:][ \t]*["']?([^\s"',{}[\]]+)`, "gi"),
];
/** Any key and its value, and the items of lists. */
const anyKeys: readonly RegExp[] = [
  new RegExp(String.raw`([\w.-]+)["']?[ \t]*[=:][ \t]*(?:${quoted})`, "g"),
  new RegExp(String.raw`([[,-])\s*(?:${quoted})(?!["']?\s*:)`, "g"),
  /^[ \t-]*([\w.-]+)[ \t]*[=:][ \t]*([^\s"'{[#;|>](?:[^\r\n]*[^\s])?)/gm,
  /^[ \t]*(-)[ \t]+([^\s"'{[#;:]+)[ \t]*\r?$/gm,
  /^([ \t]+)([^\s"'{}[\]#,:=-][^\s:=]*)[ \t]*\r?$/gm,
];
const pgpassWords =
  /^((?:\\.|[^\\:\r\n#])(?:\\.|[^\\:\r\n])*(?::(?:\\.|[^\\:\r\n])*){3}):([^\r\n]+)/gm;
const netrcWords = /\b(password|account)\s+(?![=:])(\S+)/g;
const authorization = /\b(basic|bearer)[ \t]+([\w+/=.~-]{8,})/gi;
const urlPassword = /:\/\/([^\s:/@"'`<>]+):([^\s/@"'`<>]+)@/g;

function groupSpans(text: string, pattern: RegExp, name: string | undefined): SecretSpan[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const value = match[2] ?? match[3] ?? "";
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
  if (kind === "environment")
    spans.push(...environmentSpans(text, /(^|\/)\.envrc[^/]*$/i.test(path)));
  if (kind === "settings")
    spans.push(
      ...settingKeys.flatMap((pattern) => groupSpans(text, pattern, undefined)),
      ...groupSpans(text, netrcWords, undefined),
      ...groupSpans(text, authorization, "AUTHORIZATION"),
    );
  if (kind === "values")
    spans.push(...anyKeys.flatMap((pattern) => groupSpans(text, pattern, undefined)));
  if (/(^|\/)\.pgpass$/i.test(path)) spans.push(...groupSpans(text, pgpassWords, "PASSWORD"));
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
