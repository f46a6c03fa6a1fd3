import { isIP } from "node:net";
import { domainToASCII } from "node:url";

/** A host and port after canonicalisation: what is judged, what is dialled, what SNI and Host must equal. */
export interface Authority {
  readonly host: string;
  readonly port: number;
}

/**
 * The one spelling of a host: lower case, A-labels, no trailing dot, IPv4 dotted decimal, IPv6 compressed without
 * brackets or zone; an IPv4-mapped IPv6 address becomes the IPv4 address. `undefined` for anything that is not a host:
 * control characters, NUL, spaces, userinfo, percent escapes, empty or over-long labels, ambiguous number forms.
 */
export function canonicalHost(text: string): string | undefined {
  // Everything that some parser strips, splits or decodes is refused before any parser sees it.
  if (text.length === 0 || text.length > 512 || /[\p{Cc}\p{Cf}\p{Z}%@/\\?#<>^|`"{}]/u.test(text)) {
    return undefined;
  }
  if (text.startsWith("[") || text.includes(":")) return canonicalIpv6(text);
  const ascii = asciiName(text);
  if (ascii === undefined) return undefined;
  const address = ipv4Of(ascii);
  if (address !== "name") return address;
  return /^(?!.{254})(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(
    ascii,
  )
    ? ascii
    : undefined;
}

function asciiName(text: string): string | undefined {
  // domainToASCII maps full-width digits, ideographic stops and case as browsers do, and returns "" when it refuses.
  const mapped = /^[\x21-\x7e]+$/.test(text) ? text.toLowerCase() : domainToASCII(text);
  const withoutDot = mapped.endsWith(".") ? mapped.slice(0, -1) : mapped;
  if (withoutDot === "" || withoutDot.endsWith(".")) return undefined;
  // An A-label that does not survive the round trip is a second spelling of something else.
  if (/(?:^|\.)xn--/.test(withoutDot) && domainToASCII(withoutDot) !== withoutDot) return undefined;
  return withoutDot;
}

/** Dotted decimal for every number form that inet_aton takes (hexadecimal, octal, short forms), `undefined` when it
 * looks like a number but is none, `"name"` when the last label is not numeric. */
function ipv4Of(host: string): string | undefined {
  const parts = host.split(".");
  const last = parts.at(-1) ?? "";
  if (!/^(?:\d+|0x[0-9a-f]*)$/.test(last)) return "name";
  if (parts.length > 4) return undefined;
  const numbers = parts.map(numberOf);
  let value = 0;
  for (const [index, number] of numbers.entries()) {
    if (number === undefined) return undefined;
    const isLast = index === numbers.length - 1;
    const limit = isLast ? 256 ** (5 - numbers.length) : 256;
    if (number >= limit) return undefined;
    value += isLast ? number : number * 256 ** (3 - index);
  }
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

function numberOf(text: string): number | undefined {
  if (/^0x[0-9a-f]{1,8}$/.test(text)) return Number.parseInt(text.slice(2), 16);
  if (/^0[0-7]{1,11}$/.test(text)) return Number.parseInt(text, 8);
  if (/^(?:0|[1-9]\d{0,9})$/.test(text)) return Number(text);
  return undefined;
}

function canonicalIpv6(text: string): string | undefined {
  const bracketed = text.startsWith("[");
  if (bracketed !== text.endsWith("]")) return undefined;
  const inner = bracketed ? text.slice(1, -1) : text;
  if (isIP(inner) !== 6) return undefined;
  const compressed = new URL(`http://[${inner}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  if (mapped?.[1] === undefined || mapped[2] === undefined) return compressed;
  const high = Number.parseInt(mapped[1], 16);
  const low = Number.parseInt(mapped[2], 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** `host:port` (IPv6 in brackets) as CONNECT, Host and SOCKS carry it; `undefined` when either half is not valid. */
export function parseAuthority(text: string, defaultPort?: number): Authority | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text);
  if (match?.[1] === undefined) return undefined;
  const host = canonicalHost(match[1]);
  const port = match[2] === undefined ? defaultPort : Number(match[2]);
  if (host === undefined || port === undefined || port < 1 || port > 65535) return undefined;
  return { host, port };
}

/** The host as URLs and the Host header write it. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The authority as text, without the port where it is the scheme's own. */
export function authorityText(authority: Authority, defaultPort?: number): string {
  const host = bracketed(authority.host);
  return authority.port === defaultPort ? host : `${host}:${String(authority.port)}`;
}
