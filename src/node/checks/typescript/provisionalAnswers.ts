import { join } from "node:path";
import { Failure } from "../../../base/errors.ts";
import type { Ending } from "../../../base/lifecycle.ts";
import type { PairAnswer, SideAnswer } from "../../../core/check/answers.ts";
import type { Diagnostic } from "../../../core/journal/entry.ts";
import type { CheckContext, EarlyAnswer } from "../checker.ts";
import { watchMemory } from "../memoryWatch.ts";
import type { ChangedInput, NativeProject } from "../workerProtocol.ts";
import { LanguageServer, type FileEvent, type OpenText } from "./languageServer.ts";

/** More edited files than these, the last ones, are left to the whole answer. */
const mostFiles = 20;

/** One generation's files. */
export interface ProvisionalRequest {
  readonly projects: readonly NativeProject[];
  readonly changed: readonly ChangedInput[];
  /** Differs when a server that runs would see other mounts than the shadow's. */
  readonly mounts: string;
  /** A project's answer for the base, by its configuration; undefined while there is none. */
  readonly base: (project: NativeProject) => SideAnswer | undefined;
}

/**
 * TypeScript 7's early answer about the files that were edited since the generation before: from its language server, which keeps
 * the program. It says nothing about the files that depend on them, so it is told as provisional, and the whole answer follows.
 * Whatever goes wrong here only means that there is none.
 */
export class ProvisionalAnswers {
  readonly #servers = new Map<string, LanguageServer>();
  readonly #told = new Map<string, { readonly key: string; readonly base: "file" | "absent" }>();
  readonly #watches = new Map<LanguageServer, Ending>();
  #mounts = "";
  #line: Promise<unknown> = Promise.resolve();
  /** A server that ended by itself, or by its memory, is not started again; after the close none is. */
  #off = false;

  /** Starts the server of each compiler that has none and lets it load a program, so that it is warm at the first edit. */
  warm(context: CheckContext, request: ProvisionalRequest): Promise<void> {
    this.#note(request.changed);
    return this.#inTurn(() => this.#warm(context, request), undefined);
  }

  async #warm(context: CheckContext, request: ProvisionalRequest): Promise<void> {
    for (const project of request.projects) {
      if (this.#servers.has(project.program)) continue;
      const server = await this.#serverOf(context, project, request.mounts);
      const first = await textsOf(context, project.first === undefined ? [] : [project.first]);
      await server?.diagnose(first);
    }
  }

  /** The edited files' diagnostics on both sides; undefined when there is nothing to say early. */
  answer(context: CheckContext, request: ProvisionalRequest): Promise<EarlyAnswer | undefined> {
    const events = this.#note(request.changed);
    return this.#inTurn(() => this.#answer(context, request, events), undefined);
  }

  async #answer(
    context: CheckContext,
    request: ProvisionalRequest,
    events: readonly FileEvent[],
  ): Promise<EarlyAnswer | undefined> {
    const recent = new Set(events.map(({ path }) => path));
    const paths: string[] = [];
    const pairs: PairAnswer[] = [];
    for (const project of request.projects) {
      const base = request.base(project);
      const server = await this.#serverOf(context, project, request.mounts);
      server?.tell(events);
      const edited = project.edited.filter((path) => recent.has(path)).slice(-mostFiles);
      if (server === undefined || edited.length === 0 || base?.status !== "checked") continue;
      const found = await server.diagnose(await textsOf(context, edited));
      if (found === undefined) continue;
      const told = new Set(found.keys());
      paths.push(...told);
      pairs.push({
        base: checked(base.diagnostics.filter(({ path }) => told.has(path))),
        shadow: checked([...found.values()].flat()),
      });
    }
    return paths.length === 0 ? undefined : { paths, pairs };
  }

  /** One after the other: a server has a file open once. A failure switches all of this off. */
  #inTurn<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    const mine = this.#line.then(work).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      this.#off = true;
      return otherwise;
    });
    this.#line = mine.catch(() => undefined);
    return mine;
  }

  /** For good: one that is just being started is ended too. */
  async close(): Promise<void> {
    this.#off = true;
    await this.#endServers();
    await this.#line;
  }

  async #endServers(): Promise<void> {
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    for (const watch of this.#watches.values()) watch.dispose();
    this.#watches.clear();
    await Promise.all(servers.map((server) => server.end()));
  }

  /** Asked again after each wait. */
  #isOff(): boolean {
    return this.#off;
  }

  /** What changed since the call before. */
  #note(changed: readonly ChangedInput[]): readonly FileEvent[] {
    const events: FileEvent[] = [];
    const now = new Map(changed.map((one) => [one.path, one]));
    for (const [path, { stamp = "", base, shadow }] of now) {
      const key = `${shadow} ${stamp}`;
      const before = this.#told.get(path)?.key;
      if (before === key) continue;
      this.#told.set(path, { key, base });
      const isNew = before === undefined ? base === "absent" : before.startsWith("absent");
      events.push({
        path,
        change: shadow === "absent" ? "deleted" : isNew ? "added" : "modified",
      });
    }
    for (const [path, { key, base }] of [...this.#told].filter(([one]) => !now.has(one))) {
      // It is as it was in the base again.
      this.#told.delete(path);
      const back = key.startsWith("absent") ? "added" : "modified";
      events.push({ path, change: base === "absent" ? "deleted" : back });
    }
    return events;
  }

  async #serverOf(
    context: CheckContext,
    { program }: NativeProject,
    mounts: string,
  ): Promise<LanguageServer | undefined> {
    if (this.#mounts !== mounts) await this.#endServers();
    this.#mounts = mounts;
    const known = this.#servers.get(program);
    this.#off ||= known?.isOver === true;
    if (this.#off || known !== undefined) return this.#off ? undefined : known;
    const { workspace, limits, paths } = context;
    const started = new LanguageServer(
      await context.sandbox.launch({
        workspace,
        fork: context.fork,
        view: "shadow",
        baseContent: context.base.directory,
        absentInBase: [],
        writes: "refused",
        argv: [program, "--lsp", "--stdio"],
        env: {},
        cwd: workspace,
        shown: [],
        scratch: join(paths.state, "checks", "typescript", "server"),
        memoryMb: limits.memoryMb,
      }),
      workspace,
    );
    if (this.#isOff()) {
      await started.end();
      return undefined;
    }
    this.#servers.set(program, started);
    this.#watches.set(
      started,
      watchMemory(started.pid, limits.memoryMb, () => void started.end()),
    );
    await started.start();
    return started;
  }
}

function checked(diagnostics: readonly Diagnostic[]): SideAnswer {
  return { status: "checked", diagnostics };
}

/** The shadow's text of files that are there. */
async function textsOf(
  context: CheckContext,
  paths: readonly string[],
): Promise<readonly OpenText[]> {
  const texts = paths.map(async (path) => {
    const bytes = await context.reader.read("shadow", path);
    return bytes === undefined ? [] : [{ path, text: Buffer.from(bytes).toString("utf8") }];
  });
  return (await Promise.all(texts)).flat();
}
