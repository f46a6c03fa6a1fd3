import { dirname, relative } from "node:path";
import type ts from "typescript";
import type { Diagnostic } from "../../../core/journal/entry.ts";
import type { ViewAnswer } from "../workerProtocol.ts";
import { compilerHost, configHost, type Compiler, type ParsedFiles } from "./compilerHost.ts";
import type { ViewFiles } from "./viewFiles.ts";

/** What the projects of one worker share. */
export interface ProjectWorld {
  readonly workspace: string;
  readonly files: ViewFiles;
  /** Parsed files for options that parse alike; see {@link ParsedFiles}. */
  parsedFor(compiler: Compiler, key: string): ParsedFiles;
}

/** Options that say where output goes, not what a file means: projects that differ in nothing else share parsed files. */
const placeOptions = new Set([
  "outDir",
  "outFile",
  "rootDir",
  "declarationDir",
  "tsBuildInfoFile",
  "configFilePath",
  "configFile",
  "pathsBasePath",
]);

/**
 * One configuration kept warm: a builder that goes from base to shadow and on to later shadows, and never writes. Answers
 * are whole: all diagnostics that `tsc --noEmit` of the same compiler prints for the view, by the same steps.
 *
 * A step keeps what the builder knows of unaffected files, except when a file that augments another module changes:
 * its effect on files that do not import it is beyond what builders track, so all is checked again.
 */
export class Project {
  readonly config: string;
  readonly compiler: Compiler;
  readonly #world: ProjectWorld;
  #builder: ts.SemanticDiagnosticsBuilderProgram | undefined;
  #last: { readonly inputs: string; readonly answer: ViewAnswer } | undefined;
  #existing = "";

  constructor(world: ProjectWorld, compiler: Compiler, config: string) {
    this.#world = world;
    this.compiler = compiler;
    this.config = config;
  }

  /** Frees the builder; the next run is a cold one. */
  cool(): void {
    this.#builder = undefined;
    this.#last = undefined;
  }

  get isWarm(): boolean {
    return this.#builder !== undefined;
  }

  /** Checks the view that the files show now. `existing` names the set of files that came or went in it. */
  run(existing: string): ViewAnswer {
    const { files } = this.#world;
    if (!files.fileExists(this.config)) return { status: "absent", diagnostics: [] };
    const fatal: ts.Diagnostic[] = [];
    const host = configHost(this.compiler, files, dirname(this.config), (d) => fatal.push(d));
    const command = this.compiler.getParsedCommandLineOfConfigFile(
      this.config,
      { noEmit: true },
      host,
    );
    if (command === undefined) return this.#hidden(fatal);
    const inputs = this.#inputsOf(command);
    if (this.#last !== undefined && this.#existing === existing && this.#last.inputs === inputs) {
      return this.#last.answer;
    }
    const resolveAgain = this.#existing !== existing;
    this.#existing = existing;
    const builder = this.#build(command, resolveAgain);
    const answer = this.#answer(builder);
    this.#last = { inputs: this.#inputsOf(command), answer };
    return answer;
  }

  #build(
    command: ts.ParsedCommandLine,
    resolveAgain: boolean,
  ): ts.SemanticDiagnosticsBuilderProgram {
    const { compiler } = this;
    const key = optionsKey(command.options);
    const parsed = this.#world.parsedFor(compiler, key);
    const host = compilerHost({
      compiler,
      files: this.#world.files,
      parsed,
      directory: dirname(this.config),
      resolveAgain,
    });
    const old = this.#builder;
    this.#builder = undefined;
    const oldProgram = old?.getProgram();
    const references = command.projectReferences;
    const program = compiler.createProgram({
      rootNames: command.fileNames,
      options: command.options,
      host,
      configFileParsingDiagnostics: command.errors,
      ...(references === undefined ? {} : { projectReferences: references }),
      ...(oldProgram === undefined ? {} : { oldProgram }),
    });
    const keep = oldProgram !== undefined && !augmentationChanged(oldProgram, program);
    this.#builder = compiler.createSemanticDiagnosticsBuilderProgram(
      program,
      host,
      keep ? old : this.#emptyBuilder(command.options, host),
      command.errors,
    );
    return this.#builder;
  }

  /**
   * A builder over nothing to start from. One that starts from no builder names the shape of a file by its text, so that the first
   * edit of any file, be it only inside a function, checks all dependents again; one that starts from this computes shapes.
   */
  #emptyBuilder(
    options: ts.CompilerOptions,
    host: ts.CompilerHost,
  ): ts.SemanticDiagnosticsBuilderProgram {
    const program = this.compiler.createProgram({ rootNames: [], options, host });
    return this.compiler.createSemanticDiagnosticsBuilderProgram(program, host, undefined, []);
  }

  /** The steps of the compiler's own command: what comes first hides what comes later. */
  #answer(builder: ts.SemanticDiagnosticsBuilderProgram): ViewAnswer {
    const config = builder.getConfigFileParsingDiagnostics();
    const syntax = builder.getSyntacticDiagnostics();
    if (syntax.length > 0) return this.#hidden([...config, ...syntax]);
    const options = [...builder.getOptionsDiagnostics(), ...builder.getGlobalDiagnostics()];
    if (config.length + options.length > 0) return this.#hidden([...config, ...options]);
    // The whole program: the next-affected-file walk misses dependents under isolatedModules.
    const semantic = builder.getSemanticDiagnostics();
    const found = semantic.length > 0 ? semantic : this.#declarationDiagnostics(builder);
    return { status: "checked", diagnostics: this.#convert(found) };
  }

  #declarationDiagnostics(builder: ts.SemanticDiagnosticsBuilderProgram): readonly ts.Diagnostic[] {
    const options = builder.getCompilerOptions();
    if (options.declaration !== true && options.composite !== true) return [];
    return builder.getDeclarationDiagnostics();
  }

  #hidden(diagnostics: readonly ts.Diagnostic[]): ViewAnswer {
    const converted = this.#convert(diagnostics);
    const first = converted[0];
    const reason =
      first === undefined
        ? `${relative(this.#world.workspace, this.config)} cannot be read`
        : `${first.path}:${first.line}: ${first.code}: ${first.message.split("\n")[0] ?? ""}`;
    return { status: "hidden", reason, diagnostics: converted };
  }

  #convert(diagnostics: readonly ts.Diagnostic[]): Diagnostic[] {
    const { compiler } = this;
    const { workspace } = this.#world;
    const prefix = `${workspace}/`;
    return compiler.sortAndDeduplicateDiagnostics(diagnostics).flatMap((diagnostic) => {
      const { category, file, start } = diagnostic;
      const error = category === compiler.DiagnosticCategory.Error;
      if (!error && category !== compiler.DiagnosticCategory.Warning) return [];
      const place =
        file === undefined || start === undefined
          ? { line: 0, character: 0 }
          : compiler.getLineAndCharacterOfPosition(file, start);
      const text = compiler.flattenDiagnosticMessageText(diagnostic.messageText, "\n");
      return {
        path: relative(workspace, file?.fileName ?? this.config),
        line: place.line + 1,
        column: place.character + 1,
        code: `TS${diagnostic.code}`,
        message: text.split(prefix).join(""),
        severity: error ? ("error" as const) : ("warning" as const),
      };
    });
  }

  /** Names everything that the last program was made of, as it is now. */
  #inputsOf(command: ts.ParsedCommandLine): string {
    const program = this.#builder?.getProgram();
    if (program === undefined) return "";
    const versions = program
      .getSourceFiles()
      .map((file) => this.#world.files.read(file.fileName)?.version ?? "-");
    const references = (program.getResolvedProjectReferences() ?? []).map((reference) =>
      reference === undefined
        ? "-"
        : (this.#world.files.read(reference.sourceFile.fileName)?.version ?? "-"),
    );
    const options = { ...command.options, configFile: undefined };
    const errors = [...command.errors].map((error) => error.code);
    return JSON.stringify([command.fileNames, options, errors, references, versions]);
  }
}

/** Everything in the options but places, in a stable order. */
function optionsKey(options: ts.CompilerOptions): string {
  const entries = Object.entries(options).filter(([name]) => !placeOptions.has(name));
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Augmenting {
  readonly moduleAugmentations?: readonly unknown[];
}

/** Says whether a file that augments a module came, went or changed between two programs. */
function augmentationChanged(old: ts.Program, now: ts.Program): boolean {
  const augments = (file: ts.SourceFile): boolean =>
    ((file as Augmenting).moduleAugmentations?.length ?? 0) > 0;
  return (
    now.getSourceFiles().some((f) => augments(f) && old.getSourceFile(f.fileName) !== f) ||
    old.getSourceFiles().some((f) => augments(f) && now.getSourceFile(f.fileName) !== f)
  );
}
