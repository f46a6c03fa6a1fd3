import fs from "node:fs";
import path from "node:path";
import ts from "typescript";

/** A text in the code of the extension, with its place. */
export interface CodeText {
  readonly text: string;
  readonly place: string;
}

/** Texts of the files that speak to a person through the editor: those that go through `vscode.l10n.t`, and the others. */
export interface CodeTexts {
  readonly localized: readonly CodeText[];
  readonly plain: readonly CodeText[];
}

/** Failures are told in the words of the command line; what they say is translated where they are shown, if ever. */
const untold = new Set(["Failure", "Error", "nothingTicked"]);

/** Reads every file below `folder` that uses the editor's API. */
export function textsBelow(folder: string): CodeTexts {
  const found: { localized: CodeText[]; plain: CodeText[] } = { localized: [], plain: [] };
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (!name.endsWith(".ts")) continue;
    const source = fs.readFileSync(path.join(folder, name), "utf8");
    if (!source.includes('import * as vscode from "vscode"')) continue;
    const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true);
    visit(file, file, found);
  }
  return found;
}

function visit(
  node: ts.Node,
  file: ts.SourceFile,
  found: { localized: CodeText[]; plain: CodeText[] },
): void {
  if (ts.isImportDeclaration(node)) return;
  const isCall = ts.isNewExpression(node) || ts.isCallExpression(node);
  if (isCall && untold.has(node.expression.getText())) return;
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  const place = `${file.fileName}:${line + 1}`;
  if (ts.isCallExpression(node) && node.expression.getText() === "vscode.l10n.t") {
    const [text, ...rest] = node.arguments;
    if (text !== undefined && ts.isStringLiteralLike(text))
      found.localized.push({ text: text.text, place });
    else found.plain.push({ text: node.getText(), place });
    for (const one of rest) visit(one, file, found);
    return;
  }
  if (ts.isStringLiteralLike(node)) found.plain.push({ text: node.text, place });
  if (ts.isTemplateExpression(node)) {
    const parts = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
    found.plain.push({ text: parts.join("X"), place });
  }
  ts.forEachChild(node, (child) => visit(child, file, found));
}

/** True for what a person would read as words: two of them, side by side. */
export function readsAsWords(text: string): boolean {
  return /[A-Za-z]{2,} [A-Za-z]{2,}/.test(text);
}
