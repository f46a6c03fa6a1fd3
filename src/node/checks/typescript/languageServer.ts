import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { parseJson } from "../../../base/jsonl.ts";
import { withoutWorkspace } from "../../../core/check/diagnosticIdentity.ts";
import type { Diagnostic } from "../../../core/journal/entry.ts";
import type { CheckProcess } from "../checkSandbox.ts";
import { frameOf, MessageFrames } from "./messageFrames.ts";

/** A file as it stands in the shadow now. */
export interface OpenText {
  /** Relative to the workspace. */
  readonly path: string;
  readonly text: string;
}

/** What happened to a file since the server was last told. */
export interface FileEvent {
  readonly path: string;
  readonly change: "added" | "modified" | "deleted";
}

const fileEventTypes: Readonly<Record<FileEvent["change"], number>> = {
  added: 1,
  modified: 2,
  deleted: 3,
};

const response = z.object({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

const position = z.object({ line: z.int().min(0), character: z.int().min(0) });

const report = z.object({
  items: z.array(
    z.object({
      range: z.object({ start: position }),
      severity: z.number().optional(),
      code: z.union([z.number(), z.string()]).optional(),
      message: z.string(),
    }),
  ),
});

/** The server's own numbers: 3 and 4 are hints. */
const severities = new Map<number | undefined, Diagnostic["severity"]>([
  [undefined, "error"],
  [1, "error"],
  [2, "warning"],
]);

type Settle = (result: unknown) => void;

/**
 * The language server of TypeScript 7 in the check's sandbox, asked for the diagnostics of single files. It runs code of the
 * workspace, so every answer is validated; after the first that is none the server is given up and `undefined` is all it says.
 */
export class LanguageServer {
  readonly #process: CheckProcess;
  readonly #workspace: string;
  readonly #frames = new MessageFrames();
  readonly #waiting = new Map<number, Settle>();
  #nextId = 1;
  #over = false;

  constructor(process: CheckProcess, workspace: string) {
    this.#process = process;
    this.#workspace = workspace;
    process.stdout.on("data", (bytes: Buffer) => this.#take(bytes));
    process.stderr.resume();
    void process.exited.then(() => this.#giveUp());
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** The first process of its sandbox. */
  get pid(): number {
    return this.#process.pid;
  }

  async start(): Promise<void> {
    const uri = this.#uri("");
    await this.#request("initialize", {
      processId: null,
      rootUri: uri,
      workspaceFolders: [{ uri, name: "workspace" }],
      capabilities: { textDocument: { diagnostic: {} } },
    });
    this.#notify("initialized", {});
  }

  /** It sees only the changes on disk that it is told. */
  tell(events: readonly FileEvent[]): void {
    if (events.length === 0) return;
    const changes = events.map(({ path, change }) => ({
      uri: this.#uri(path),
      type: fileEventTypes[change],
    }));
    this.#notify("workspace/didChangeWatchedFiles", { changes });
  }

  /** Diagnostics of files by path; undefined when the server has none to give. */
  async diagnose(
    files: readonly OpenText[],
  ): Promise<ReadonlyMap<string, readonly Diagnostic[]> | undefined> {
    for (const { path, text } of files) {
      const textDocument = { uri: this.#uri(path), languageId: languageOf(path), version: 1, text };
      this.#notify("textDocument/didOpen", { textDocument });
    }
    const answers = await Promise.all(
      files.map(async ({ path }) => {
        const textDocument = { uri: this.#uri(path) };
        return [path, await this.#request("textDocument/diagnostic", { textDocument })] as const;
      }),
    );
    for (const { path } of files) {
      this.#notify("textDocument/didClose", { textDocument: { uri: this.#uri(path) } });
    }
    const found = new Map<string, readonly Diagnostic[]>();
    for (const [path, answer] of answers) {
      const parsed = report.safeParse(answer);
      if (!parsed.success) return undefined;
      found.set(path, this.#convert(path, parsed.data.items));
    }
    return found;
  }

  async end(): Promise<void> {
    this.#giveUp();
    await this.#process.exited;
  }

  #convert(path: string, items: z.output<typeof report>["items"]): readonly Diagnostic[] {
    return items.flatMap(({ range, severity, code, message }) => {
      const known = severities.get(severity);
      if (known === undefined) return [];
      return {
        path,
        line: range.start.line + 1,
        column: range.start.character + 1,
        code: `TS${code ?? ""}`,
        message: withoutWorkspace(message, this.#workspace),
        severity: known,
      };
    });
  }

  #uri(path: string): string {
    return pathToFileURL(join(this.#workspace, path)).href;
  }

  #request(method: string, params: object): Promise<unknown> {
    if (this.#over) return Promise.resolve(undefined);
    const id = this.#nextId++;
    const answer = new Promise<unknown>((resolve) => this.#waiting.set(id, resolve));
    this.#process.stdin.write(frameOf({ id, method, params }));
    return answer;
  }

  #notify(method: string, params: object): void {
    if (!this.#over) this.#process.stdin.write(frameOf({ method, params }));
  }

  #take(bytes: Buffer): void {
    if (this.#over) return;
    let messages: readonly string[];
    try {
      messages = this.#frames.push(bytes);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#giveUp();
      return;
    }
    for (const message of messages) this.#handle(message);
  }

  #handle(message: string): void {
    const parsed = response.safeParse(parseJson(message));
    if (!parsed.success) {
      this.#giveUp();
      return;
    }
    const { id, method, result, error } = parsed.data;
    if (id === undefined) return;
    if (method !== undefined) {
      // What it asks of an editor (settings, progress) there is none of here.
      this.#process.stdin.write(frameOf({ id, result: null }));
      return;
    }
    const settle = this.#waiting.get(Number(id));
    this.#waiting.delete(Number(id));
    settle?.(error === undefined ? result : undefined);
  }

  #giveUp(): void {
    if (this.#over) return;
    this.#over = true;
    for (const settle of this.#waiting.values()) settle(undefined);
    this.#waiting.clear();
    this.#process.kill();
  }
}

function languageOf(path: string): string {
  if (path.endsWith("x")) return /\.tsx$/.test(path) ? "typescriptreact" : "javascriptreact";
  return /\.[cm]?ts$/.test(path) ? "typescript" : "javascript";
}
