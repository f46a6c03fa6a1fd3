/** One header as it came over the wire: the spelling of the name is kept. */
export type Header = readonly [name: string, value: string];

const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Node's flat `rawHeaders` as pairs, HTTP/2 pseudo-headers left out. */
export function pairsOf(rawHeaders: readonly string[]): Header[] {
  const pairs: Header[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!name.startsWith(":")) pairs.push([name, rawHeaders[index + 1] ?? ""]);
  }
  return pairs;
}

/** Pairs as the flat list that node:http writes without touching order or case. */
export function flatOf(headers: readonly Header[]): string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) flat.push(name, value);
  return flat;
}

/** First value of a header, by its lower-case name. */
export function headerOf(headers: readonly Header[], name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1];
}

/** All values of a header, by its lower-case name. */
export function headersOf(headers: readonly Header[], name: string): string[] {
  const values: string[] = [];
  for (const [one, value] of headers) if (one.toLowerCase() === name) values.push(value);
  return values;
}

/** What may pass a proxy: without the headers that speak of one connection only, and those that Connection names.
 * `TE: trailers` stays, because gRPC needs it. */
export function endToEnd(headers: readonly Header[]): Header[] {
  let named: Set<string> | undefined;
  for (const value of headersOf(headers, "connection")) {
    for (const token of value.split(",")) (named ??= new Set()).add(token.trim().toLowerCase());
  }
  return headers.filter(([name, value]) => {
    const lower = name.toLowerCase();
    if (lower === "te") return value.trim().toLowerCase() === "trailers";
    if (hopByHop.has(lower)) return false;
    // Naming these in Connection must not strip what the origin needs to frame or route the request.
    const essential = lower === "host" || lower === "content-length" || lower === "authorization";
    return essential || named?.has(lower) !== true;
  });
}

/** Headers that one party reads the first of and another the last, or that say what the body is and who asks. */
const single = ["authorization", "content-type"] as const;

/** The first header that may come once alone, and comes with several values: what it means is anybody's guess. */
export function repeated(headers: readonly Header[]): string | undefined {
  return single.find((name) => new Set(headersOf(headers, name)).size > 1);
}

/** The encodings of a body in the order in which they were applied, lower case; `""` when there are none. A list may be
 * spread over several headers. */
export function encodingOf(headers: readonly Header[]): string {
  const tokens = headersOf(headers, "content-encoding").flatMap((value) => value.split(","));
  return tokens
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== "" && token !== "identity")
    .join(",");
}

/** What RFC 9110 §6.5.1 keeps out of trailers: fields that frame, route, authenticate, or say what to do or what the
 * content is. A recipient that merged them into the head would see another message than the one that was judged. */
const notInTrailers =
  /^(?:authorization$|cache-control$|content-(?:encoding|length|location|range|type)$|cookie$|expect$|host$|if-|location$|max-forwards$|origin$|pragma$|range$|set-cookie$|te$|trailer$|vary$|www-authenticate$|x-api-key$|x-http-method|x-method-)/;

/** The trailers that may pass. */
export function trailersOf(trailers: readonly Header[]): readonly Header[] {
  if (trailers.length === 0) return trailers;
  return endToEnd(trailers).filter(([name]) => !notInTrailers.test(name.toLowerCase()));
}

/** A copy with one header replaced in place, or added at the end. */
export function withHeader(headers: readonly Header[], name: string, value: string): Header[] {
  const lower = name.toLowerCase();
  const index = headers.findIndex(([one]) => one.toLowerCase() === lower);
  const changed: Header[] = [];
  for (const [at, header] of headers.entries()) {
    if (at === index) changed.push([header[0], value]);
    else if (header[0].toLowerCase() !== lower) changed.push(header);
  }
  if (index < 0) changed.push([name, value]);
  return changed;
}

/** A copy without some headers, by lower-case name. */
export function withoutHeaders(headers: readonly Header[], ...names: readonly string[]): Header[] {
  return headers.filter(([name]) => !names.includes(name.toLowerCase()));
}
