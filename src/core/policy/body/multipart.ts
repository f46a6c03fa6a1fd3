import type { JsonValue } from "../../journal/entry.ts";
import type { MultipartPart } from "../judge.ts";
import { formValue } from "./form.ts";

const longestField = 16 * 1024;

/** Splits `multipart/form-data` strictly (RFC 7578): anything between or around the parts that is not where it belongs
 * makes it malformed, because origins differ in what they forgive. */
export function parseMultipart(
  bytes: Uint8Array,
  boundary: string,
): readonly MultipartPart[] | undefined {
  if (boundary === "") return undefined;
  const text = latin1(bytes);
  const delimiter = `--${boundary}`;
  const pieces = `\r\n${text}`.split(`\r\n${delimiter}`);
  const first = pieces.shift();
  const last = pieces.pop();
  if (first !== "" || last === undefined || !/^--(?:\r\n)?$/.test(last)) return undefined;
  const parts: MultipartPart[] = [];
  for (const piece of pieces) {
    const part = parsePart(piece);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function parsePart(piece: string): MultipartPart | undefined {
  const split = piece.indexOf("\r\n\r\n");
  if (!piece.startsWith("\r\n") || split < 0) return undefined;
  const headers = piece.slice(2, split).split("\r\n");
  const disposition = headers.filter((line) => /^content-disposition:/i.test(line));
  if (disposition.length !== 1) return undefined;
  const line = disposition[0] ?? "";
  const name = parameter(line, "name");
  if (!/^content-disposition:\s*form-data\s*;/i.test(line) || name === undefined) return undefined;
  const fileName = parameter(line, "filename") ?? extended(line);
  const type = headers
    .find((one) => /^content-type:/i.test(one))
    ?.slice(13)
    .trim();
  const content = piece.slice(split + 4);
  return {
    name,
    bytes: content.length,
    ...(fileName === undefined ? {} : { fileName }),
    ...(type === undefined ? {} : { contentType: type }),
    ...(fileName === undefined && content.length <= longestField ? { text: utf8(content) } : {}),
  };
}

function parameter(line: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, "i").exec(line);
  const value = match?.[1]?.replaceAll(/\\(.)/g, "$1") ?? match?.[2];
  return value === undefined ? undefined : utf8(value);
}

function extended(line: string): string | undefined {
  return /;\s*filename\*=([^;\s]+)/i.exec(line)?.[1];
}

/** The fields (files by their names) as an object. */
export function multipartValue(parts: readonly MultipartPart[]): Record<string, JsonValue> {
  return formValue(parts.map((part) => [part.name, part.text ?? part.fileName ?? ""]));
}

/** One character a byte. */
export function latin1(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += 8192) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  }
  return pieces.join("");
}

/** Latin-1 text that is UTF-8 underneath; unchanged when it is not. */
function utf8(text: string): string {
  try {
    return decodeURIComponent(
      text.replaceAll(/[%\x80-\xff]/g, (character) => `%${hex(character.charCodeAt(0))}`),
    );
  } catch {
    return text;
  }
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
