import type { JsonValue } from "../../journal/entry.ts";
import type { NpmFacts } from "../judge.ts";
import type { BodyInput } from "./bodyFacts.ts";

/** A write to an npm registry, told by its path, its client's headers and its body (registry API of npm, "Package
 * endpoints"); `undefined` for anything else. */
export function npmFacts(input: BodyInput, body: JsonValue | undefined): NpmFacts | undefined {
  if (input.method === "GET" || input.method === "HEAD") return undefined;
  const packument = isRecord(body) ? body : undefined;
  const publishes = packument !== undefined && isRecord(packument["_attachments"]);
  if (!publishes && !isRegistryClient(input)) return undefined;
  const tag = /^\/-\/package\/(.+?)\/dist-tags(?:\/(.+))?$/.exec(input.path);
  if (tag !== null) return of("distTag", tag[1] ?? "", []);
  const access = /^\/-\/(?:package\/(.+?)\/(?:access|collaborators)|(?:org|team|user)\/(.+))/.exec(
    input.path,
  );
  if (access !== null) return of(access[1] === undefined ? "other" : "access", access[1] ?? "", []);
  const name = /^\/((?:@[^/]+(?:\/|%2F))?[^/@-][^/]*)(\/-\/[^/]+|)(?:\/-rev\/[^/]+)?$/i.exec(
    input.path,
  );
  if (name === null) return of("other", "", []);
  if (input.method === "DELETE") return of("unpublish", name[1] ?? "", []);
  const versions = versionsIn(packument, input);
  if (publishes || header(input, "npm-command") === "publish" || !input.complete) {
    return of("publish", name[1] ?? "", versions);
  }
  const deprecates = Object.values(record(packument?.["versions"])).some(
    (version) => isRecord(version) && typeof version["deprecated"] === "string",
  );
  if (deprecates) return of("deprecate", name[1] ?? "", versions);
  return of(
    header(input, "npm-command") === "unpublish" ? "unpublish" : "other",
    name[1] ?? "",
    versions,
  );
}

function of(action: NpmFacts["action"], name: string, versions: readonly string[]): NpmFacts {
  return { action, package: name.replaceAll(/%2F/gi, "/").replaceAll(/%40/gi, "@"), versions };
}

function isRegistryClient(input: BodyInput): boolean {
  return (
    header(input, "npm-command") !== undefined ||
    /^registry\.(?:npmjs\.org|yarnpkg\.com|npmmirror\.com)$|^npm\.pkg\.github\.com$/.test(
      input.host,
    ) ||
    /^(?:npm|pnpm|yarn|bun|lerna)\//i.test(header(input, "user-agent") ?? "")
  );
}

/** The versions of a whole packument, or those at the front of one that is cut off: the client sends them before the
 * attachments. */
function versionsIn(
  packument: { readonly [key: string]: JsonValue } | undefined,
  input: BodyInput,
): readonly string[] {
  if (packument !== undefined) return Object.keys(record(packument["versions"]));
  const first = /"versions"\s*:\s*\{\s*"([^"\\]{1,100})"/.exec(input.text ?? "")?.[1];
  return first === undefined ? [] : [first];
}

function header(input: BodyInput, name: string): string | undefined {
  return input.headers.find(([one]) => one === name)?.[1];
}

function isRecord(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function record(value: JsonValue | undefined): { readonly [key: string]: JsonValue } {
  return isRecord(value) ? value : {};
}
