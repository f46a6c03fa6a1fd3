/** Seals, shows, commits and undoes a change set with one large file: `MIB`. Prints the growth of the peak, in MiB. */
import { truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { patchOf } from "../../src/node/publish/patchStream.ts";
import { PublishFixture } from "./publishFixture.ts";

const size = Number(process.argv[2] ?? "256") * 2 ** 20;
using fixture = new PublishFixture({ small: "1\n" });
for (const [root, text] of [
  [fixture.base, "old"],
  [fixture.workspace, "old"],
  [fixture.shadow, "new"],
] as const) {
  const file = path.join(root, "large");
  writeFileSync(file, text);
  truncateSync(file, size);
}
const entries = [{ path: "large", change: "modified", ignored: false }] as const;
const peak = (): number => process.resourceUsage().maxRSS / 1024;
const before = peak();
fixture.changed = entries;
let bytes = 0;
for await (const piece of patchOf(fixture.reader, await fixture.changeSet())) bytes += piece.length;
if (bytes === 0) throw new Error("no patch");
await fixture.commit();
await fixture.undo();
process.stdout.write(`${Math.round(peak() - before)}\n`);
