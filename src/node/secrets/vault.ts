import { ByteMatcher, ByteReplacer, type BytePattern } from "./byteMatcher.ts";
import { formsOf } from "./secretForms.ts";
import { placeholderOf, placeholderPrefix, spellingsOf } from "./placeholder.ts";

/** Where in a request a value may be put. */
export type Position = "header" | "query" | "path" | "body";

/** Where a value may go. `host` is exact or `*.example.com`; `path` is a prefix ending at a slash, or exact. */
export interface SecretBinding {
  readonly host: string;
  readonly port?: number;
  readonly path?: string;
  /** Absent: every position. */
  readonly positions?: readonly Position[];
}

/** A secret with its value, in the memory of the supervisor only. */
export interface Secret {
  readonly name: string;
  readonly value: string;
  readonly bindings: readonly SecretBinding[];
}

/** Where a call goes: a canonical host, a port, and a path without the query. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** A known value was about to leave by another way than its placeholder. */
export class SecretLeak extends Error {
  readonly secret: string;

  constructor(secret: string) {
    super(`the value of the secret ${secret} was about to leave the machine`);
    this.name = "SecretLeak";
    this.secret = secret;
  }
}

/** How a value must be written at its place. */
export type Escape = "none" | "json" | "percent";

type Header = readonly [name: string, value: string];

interface Replacements {
  readonly matcher: ByteMatcher;
  /** Per pattern of the matcher: the secret, and the value when it is a placeholder that may be filled here. */
  readonly targets: readonly { readonly secret: string; readonly value?: Buffer }[];
}

/** Short texts are looked through here: to make a buffer of each would cost more than the look. */
const desk = Buffer.allocUnsafeSlow(64 * 1024);

/** False only where nothing of the matcher stands in a text. */
function mayHold(matcher: ByteMatcher, text: string): boolean {
  if (text.length * 3 > desk.length) return true;
  return matcher.begin(desk, 0, desk.write(text, "utf8")) >= 0;
}

/** All secrets of a transaction: fills placeholders, watches for values, scrubs what comes back. */
export class Vault {
  readonly #secrets: readonly Secret[];
  readonly #leaks: readonly { readonly pattern: BytePattern; readonly secret: string }[];
  readonly #byDestination = new Map<string, Replacements>();
  readonly #leakMatcher: ByteMatcher;
  /** Every value and every placeholder: where it finds nothing, there is nothing to fill, stop or scrub anywhere. */
  readonly #anyMatcher: ByteMatcher;

  constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets;
    this.#leaks = secrets.flatMap((secret) =>
      formsOf(secret.value).map((bytes) => ({
        pattern: { bytes, wordEnd: false },
        secret: secret.name,
      })),
    );
    const leaks = this.#leaks.map((leak) => leak.pattern);
    this.#leakMatcher = new ByteMatcher(leaks);
    this.#anyMatcher = new ByteMatcher([
      ...leaks,
      { bytes: Buffer.from(placeholderPrefix), wordEnd: false },
    ]);
  }

  /** True when there is nothing to fill, watch or scrub. */
  get empty(): boolean {
    return this.#secrets.length === 0;
  }

  /** True when some secret may go to this host and port. */
  isBound(destination: Destination): boolean {
    return this.#secrets.some((secret) =>
      secret.bindings.some((binding) => hostMatches(binding, destination)),
    );
  }

  /** True when some secret may be put there: only then can filling change a length. */
  mayFill(destination: Destination, position: Position): boolean {
    return this.#secrets.some((secret) =>
      secret.bindings.some((binding) => bindingMatches(binding, destination, position)),
    );
  }

  /** Names of the secrets whose placeholders stand in a text and the bytes after it, whether or not they may go anywhere. */
  placeholdersIn(head: string, body: Buffer = Buffer.alloc(0)): string[] {
    if (!head.includes(placeholderPrefix) && !body.includes(placeholderPrefix)) return [];
    const text = head + body.toString("latin1");
    return this.#secrets
      .map((secret) => secret.name)
      .filter((name) =>
        spellingsOf(name).some(({ text: spelling, wordEnd }) => {
          const at = text.indexOf(spelling);
          return at >= 0 && !(wordEnd && /^\w/.test(text.slice(at + spelling.length)));
        }),
      );
  }

  /** True when a header or parameter value holds a placeholder, also inside Basic authentication. */
  carriesPlaceholder(value: string): boolean {
    return (
      this.placeholdersIn(value).length > 0 ||
      this.placeholdersIn(basicLogin(value) ?? "").length > 0
    );
  }

  /** The first secret that Basic authentication in some headers gives away: the login is one Base64 text. */
  leakInBasic(headers: readonly (readonly [string, string])[]): string | undefined {
    for (const [, value] of headers) {
      const login = basicLogin(value);
      const leaked = login === undefined ? undefined : this.leakIn(login);
      if (leaked !== undefined) return leaked;
    }
    return undefined;
  }

  /** Fills one header value; the login of Basic authentication is decoded, filled and encoded again. Throws when a value
   * holds what no header can carry. */
  fillHeader(value: string, destination: Destination, used: (secret: string) => void): string {
    if (this.empty) return value;
    const login = basicLogin(value);
    const filled =
      login === undefined
        ? this.fill(value, destination, "header", "none", used)
        : `Basic ${Buffer.from(this.fill(login, destination, "header", "none", used)).toString("base64")}`;
    if (/[\r\n\0]/.test(filled))
      throw new Error("a secret with line breaks cannot go into a header");
    return filled;
  }

  /** A pass over one stream toward a destination: placeholders bound to it are filled and reported through `used`,
   * anything that gives a value away throws {@link SecretLeak}. */
  outgoing(
    destination: Destination,
    position: Position,
    escape: Escape,
    used: (secret: string) => void,
  ): ByteReplacer {
    const { matcher, targets } = this.#replacementsFor(destination, position, escape);
    return new ByteReplacer(matcher, (pattern) => {
      const target = targets[pattern];
      if (target?.value === undefined) throw new SecretLeak(target?.secret ?? "");
      used(target.secret);
      return target.value;
    });
  }

  /** A pass that only watches: throws {@link SecretLeak} at anything that gives a value away. */
  watch(): ByteReplacer {
    return new ByteReplacer(this.#leakMatcher, (pattern) => {
      throw new SecretLeak(this.#leaks[pattern]?.secret ?? "");
    });
  }

  /** The same over one short text. */
  fill(
    text: string,
    destination: Destination,
    position: Position,
    escape: Escape,
    used: (secret: string) => void,
  ): string {
    if (!mayHold(this.#anyMatcher, text)) return text;
    const bytes = Buffer.from(text, "utf8");
    if (this.#anyMatcher.find(bytes) < 0) return text;
    const pass = this.outgoing(destination, position, escape, used);
    return Buffer.concat([pass.write(bytes), pass.end()]).toString("utf8");
  }

  /** A pass over one stream that comes back or is written down: values become their placeholders. */
  scrubber(): ByteReplacer {
    return new ByteReplacer(this.#leakMatcher, (pattern) =>
      Buffer.from(placeholderOf(this.#leaks[pattern]?.secret ?? "")),
    );
  }

  /** The same over one text. */
  scrub(text: string): string {
    if (!mayHold(this.#leakMatcher, text)) return text;
    const bytes = Buffer.from(text, "utf8");
    if (this.#leakMatcher.find(bytes) < 0) return text;
    const pass = this.scrubber();
    return Buffer.concat([pass.write(bytes), pass.end()]).toString("utf8");
  }

  /** The same over headers: most have nothing of ours, which one look over all of them tells. */
  scrubHeaders(headers: readonly Header[]): readonly Header[] {
    if (!mayHold(this.#leakMatcher, headers.flat().join("\n"))) return headers;
    return headers.map(([name, value]): Header => [this.scrub(name), this.scrub(value)]);
  }

  /** The first secret that a text gives away, in any of its forms. */
  leakIn(text: string | Uint8Array): string | undefined {
    if (this.#leaks.length === 0) return undefined;
    if (typeof text === "string" && !mayHold(this.#leakMatcher, text)) return undefined;
    const bytes = typeof text === "string" ? Buffer.from(text, "utf8") : text;
    return this.#leaks[this.#leakMatcher.find(bytes)]?.secret;
  }

  #replacementsFor(destination: Destination, position: Position, escape: Escape): Replacements {
    const allowed = this.#secrets.filter((secret) =>
      secret.bindings.some((binding) => bindingMatches(binding, destination, position)),
    );
    const key = `${escape} ${allowed.map((secret) => secret.name).join(" ")}`;
    const known = this.#byDestination.get(key);
    if (known !== undefined) return known;
    const fills = allowed.flatMap((secret) =>
      spellingsOf(secret.name).map(({ text, wordEnd }) => ({
        pattern: { bytes: Buffer.from(text), wordEnd },
        target: { secret: secret.name, value: escaped(secret.value, text, escape) },
      })),
    );
    const replacements = {
      matcher: new ByteMatcher([
        ...fills.map((fill) => fill.pattern),
        ...this.#leaks.map((leak) => leak.pattern),
      ]),
      targets: [
        ...fills.map((fill) => fill.target),
        ...this.#leaks.map((leak) => ({ secret: leak.secret })),
      ],
    };
    this.#byDestination.set(key, replacements);
    return replacements;
  }
}

function basicLogin(value: string): string | undefined {
  const encoded = /^\s*basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(value)?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}

function escaped(value: string, spelling: string, escape: Escape): Buffer {
  // A placeholder that arrives percent-encoded stands where percent-decoding will happen.
  if (escape === "percent" || spelling.includes("%")) return Buffer.from(encodeURIComponent(value));
  return Buffer.from(escape === "json" ? JSON.stringify(value).slice(1, -1) : value);
}

function hostMatches(binding: SecretBinding, destination: Destination): boolean {
  if (binding.port !== undefined && binding.port !== destination.port) return false;
  return binding.host.startsWith("*.")
    ? destination.host.endsWith(binding.host.slice(1)) &&
        destination.host.length > binding.host.length - 1
    : destination.host === binding.host;
}

function bindingMatches(
  binding: SecretBinding,
  destination: Destination,
  position: Position,
): boolean {
  if (!hostMatches(binding, destination)) return false;
  if (binding.positions?.includes(position) === false) return false;
  if (binding.path === undefined) return true;
  return binding.path.endsWith("/")
    ? destination.path.startsWith(binding.path)
    : destination.path === binding.path;
}
