import path from "node:path";
import ts from "typescript";
import { readRepositoryFile } from "./repository.ts";

/** One import or re-export of a module, type-only ones included. */
export interface ImportEdge {
  readonly from: string;
  /** Repository path of a relative import, otherwise the package's or built-in module's name. */
  readonly to: string;
  readonly typeOnly: boolean;
  readonly reExport: boolean;
  /** Loaded when it is asked for, not with the module. */
  readonly late: boolean;
}

export interface ModuleFacts {
  readonly edges: readonly ImportEdge[];
  readonly defaultExport: boolean;
  /** True when the file only passes on what other files export. */
  readonly barrel: boolean;
}

/** What a TypeScript file imports and how it exports, from its syntax alone. */
export function moduleFacts(file: string): ModuleFacts {
  const source = ts.createSourceFile(file, readRepositoryFile(file), ts.ScriptTarget.Latest, true);
  const edges: ImportEdge[] = [];
  const add = (specifier: string, typeOnly: boolean, reExport: boolean, late = false): void => {
    const to = specifier.startsWith(".")
      ? path.posix.join(path.posix.dirname(file), specifier)
      : specifier;
    edges.push({ from: file, to, typeOnly, reExport, late });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier))
      add(node.moduleSpecifier.text, isTypeOnly(node.importClause), false);
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined)
      add((node.moduleSpecifier as ts.StringLiteral).text, node.isTypeOnly, true);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add((node.argument.literal as ts.StringLiteral).text, true, false);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument !== undefined && ts.isStringLiteral(argument))
        add(argument.text, false, false, true);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const { statements } = source;
  return {
    edges,
    defaultExport: statements.some(isDefaultExport),
    barrel: statements.length > 0 && statements.every(ts.isExportDeclaration),
  };
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const bindings = clause.namedBindings;
  return (
    clause.name === undefined &&
    bindings !== undefined &&
    ts.isNamedImports(bindings) &&
    bindings.elements.length > 0 &&
    bindings.elements.every((element) => element.isTypeOnly)
  );
}

function isDefaultExport(statement: ts.Statement): boolean {
  if (ts.isExportAssignment(statement)) return true;
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)
  );
}

/** The first cycle found among `edges`, as the files on it, first one repeated at the end. */
export function findCycle(edges: readonly ImportEdge[]): readonly string[] | undefined {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const trail: string[] = [];
  const walk = (file: string): readonly string[] | undefined => {
    const seenAt = trail.indexOf(file);
    if (seenAt >= 0) return [...trail.slice(seenAt), file];
    if (done.has(file)) return undefined;
    trail.push(file);
    for (const to of next.get(file) ?? []) {
      const cycle = walk(to);
      if (cycle !== undefined) return cycle;
    }
    trail.pop();
    done.add(file);
    return undefined;
  };
  for (const file of next.keys()) {
    const cycle = walk(file);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
