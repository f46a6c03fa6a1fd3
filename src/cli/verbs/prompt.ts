import { Failure } from "../../base/errors.ts";
import { printJson, withControl, type Verb } from "../context.ts";

export const promptVerb: Verb = {
  usage: "holdfast prompt TXN TEXT [--json]",
  summary: "Sends a further prompt to the session of a running ACP agent and shows its answer.",
  options: {},
  positionals: [2, 2],
  run: (context) =>
    withControl(context, async ({ caller, closed, found }) => {
      const [, words = ""] = context.positionals;
      if (words.trim() === "") {
        throw new Failure("usage", "bad-arguments", "the prompt is empty", promptVerb.usage);
      }
      let mine = false;
      const shown = new Promise<void>((resolve) => {
        caller.on("entries", (entries) => {
          for (const entry of entries) {
            if (entry["event"] === "prompt") mine = true;
            if (mine && entry["event"] === "turn.ended") resolve();
            if (mine && !context.json && entry["event"] === "text") {
              context.print((entry["data"] as { text?: string }).text ?? "");
            }
          }
        });
      });
      const after = found.state?.lastSeq ?? 0;
      await caller.call("subscribe", { after, kinds: ["agent.event"] });
      const interrupt = (): void => void caller.call("cancel", {}).catch(() => undefined);
      process.on("SIGINT", interrupt);
      try {
        const { stopReason } = await caller.call("prompt", { text: words });
        await Promise.race([shown, closed]);
        if (context.json) printJson(context, { stopReason });
        else context.print("\n");
        return stopReason === "refusal" ? 1 : 0;
      } finally {
        process.removeListener("SIGINT", interrupt);
      }
    }),
};

export const cancelVerb: Verb = {
  usage: "holdfast cancel TXN",
  summary: "Asks an ACP agent to end its turn; its session stays.",
  options: {},
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      await caller.call("cancel", {});
      if (context.json) printJson(context, {});
      return 0;
    }),
};
