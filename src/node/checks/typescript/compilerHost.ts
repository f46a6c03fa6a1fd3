import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import type ts from "typescript";
import type { ViewFiles } from "./viewFiles.ts";

export type Compiler = typeof ts;

/** A parsed file with the version of its text, as builders want it. */
type Versioned = ts.SourceFile & { version?: string };

/** Members that the compiler reads but does not declare. */
interface Undeclared {
  readonly hasInvalidatedResolutions: () => boolean;
  readonly useSourceOfProjectReferenceRedirect: () => boolean;
}

/** Parsed files by path, shared by the projects of one compiler whose options parse alike. */
export type ParsedFiles = Map<string, { readonly key: string; readonly file: Versioned }>;

export interface HostOptions {
  readonly compiler: Compiler;
  readonly files: ViewFiles;
  readonly parsed: ParsedFiles;
  /** Directory of the project's configuration. */
  readonly directory: string;
  /** True when a file came or went: every module name is resolved again. */
  readonly resolveAgain: boolean;
}

/** What reads configurations: the compiler's own parser over the view. */
export function configHost(
  compiler: Compiler,
  files: ViewFiles,
  directory: string,
  onFatal: (diagnostic: ts.Diagnostic) => void,
): ts.ParseConfigFileHost {
  return {
    useCaseSensitiveFileNames: compiler.sys.useCaseSensitiveFileNames,
    fileExists: (path) => files.fileExists(path),
    readFile: (path) => files.read(path)?.text,
    readDirectory: (root, extensions, excludes, includes, depth) =>
      readDirectory(compiler, files, root, extensions, excludes, includes, depth),
    getCurrentDirectory: () => directory,
    onUnRecoverableConfigFileDiagnostic: onFatal,
  };
}

/**
 * A compiler host over one view: reads through {@link ViewFiles}, follows links like the compiler (without `realpath` a pnpm
 * tree gives false errors), hands unchanged files back as the same object, and writes nothing.
 */
export function compilerHost(options: HostOptions): ts.CompilerHost & Undeclared {
  const { compiler, files, directory } = options;
  const sensitive = compiler.sys.useCaseSensitiveFileNames;
  const library = dirname(compiler.sys.getExecutingFilePath());
  const host: ts.CompilerHost & Undeclared = {
    getSourceFile: (path, languageVersion) => sourceFileOf(options, path, languageVersion),
    getDefaultLibFileName: (target) => join(library, compiler.getDefaultLibFileName(target)),
    getDefaultLibLocation: () => library,
    writeFile: () => undefined,
    getCurrentDirectory: () => directory,
    useCaseSensitiveFileNames: () => sensitive,
    getCanonicalFileName: (path) => (sensitive ? path : path.toLowerCase()),
    getNewLine: () => "\n",
    fileExists: (path) => files.fileExists(path),
    readFile: (path) => files.read(path)?.text,
    directoryExists: (path) => files.directoryExists(path),
    getDirectories: (path) => files.entries(path).directories,
    readDirectory: (root, extensions, excludes, includes, depth) =>
      readDirectory(compiler, files, root, extensions, excludes, includes, depth),
    realpath: (path) => files.realpath(path),
    createHash: (data) => createHash("sha256").update(data).digest("hex"),
    hasInvalidatedResolutions: () => options.resolveAgain,
    useSourceOfProjectReferenceRedirect: () => true,
  };
  const parsing = compiler.JSDocParsingMode as Compiler["JSDocParsingMode"] | undefined;
  if (parsing !== undefined) host.jsDocParsingMode = parsing.ParseForTypeErrors;
  return host;
}

function sourceFileOf(
  options: HostOptions,
  path: string,
  how: ts.ScriptTarget | ts.CreateSourceFileOptions,
): ts.SourceFile | undefined {
  const content = options.files.read(path);
  if (content === undefined) return undefined;
  const settings = typeof how === "object" ? how : { languageVersion: how };
  const key = [
    content.version,
    settings.languageVersion,
    settings.impliedNodeFormat ?? "",
    settings.jsDocParsingMode ?? "",
  ].join(" ");
  const known = options.parsed.get(path);
  if (known?.key === key) return known.file;
  const file: Versioned = options.compiler.createSourceFile(path, content.text, how);
  file.version = content.version;
  options.parsed.set(path, { key, file });
  return file;
}

type MatchFiles = (
  path: string,
  extensions: readonly string[] | undefined,
  excludes: readonly string[] | undefined,
  includes: readonly string[] | undefined,
  sensitive: boolean,
  directory: string,
  depth: number | undefined,
  entries: (path: string) => { files: string[]; directories: string[] },
  realpath: (path: string) => string,
) => string[];

/** Uses the compiler's own matching of `include` and `exclude`, which it exports without declaring it. */
function readDirectory(
  compiler: Compiler,
  files: ViewFiles,
  root: string,
  extensions: readonly string[] | undefined,
  excludes: readonly string[] | undefined,
  includes: readonly string[] | undefined,
  depth: number | undefined,
): string[] {
  const { matchFiles } = compiler as unknown as { readonly matchFiles?: MatchFiles };
  if (matchFiles === undefined) {
    throw new Error(`TypeScript ${compiler.version} has no matchFiles`);
  }
  return matchFiles(
    root,
    extensions,
    excludes,
    includes,
    compiler.sys.useCaseSensitiveFileNames,
    root,
    depth,
    (path) => files.entries(path),
    (path) => files.realpath(path),
  );
}
