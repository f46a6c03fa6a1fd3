import * as z from "zod";

const text = z.string().optional();

/** What tools of common agents call the thing that they work on, best first. */
const targets = z
  .looseObject({
    file_path: text,
    filePath: text,
    command: text,
    cmd: text,
    pattern: text,
    url: text,
    query: text,
    path: text,
    dir_path: text,
    description: text,
  })
  .catch({});

const patchedFile = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;

/** One line for a tool call: the tool, and the file, command or pattern that it works on. */
export function titleOf(tool: string, input: unknown): string {
  const found = targets.parse(input);
  const command = found.command ?? found.cmd ?? "";
  const patched = [...command.matchAll(patchedFile)].map(([, file]) => file);
  const target =
    found.file_path ??
    found.filePath ??
    (patched.length > 0 ? patched.join(", ") : undefined) ??
    found.command ??
    found.cmd ??
    found.pattern ??
    found.url ??
    found.query ??
    found.path ??
    found.dir_path ??
    found.description ??
    "";
  return target === "" ? tool : `${tool} ${target}`;
}
