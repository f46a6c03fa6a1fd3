import type { Entry } from "../../src/core/journal/entry.ts";
import { JournalWriter, request } from "./journalWriter.ts";

/** Many entries of mixed kinds, for figures: `roots` tool calls, every fortieth with a request; `begin` writes what comes first. */
export function largeJournal(
  roots: number,
  begin: (journal: JournalWriter) => void = () => undefined,
): Entry[] {
  const journal = new JournalWriter();
  begin(journal);
  const kinds = ["read", "edit", "search", "execute"] as const;
  const tools = ["Read", "Edit", "Grep", "Bash"] as const;
  for (let n = 0; n < roots; n++) {
    const at = n % kinds.length;
    const path = `src/module${String(n % 977)}/file${String(n)}.ts`;
    const id = journal.tool(
      tools[at] ?? "Read",
      kinds[at] ?? "read",
      `${tools[at] ?? ""} ${path}`,
      { file_path: path },
    );
    if (n % 40 === 7)
      request(journal, {
        host: "api.example.com",
        path: `/items/${String(n)}`,
        traffic: "change",
        method: "POST",
        parent: id,
        reversibility: n % 80 === 7 ? "recoverable" : "irreversible",
      });
    journal.finish(id, "ok", "ok", 10 + (n % 300));
  }
  return journal.entries;
}
