/**
 * Stands in for the desktop editor's executable: takes the arguments that @vscode/test-electron gives it, runs the suite
 * in the extension host of the browser editor with a headless browser as its window, and ends with the suite's exit code.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { startEditor, type EditorPrograms } from "./editorServer.ts";
import { openWindow, serveWindow } from "./editorWindow.ts";

/** How the launcher hands over what the desktop editor has no argument for: JSON in `$HOLDFAST_EDITOR_SHIM`. */
export interface ShimOptions {
  readonly programs: EditorPrograms;
  readonly browser: string;
  readonly screenshots: string;
  readonly install: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly deadlineMs: number;
  /**
   * The extension under development runs the suites by itself, in place of the editor's own test run: in that one the editor
   * refuses to show dialogs. The run is over when the result file is there.
   */
  readonly asPerson: boolean;
}

interface Arguments {
  readonly named: ReadonlyMap<string, string>;
  readonly folder: string;
}

function parse(argv: readonly string[]): Arguments {
  const named = new Map<string, string>();
  let folder = "";
  for (const argument of argv) {
    const match = /^--([\w-]+)(?:=(.*))?$/s.exec(argument);
    if (match === null) folder = path.resolve(argument);
    else named.set(match[1] ?? "", match[2] ?? "");
  }
  return { named, folder };
}

/** The address that opens the folder with the extension under development and starts its tests. */
function addressOf(base: string, { named, folder }: Arguments, asPerson: boolean): string {
  const remote = (name: string): string =>
    `vscode-remote://remote${path.resolve(named.get(name) ?? "")}`;
  const payload = [
    ["extensionDevelopmentPath", remote("extensionDevelopmentPath")],
    ...(asPerson ? [] : [["extensionTestsPath", remote("extensionTestsPath")]]),
    ["skipWelcome", "true"],
  ];
  const query = new URLSearchParams({ payload: JSON.stringify(payload) });
  query.set(folder.endsWith(".code-workspace") ? "workspace" : "folder", folder);
  return `${base}/?${query.toString()}`;
}

/** Copies what the suite prints to our own output while it grows. */
function follow(file: string): () => void {
  let shown = 0;
  const show = (): void => {
    const bytes = fs.readFileSync(file);
    if (bytes.length > shown) process.stdout.write(bytes.subarray(shown));
    shown = bytes.length;
  };
  const timer = setInterval(show, 200);
  return () => {
    clearInterval(timer);
    show();
  };
}

/** Tells the exit code once the suites have left their result. */
function resultIn(tell: (exitCode: number) => void): void {
  const file = process.env["HOLDFAST_HOST_RESULT"] ?? "";
  if (!fs.existsSync(file)) return;
  const { failed } = JSON.parse(fs.readFileSync(file, "utf8")) as { readonly failed: number };
  tell(failed > 0 ? 1 : 0);
}

/** The exit code that the editor's test driver reports; fails when the page crashes or the deadline passes. */
async function exitCodeFrom(
  page: Page,
  { deadlineMs, asPerson }: ShimOptions,
  start: () => Promise<void>,
): Promise<number> {
  await page.exposeFunction("codeAutomationLog", () => undefined);
  let timer: NodeJS.Timeout | undefined;
  let poll: NodeJS.Timeout | undefined;
  const ended = new Promise<number>((resolve, reject) => {
    page.once("crash", () => reject(new Error("the browser page crashed")));
    timer = setTimeout(() => reject(new Error(`no result after ${deadlineMs} ms`)), deadlineMs);
    page.exposeFunction("codeAutomationExit", resolve).then(start).catch(reject);
    if (asPerson) poll = setInterval(() => resultIn(resolve), 500);
  });
  return ended.finally(() => {
    clearTimeout(timer);
    clearInterval(poll);
  });
}

async function main(onEnd: (ending: () => unknown) => void): Promise<number> {
  const options = JSON.parse(process.env["HOLDFAST_EDITOR_SHIM"] ?? "null") as ShimOptions;
  const parsed = parse(process.argv.slice(2));
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-editor-"));
  onEnd(() => fs.promises.rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const output = process.env["HOLDFAST_HOST_OUTPUT"] ?? path.join(home, "output");
  fs.writeFileSync(output, "");
  const socket = path.join(home, "window.sock");
  const editor = await startEditor({
    programs: options.programs,
    home,
    settings: options.settings,
    install: options.install,
    env: { HOLDFAST_WINDOW_SOCK: socket },
  });
  onEnd(() => editor.stop());
  const window = await openWindow(options.browser);
  onEnd(() => window.close());
  const { page } = window;
  const server = await serveWindow(page, socket, options.screenshots);
  onEnd(() => server.close());
  onEnd(follow(output));
  try {
    return await exitCodeFrom(page, options, async () => {
      await page.goto(addressOf(editor.url, parsed, options.asPerson));
    });
  } catch (error) {
    fs.mkdirSync(options.screenshots, { recursive: true });
    await page.screenshot({ path: path.join(options.screenshots, "failed.png") });
    throw error;
  }
}

const endings: (() => unknown)[] = [];
try {
  process.exitCode = await main((ending) => endings.unshift(ending));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  for (const end of endings) await end();
}
