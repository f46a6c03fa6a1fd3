import { statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { getHeapStatistics } from "node:v8";
import type ts from "typescript";
import {
  type NativeProject,
  type ProjectAnswer,
  type ViewAnswer,
  type WorkerAnswer,
  type WorkerRequest,
} from "../workerProtocol.ts";
import { configHost, type Compiler, type ParsedFiles } from "./compilerHost.ts";
import { Compilers } from "./compilers.ts";
import { discoverProjects, member, type ProjectGraph } from "./discovery.ts";
import { Project, type ProjectWorld } from "./project.ts";
import { ViewFiles, type BaseFile, type View } from "./viewFiles.ts";
import { parseJson } from "../../../base/jsonl.ts";

export interface SessionOptions {
  readonly workspace: string;
  /** Directory with the base content of changed files. */
  readonly base: string;
  /** The file typescript.js of the bundled compiler. */
  readonly bundled: string;
  /** False: nothing is kept warm, so that memory is never more than one project needs. */
  readonly keep: boolean;
}

/** The share of the heap limit from which builders that are not in use are let go. */
const heapShare = 0.6;

/** Files that package managers write last: when they change, dependencies did. */
const installMarkers = [
  "node_modules/.package-lock.json",
  "node_modules/.modules.yaml",
  "node_modules/.yarn-state.yml",
  "node_modules/.yarn-integrity",
];

interface Tracked {
  readonly project: Project;
  base: ViewAnswer | undefined;
  /** Set once no later change can show that the base run saw something else than the base. */
  final: boolean;
}

/** All TypeScript projects of one workspace, kept warm over the generations of one shadow. */
export class Session implements ProjectWorld {
  readonly workspace: string;
  readonly files = new ViewFiles();
  readonly #options: SessionOptions;
  readonly #compilers: Compilers;
  readonly #parsed = new Map<Compiler, Map<string, ParsedFiles>>();
  readonly #tracked = new Map<string, Tracked>();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.workspace = options.workspace;
    this.#compilers = new Compilers(options.workspace, options.bundled);
  }

  parsedFor(compiler: Compiler, key: string): ParsedFiles {
    let byKey = this.#parsed.get(compiler);
    if (byKey === undefined) this.#parsed.set(compiler, (byKey = new Map<string, ParsedFiles>()));
    let parsed = byKey.get(key);
    if (parsed === undefined) byKey.set(key, (parsed = new Map() as ParsedFiles));
    return parsed;
  }

  /** Answers for base and shadow of every project; `replaced` when only a new process can answer. */
  check(request: WorkerRequest): WorkerAnswer | "replaced" {
    if (request.parse !== undefined) return this.#parse(request, request.parse);
    if (this.#compilers.replaced) return "replaced";
    const { files } = this;
    files.show("shadow");
    files.begin(this.#changedMap(request));
    this.#settleBases();
    files.beginBase();
    const projects: ProjectAnswer[] = [];
    const native: NativeProject[] = [];
    const bundledFor: string[] = [];
    const graph = this.#discover(request);
    const referenced = new Set([...graph.values()].flat());
    for (const [config, references] of graph) {
      const name = relative(this.workspace, config);
      const found = this.#compilers.forProject(dirname(config));
      if (found.type === "program") {
        native.push({
          config: name,
          program: found.program,
          version: found.version,
          references: references.length > 0,
          referenced: referenced.has(config),
          ...this.#namedFiles(config, request),
        });
        continue;
      }
      if (found.bundled) bundledFor.push(name);
      const tracked = this.#track(config, found.compiler);
      projects.push(this.#checkOne(tracked, name, request));
      this.#limitHeap(tracked);
    }
    return {
      id: request.id,
      projects,
      native,
      globalInputs: native.length === 0 ? "" : this.#globalInputs(request),
      broken: [],
      notes: this.#notes(bundledFor),
    };
  }

  #changedMap(request: WorkerRequest): ReadonlyMap<string, BaseFile> {
    return new Map(
      request.changed.map((change) => [
        join(this.workspace, change.path),
        change.base === "absent" ? "absent" : { at: join(this.#options.base, change.path) },
      ]),
    );
  }

  /** The changes known now tell whether the agent wrote while the last base runs read. */
  #settleBases(): void {
    const holds = this.files.baseHolds();
    for (const tracked of this.#tracked.values()) {
      if (tracked.final || tracked.base === undefined) continue;
      if (holds) tracked.final = true;
      else tracked.base = undefined;
    }
  }

  #discover(request: WorkerRequest): ProjectGraph {
    const changed = request.changed.map((change) => join(this.workspace, change.path));
    const found = new Map<string, readonly string[]>();
    for (const view of ["base", "shadow"] as const) {
      this.files.show(view);
      const { bundled } = this.#compilers;
      for (const [config, references] of discoverProjects(
        bundled,
        this.files,
        this.workspace,
        changed,
      )) {
        found.set(config, references);
      }
    }
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Of the files that a configuration names in the shadow: the first, and those that differ from the base. */
  #namedFiles(config: string, request: WorkerRequest): Pick<NativeProject, "first" | "edited"> {
    this.files.show("shadow");
    const { bundled } = this.#compilers;
    const host = configHost(bundled, this.files, dirname(config), () => undefined);
    const command = bundled.getParsedCommandLineOfConfigFile(config, { noEmit: true }, host);
    const names = new Set(command?.fileNames);
    const [first] = names;
    return {
      ...(first === undefined ? {} : { first: relative(this.workspace, first) }),
      edited: request.changed
        .map(({ path }) => path)
        .filter((path) => names.has(join(this.workspace, path))),
    };
  }

  #globalInputs(request: WorkerRequest): string {
    const paths = request.changed.map((change) => change.path).filter((p) => source.test(p));
    const named = paths.flatMap((path) =>
      (["base", "shadow"] as const).map((view) => {
        const [file, version] = this.#parsedFile(view, path);
        return file !== undefined && reachesFar(file) ? `${path} ${view} ${version}` : "";
      }),
    );
    return named.filter((name) => name !== "").join("\n");
  }

  #parse(request: WorkerRequest, parse: NonNullable<WorkerRequest["parse"]>): WorkerAnswer {
    this.files.begin(this.#changedMap(request));
    const broken = parse.paths.filter((path) => {
      const [file] = source.test(path) ? this.#parsedFile(parse.view, path) : [];
      return ((file as Parsed | undefined)?.parseDiagnostics?.length ?? 0) > 0;
    });
    return { id: request.id, projects: [], native: [], globalInputs: "", broken, notes: [] };
  }

  #parsedFile(view: View, path: string): readonly [ts.SourceFile | undefined, string] {
    this.files.show(view);
    const at = join(this.workspace, path);
    const content = this.files.read(at);
    this.files.show("shadow");
    if (content === undefined) return [undefined, ""];
    const { bundled } = this.#compilers;
    const file = bundled.createSourceFile(at, content.text, bundled.ScriptTarget.Latest);
    return [file, content.version];
  }

  #track(config: string, compiler: Compiler): Tracked {
    const known = this.#tracked.get(config);
    if (known?.project.compiler === compiler) return known;
    const tracked = { project: new Project(this, compiler, config), base: undefined, final: false };
    this.#tracked.set(config, tracked);
    return tracked;
  }

  #checkOne(tracked: Tracked, name: string, request: WorkerRequest): ProjectAnswer {
    const { project } = tracked;
    const known = request.knownBase.includes(name);
    if (!known && tracked.base === undefined) {
      this.files.show("base");
      tracked.base = project.run(this.#existing("base", request));
      tracked.final = false;
    }
    this.files.show("shadow");
    const shadow = project.run(this.#existing("shadow", request));
    return {
      config: name,
      compiler: project.compiler.version,
      ...(known || tracked.base === undefined ? {} : { base: tracked.base }),
      baseFinal: known || tracked.final,
      shadow,
    };
  }

  /** Names which files came or went, and what else decides how module names resolve. */
  #existing(view: View, request: WorkerRequest): string {
    const markers = installMarkers.map((marker) => {
      const path = join(this.workspace, marker);
      return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    });
    if (view === "base") return JSON.stringify([markers, []]);
    const moved = request.changed.flatMap((change) => {
      if (change.base !== change.shadow) return [change.path];
      if (!change.path.endsWith("package.json")) return [];
      return [change.path, this.files.read(join(this.workspace, change.path))?.version ?? ""];
    });
    return JSON.stringify([markers, moved]);
  }

  #limitHeap(inUse: Tracked): void {
    if (!this.#options.keep) inUse.project.cool();
    const heap = getHeapStatistics();
    const roomy = heap.used_heap_size < heap.heap_size_limit * heapShare;
    if (this.#options.keep && roomy) return;
    for (const tracked of this.#tracked.values()) {
      if (tracked !== inUse) tracked.project.cool();
    }
    this.#parsed.clear();
  }

  #notes(bundledFor: readonly string[]): string[] {
    const notes: string[] = [];
    if (bundledFor.length > 0) {
      const { version } = this.#compilers.bundled;
      notes.push(
        `checked with the bundled TypeScript ${version}: the workspace has none installed`,
      );
    }
    const manifest = parseJson(this.files.read(join(this.workspace, "package.json"))?.text ?? "");
    for (const [dependency, files] of foreignFiles) {
      const used = ["dependencies", "devDependencies"].some(
        (list) => member(member(manifest, list), dependency) !== undefined,
      );
      if (used) notes.push(`${files} files are not type-checked`);
    }
    return notes;
  }
}

const source = /\.[cm]?[jt]sx?$/;

/** Members of a parsed file that are not declared. */
interface Parsed {
  readonly parseDiagnostics?: readonly unknown[];
  readonly externalModuleIndicator?: unknown;
}

/** Scripts and augmentations change what files see that do not import them. */
function reachesFar(file: ts.SourceFile): boolean {
  return (
    (file as Parsed).externalModuleIndicator === undefined ||
    /\bdeclare\s+(?:global|module)\b/.test(file.text)
  );
}

/** Frameworks whose files only their own compilers can check. */
const foreignFiles = [
  ["vue", ".vue"],
  ["svelte", ".svelte"],
  ["astro", ".astro"],
] as const;
