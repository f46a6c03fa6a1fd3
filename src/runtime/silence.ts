import type { Journal } from "./journal.ts";

/** An agent with hooks tells of its session before it asks its model, or of a call before it asks again: with so many
 * questions and not a word it has none. */
const telling = 4;

/** How the address of a question ends, with the services that agents use. What a login asks its maker about itself is none, and
 * comes before any session. */
const question =
  /\/(messages|responses|completions|chat|converse[a-z-]*|invoke[a-z-]*)$|generateContent$/i;

/**
 * Says so, once, when an agent that has hooks works without a word from them, or ended without one: its journal is then
 * effects-only. What counts is what it does, not how long it takes. `look` says it now.
 */
export function watchSilence(journal: Journal): { look(): void; dispose(): void } {
  let questions = 0;
  let hasLooked = false;
  const look = (): void => {
    if (hasLooked) return;
    hasLooked = true;
    if (journal.entries().some(({ source }) => source === "hook" || source === "acp")) return;
    const message =
      "the agent has not reported anything (its hooks are off, or it did not get far): what it says is missing, its effects are journaled";
    journal.append({ kind: "alert", source: "holdfast", code: "hooks-silent", message });
  };
  const listening = journal.onAppend((entry) => {
    if (entry.kind !== "request.started" || entry.traffic !== "model") return;
    if (entry.method !== "POST" || !question.test(entry.path.split("?")[0] ?? "")) return;
    questions++;
    if (questions === telling) queueMicrotask(look);
  });
  return { look, dispose: () => listening[Symbol.dispose]() };
}
