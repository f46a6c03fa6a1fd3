import { realpathSync } from "node:fs";
import path from "node:path";
import { runCached } from "../node/state/codeCache.ts";

// The file behind the symbolic link that `bin` makes has the program beside it.
const dist = path.dirname(realpathSync(process.argv[1] ?? ""));
runCached(path.join(dist, "command.cjs"), process.env);
