import fs from "node:fs";
import path from "node:path";
import ts from "typescript";

/** Calls that give something that must be ended. */
const makers =
  /^vscode\.\w+\.(register\w+|create(OutputChannel|StatusBarItem|TreeView|DiagnosticCollection|TextEditorDecorationType|FileSystemWatcher|InputBox|QuickPick))$|\.(onDid\w+|onChange|onCancellationRequested)$/;

/** Ended where they are made, by other means than a store. */
const endedByHand: readonly RegExp[] = [
  // An input's listeners go with the input, which ends itself when it is answered.
  /^startQuestions\.ts:\d+ (input\.onDid|vscode\.window\.createInputBox)/,
  // In a `finally`.
  /^startCommands\.ts:\d+ token\.onCancellationRequested/,
];

/** Places below `folder` where something is made that no store owns: `file:line call`. Reads `sources` in place of the files. */
export function unregisteredIn(
  folder: string,
  sources: ReadonlyMap<string, string> = readSources(folder),
): readonly string[] {
  const found: string[] = [];
  for (const [name, text] of sources) {
    const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && makers.test(node.expression.getText()) && !isOwned(node)) {
        const { line } = file.getLineAndCharacterOfPosition(node.getStart());
        found.push(`${path.basename(name)}:${line + 1} ${node.expression.getText()}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return found.filter((one) => !endedByHand.some((known) => known.test(one)));
}

/** An argument of a store's `add`. */
function isOwned(node: ts.Node): boolean {
  const { parent } = node;
  return ts.isCallExpression(parent) && /\.add$/.test(parent.expression.getText());
}

function readSources(folder: string): ReadonlyMap<string, string> {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return new Map(
    names
      .filter((name) => name.endsWith(".ts"))
      .map((name) => [name, fs.readFileSync(path.join(folder, name), "utf8")]),
  );
}
