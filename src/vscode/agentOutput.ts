import path from "node:path";
import * as vscode from "vscode";
import { messageOf } from "../base/errors.ts";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";
import { OutputFollower } from "../node/state/outputLog.ts";
import type { Transactions } from "./transactions.ts";

/** What the agent of the shown transaction itself writes, in a channel of Output. */
export class AgentOutput implements Ending {
  readonly #store = new DisposableStore();
  readonly #transactions: Transactions;
  readonly #log: vscode.LogOutputChannel;
  #channel: vscode.OutputChannel | undefined;
  #follower: OutputFollower | undefined;
  #followed = "";

  constructor(transactions: Transactions, log: vscode.LogOutputChannel) {
    this.#log = log;
    this.#transactions = transactions;
    this.#store.add(
      transactions.onChange(({ type }) => {
        if (type === "shown") this.#follow();
      }),
    );
  }

  /** Opens the channel. */
  show(): void {
    this.#transactions.required();
    this.#follow();
    this.#channel?.show(true);
  }

  dispose(): void {
    this.#follower?.dispose();
    this.#store.dispose();
  }

  #follow(): void {
    const { shown } = this.#transactions;
    // What was shown last stays readable after its transaction is put away.
    if (shown === undefined || shown.id === this.#followed) return;
    this.#followed = shown.id;
    this.#follower?.dispose();
    this.#channel ??= this.#store.add(
      vscode.window.createOutputChannel(vscode.l10n.t("Holdfast Agent")),
    );
    const channel = this.#channel;
    const { agent, task } = shown.status;
    channel.replace(
      `${[shown.id, agent, task].filter((part) => part !== undefined).join(" · ")}\n\n`,
    );
    this.#follower = new OutputFollower(
      path.join(shown.root, "state"),
      (text) => channel.append(text),
      (error) => this.#log.warn(`the agent's output: ${messageOf(error)}`),
    );
  }
}
