import { execFileSync } from "node:child_process";

/** Nests folders named `d` in the current one, by relative names as no path reaches them, with a file in the last. */
export const nestScript = (levels: number): string =>
  [
    "const fs = require('node:fs');",
    `for (let i = 0; i < ${levels}; i++) {`,
    "  fs.mkdirSync('d'); process.chdir('d');",
    "  if (i === 5) fs.writeFileSync('near.txt', 'near\\n');",
    "}",
    "fs.writeFileSync('far.txt', 'far\\n');",
  ].join("\n");

/** Does so in a directory. */
export function nestDeep(directory: string, levels: number): void {
  execFileSync(process.execPath, ["-e", nestScript(levels)], { cwd: directory });
}
