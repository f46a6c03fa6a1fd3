import type { GitFacts, RefUpdate } from "../judge.ts";
import type { BodyFacts, BodyInput } from "./bodyFacts.ts";
import { latin1 } from "./multipart.ts";

/** Ref commands at the front of a `git-receive-pack` body, and where the pack begins behind them. */
export interface PushCommands {
  readonly refs: readonly RefUpdate[];
  /** Offset of the pack; equals the length of the bytes when there is none. */
  readonly packAt: number;
}

/** What a git smart-HTTP request does; `undefined` when the call is no such request. */
export function gitFacts(input: BodyInput): BodyFacts | undefined {
  const place =
    /^\/(.+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(input.path) ??
    undefined;
  const [, repository, end] = place ?? [];
  if (repository === undefined) return undefined;
  if (end === "info/refs") {
    const service = input.query.find(([name]) => name === "service")?.[1];
    if (service !== "git-upload-pack" && service !== "git-receive-pack") return undefined;
    if (input.method !== "GET" && input.method !== "HEAD") return undefined;
    return facts({ action: "discover", service, repository, refs: [] });
  }
  if (input.method !== "POST") return undefined;
  if (end === "git-upload-pack") {
    return facts({ action: "fetch", service: "git-upload-pack", repository, refs: [] });
  }
  const push: GitFacts = { action: "push", service: "git-receive-pack", repository, refs: [] };
  // Before a large push the client asks with an empty flush whether it is let in.
  if (input.complete && latin1(input.bytes) === "0000") {
    return facts({ ...push, action: "discover" });
  }
  const commands = parsePushCommands(input.bytes);
  if (commands === undefined) {
    return {
      ...facts(push),
      bodyType: "opaque",
      bodyProblem: "the push's ref commands cannot be read",
    };
  }
  return facts({ ...push, refs: commands.refs });
}

function facts(git: GitFacts): BodyFacts {
  return {
    kind: "git",
    bodyType: git.action === "discover" ? "none" : "git",
    body: undefined,
    git,
  };
}

/** Reads pkt-lines up to the flush (gitprotocol-pack, "Reference Update Request"), signed pushes included. */
export function parsePushCommands(bytes: Uint8Array): PushCommands | undefined {
  const refs: RefUpdate[] = [];
  let at = 0;
  for (;;) {
    const head = latin1(bytes.subarray(at, at + 4));
    if (!/^[0-9a-fA-F]{4}$/.test(head)) return undefined;
    const length = Number.parseInt(head, 16);
    if (length === 0) break;
    if (length < 4 || at + length > bytes.length) return undefined;
    const line = latin1(bytes.subarray(at + 4, at + length));
    at += length;
    const command = line.split("\0")[0] ?? "";
    const update = refUpdate(command.replace(/\n$/, ""));
    if (update === "malformed") return undefined;
    if (update !== "other") refs.push(update);
  }
  return refs.length === 0 ? undefined : { refs, packAt: skipOptions(bytes, at + 4, refs) };
}

/** Push options follow in a list of their own, ended by another flush; the pack begins with `PACK`. */
function skipOptions(bytes: Uint8Array, start: number, refs: readonly RefUpdate[]): number {
  if (refs.every((ref) => ref.change === "delete")) return bytes.length;
  let at = start;
  while (at + 4 <= bytes.length && latin1(bytes.subarray(at, at + 4)) !== "PACK") {
    const length = Number.parseInt(latin1(bytes.subarray(at, at + 4)), 16);
    if (Number.isNaN(length)) return bytes.length;
    at += length < 4 ? 4 : length;
  }
  return Math.min(at, bytes.length);
}

function refUpdate(line: string): RefUpdate | "other" | "malformed" {
  const match =
    /^((?:[0-9a-f]{40}){1}(?:[0-9a-f]{24})?) ((?:[0-9a-f]{40}){1}(?:[0-9a-f]{24})?) (.+)$/.exec(
      line,
    );
  if (match === null) {
    // What a signed push and a shallow clone add around the commands; anything else is not understood.
    return /^(?:shallow [0-9a-f]{40,64}|push-cert|push-cert-end|certificate version .*|pusher .*|pushee .*|nonce .*|push-option .*||-----(?:BEGIN|END) .*|[A-Za-z0-9+/=]{1,76}|=?[A-Za-z0-9+/=]{1,6})$/.test(
      line,
    )
      ? "other"
      : "malformed";
  }
  const [, from = "", to = "", ref = ""] = match;
  if (hasControl(ref)) return "malformed";
  const none = /^0+$/;
  const change = none.test(to) ? "delete" : none.test(from) ? "create" : "update";
  return { ref: decodedRef(ref), change, ancestry: "unknown", from, to };
}

function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

function decodedRef(ref: string): string {
  try {
    return decodeURIComponent(
      ref.replaceAll(
        /[%\x80-\xff]/g,
        (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
      ),
    );
  } catch {
    return ref;
  }
}
