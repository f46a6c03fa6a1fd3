// Turns src/**/*.ts into build/**/*.js without checking types: `npm run types` does that.
import fs from "node:fs";
import path from "node:path";
import ts from "typescript";

const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
for (const name of fs.readdirSync("src", { recursive: true })) {
  if (!name.endsWith(".ts")) continue;
  const target = path.join("build", name.replace(/\.ts$/, ".js"));
  const source = fs.readFileSync(path.join("src", name), "utf8");
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(target, ts.transpileModule(source, { compilerOptions: options }).outputText);
}
