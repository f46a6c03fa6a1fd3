/** Shorter values would match by chance; they are substituted but not watched. */
export const shortestWatched = 8;
/** Longer values are watched by their slices, so that the automaton stays small. */
const longestWhole = 512;
const sliceLength = 48;

/** Every byte string that gives a value away: raw, UTF-16, JSON-escaped, percent-encoded, hexadecimal, and Base64 at its three
 * alignments in both alphabets. Empty for values too short to be watched. */
export function formsOf(value: string): readonly Uint8Array[] {
  const bytes = Buffer.from(value, "utf8");
  if (bytes.length < shortestWatched) return [];
  if (bytes.length > longestWhole) return slicesOf(bytes).flatMap(formsOfBytes);
  return formsOfBytes(bytes);
}

function slicesOf(bytes: Buffer): Buffer[] {
  const slices: Buffer[] = [];
  for (let at = 0; at + sliceLength <= bytes.length && slices.length < 40; at += sliceLength) {
    slices.push(bytes.subarray(at, at + sliceLength));
  }
  return slices;
}

function formsOfBytes(bytes: Buffer): Uint8Array[] {
  const text = bytes.toString("utf8");
  const percent = percentEncoded(bytes);
  const json = JSON.stringify(text).slice(1, -1);
  const forms = new Set<string>([
    bytes.toString("latin1"),
    Buffer.from(text, "utf16le").toString("latin1"),
    Buffer.from(text, "utf16le").swap16().toString("latin1"),
    Buffer.from(json).toString("latin1"),
    Buffer.from(json.replaceAll("/", "\\/")).toString("latin1"),
    percent,
    percent.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    percent.replaceAll("%20", "+"),
    new URLSearchParams([["", text]]).toString().slice(1),
    Buffer.from(encodeURIComponent(text)).toString("latin1"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
  for (const padding of [0, 1, 2]) {
    for (const alphabet of ["base64", "base64url"] as const) {
      const core = base64Core(bytes, padding, alphabet);
      if (core.length >= shortestWatched) forms.add(core);
    }
  }
  return [...forms].map((form) => Buffer.from(form, "latin1"));
}

/** Percent-encoding of everything but RFC 3986's unreserved characters. */
function percentEncoded(bytes: Buffer): string {
  return [...bytes]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9\-._~]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}

/** The Base64 characters that depend on the value alone when `padding` bytes stand before it. */
function base64Core(bytes: Buffer, padding: number, alphabet: "base64" | "base64url"): string {
  const encoded = Buffer.concat([Buffer.alloc(padding), bytes]).toString(alphabet);
  const whole = Math.floor(((padding + bytes.length) * 8) / 6);
  return encoded.slice(Math.ceil((padding * 8) / 6), whole);
}
