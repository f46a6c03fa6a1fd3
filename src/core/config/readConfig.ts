import {
  findNodeAtLocation,
  type Node,
  parseTree,
  type ParseError,
  printParseErrorCode,
} from "jsonc-parser";
import type { z } from "zod";

/** One thing that is wrong with a file that a person wrote; line and column count from 1. */
export interface ConfigProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Adds a problem at a character of the text, counted from 0. */
export type ReportProblem = (offset: number, message: string) => void;

/** A file as read: `found` where it has the schema's shape. `report` adds to `problems`. */
export interface ConfigDocument<T> {
  readonly found?: { readonly value: T; readonly tree: Node; readonly text: string };
  readonly problems: readonly ConfigProblem[];
  readonly report: ReportProblem;
}

/** Reads JSON with comments and trailing commas, and tells everything that is wrong with it by its place. */
export function readConfig<T>(text: string, file: string, schema: z.ZodType<T>): ConfigDocument<T> {
  const problems: ConfigProblem[] = [];
  const report: ReportProblem = (offset, message) => {
    problems.push({ file, ...positionOf(text, offset), message });
  };
  const errors: ParseError[] = [];
  const source = text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
  const tree = parseTree(source, errors, { allowTrailingComma: true });
  for (const error of errors) report(error.offset, syntaxMessage(error));
  if (tree === undefined || errors.length > 0) {
    if (errors.length === 0) report(0, "the file is empty");
    return { problems, report };
  }
  reportRepeatedKeys(tree, report);
  const checked = schema.safeParse(valueOf(tree));
  if (!checked.success) {
    for (const issue of checked.error.issues) reportIssue(issue, tree, report);
    return { problems, report };
  }
  return { found: { value: checked.data, tree, text: source }, problems, report };
}

function reportIssue(issue: z.core.$ZodIssue, tree: Node, report: ReportProblem): void {
  const path = issue.path.filter((one) => typeof one !== "symbol");
  if (issue.code === "unrecognized_keys") {
    for (const key of issue.keys) {
      const node = findNodeAtLocation(tree, [...path, key]);
      report(node?.parent?.offset ?? tree.offset, `${whereOf(path)}unknown key "${key}"`);
    }
    return;
  }
  if (issue.code === "invalid_key") {
    const node = findNodeAtLocation(tree, path)?.parent ?? nearestNode(tree, path);
    const why = issue.issues.map(({ message }) => message).join("; ");
    report(node.offset, `${whereOf(path)}${why}`);
    return;
  }
  if (issue.code === "invalid_union") {
    const deepest = issue.errors
      .flat()
      .reduce<z.core.$ZodIssue | undefined>(
        (best, one) => (best === undefined || one.path.length > best.path.length ? one : best),
        undefined,
      );
    const custom = issue.errors.flat().find((one) => one.code === "invalid_format") ?? deepest;
    if (custom !== undefined) {
      reportIssue({ ...custom, path: [...issue.path, ...custom.path] }, tree, report);
      return;
    }
  }
  report(nearestNode(tree, path).offset, `${whereOf(path)}${issue.message}`);
}

/** The node at a path, or the closest one above it that exists. */
function nearestNode(tree: Node, path: readonly (string | number)[]): Node {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node !== undefined) return node;
  }
  return tree;
}

function whereOf(path: readonly (string | number)[]): string {
  const text = path.map((one) => (typeof one === "number" ? `[${one}]` : `.${one}`)).join("");
  return text === "" ? "" : `${text.replace(/^\./, "")}: `;
}

/** The second of two equal keys silently wins in JSON: here it is a mistake. */
function reportRepeatedKeys(node: Node, report: ReportProblem): void {
  const seen = new Set<unknown>();
  for (const child of node.children ?? []) {
    const key = child.type === "property" ? child.children?.[0] : undefined;
    if (key !== undefined) {
      if (seen.has(key.value)) report(key.offset, `the key "${String(key.value)}" stands twice`);
      seen.add(key.value);
    }
    reportRepeatedKeys(child, report);
  }
}

/** The plain value of a tree; built by hand so that `__proto__` is a key like any other. */
function valueOf(node: Node): unknown {
  if (node.type === "array") return (node.children ?? []).map(valueOf);
  if (node.type !== "object") return node.value as unknown;
  const made: Record<string, unknown> = {};
  for (const property of node.children ?? []) {
    const [key, value] = property.children ?? [];
    if (key === undefined || value === undefined) continue;
    Object.defineProperty(made, String(key.value), {
      value: valueOf(value),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return made;
}

function syntaxMessage(error: ParseError): string {
  const words = printParseErrorCode(error.error).replaceAll(/([a-z])([A-Z])/g, "$1 $2");
  return `not valid JSON: ${words.toLowerCase()}`;
}

function positionOf(
  text: string,
  offset: number,
): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const lines = before.split(/\r\n|\r|\n/);
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
}
