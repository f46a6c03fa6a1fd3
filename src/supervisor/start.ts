import path from "node:path";
import { runCached } from "../node/state/codeCache.ts";

runCached(path.join(path.dirname(process.argv[1] ?? ""), "supervise.cjs"), process.env);
