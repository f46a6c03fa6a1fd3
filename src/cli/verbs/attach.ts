import { Failure } from "../../base/errors.ts";
import { connectSupervisor } from "../../supervisor/client.ts";
import { interruptedFailure, readable, stateNameOf, transactionOf, type Verb } from "../context.ts";
import { runTerminal } from "../terminal.ts";

export const attachVerb: Verb = {
  usage: "holdfast attach TXN",
  summary: "Connects this terminal with the agent's again (detach: Ctrl-\\).",
  options: {},
  positionals: [1, 1],
  run: async (context) => {
    const found = readable(transactionOf(context));
    const name = stateNameOf(found);
    if (name !== "open") {
      const fix = `holdfast timeline ${found.transaction}`;
      throw new Failure(
        "failed",
        "not-running",
        `${found.transaction} is ${name}: no agent runs in it`,
        fix,
      );
    }
    const control = await connectSupervisor(found.paths.root, "cli");
    const how = await runTerminal(found.paths.root, {
      silent: false,
      onInterrupt: () => void control.caller.call("stop", {}).catch(() => undefined),
    });
    const back = `\`holdfast attach ${found.transaction}\` comes back`;
    if (how === "detached") context.say(`holdfast: detached; ${back}`);
    if (how === "lost") {
      const lives = await control.caller.call("status", {}).then(
        () => true,
        () => false,
      );
      if (!lives) throw interruptedFailure(found.transaction);
      context.say(`holdfast: another terminal took over; ${back}`);
    }
    control.close();
    return 0;
  },
};
