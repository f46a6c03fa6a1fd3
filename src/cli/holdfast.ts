import { realpathSync } from "node:fs";
import path from "node:path";
import { runCached } from "../node/state/codeCache.ts";
import { startEarly } from "../supervisor/supervisorProcess.ts";

// The file behind the symbolic link that `bin` makes has the program beside it.
const dist = path.dirname(realpathSync(process.argv[1] ?? ""));
const [verb, ...words] = process.argv.slice(2);
// What a transaction needs comes up while the command reads its arguments. Should it refuse them, nothing has begun.
if (verb === "run" && !words.includes("--help")) startEarly({ dist, node: process.execPath });
runCached(path.join(dist, "command.cjs"), process.env);
