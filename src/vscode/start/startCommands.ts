import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { Failure, messageOf } from "../../base/errors.ts";
import type { Installation } from "../../supervisor/supervisorProcess.ts";
import path from "node:path";
import type { StartRequest } from "../contributions.ts";
import { setting } from "../editorState.ts";
import type { TextDocuments } from "../textDocuments.ts";
import type { Transactions } from "../transactions.ts";
import { askStart, remember } from "./startQuestions.ts";

/** Begins transactions: in the background, or with the agent's own interface in a terminal. */
export class StartCommands {
  readonly #transactions: Transactions;
  readonly #installation: Installation;
  readonly #state: vscode.Memento;
  readonly #texts: TextDocuments;

  constructor(
    transactions: Transactions,
    installation: Installation,
    state: vscode.Memento,
    texts: TextDocuments,
  ) {
    this.#transactions = transactions;
    this.#texts = texts;
    this.#installation = installation;
    this.#state = state;
  }

  async start(given: StartRequest | undefined): Promise<void> {
    const folder = await this.#folder();
    const request = given ?? (await askStart(this.#state));
    if (request === undefined) return;
    if (given === undefined) await remember(this.#state, request);
    void vscode.commands.executeCommand("holdfast.timeline.focus");
    await vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Window,
        title: vscode.l10n.t("Holdfast: starting"),
        cancellable: true,
      },
      async (progress, token) => {
        const abort = new AbortController();
        const listening = token.onCancellationRequested(() => abort.abort());
        try {
          await this.#transactions.start(
            folder,
            request,
            (message) => progress.report({ message }),
            abort.signal,
          );
        } finally {
          listening.dispose();
        }
      },
    );
  }

  /** Opens a terminal whose program is `holdfast run`: the agent's own interface, inside the sandbox. */
  async startInTerminal(given: StartRequest | undefined): Promise<void> {
    const folder = await this.#folder();
    const request = given ?? (await askStart(this.#state));
    if (request === undefined) return;
    if (given === undefined) await remember(this.#state, request);
    this.#transactions.showNext();
    void vscode.commands.executeCommand("holdfast.timeline.focus");
    this.#terminal(vscode.l10n.t("Holdfast"), folder, runArguments(request));
  }

  /** Shows what this machine offers and what is missing, in an editor of its own: a terminal would close with its end. */
  async doctor(): Promise<void> {
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    const cwd = folder?.uri.scheme === "file" ? folder.uri.fsPath : process.cwd();
    const title = vscode.l10n.t("Holdfast: looking at this machine");
    const text = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title },
      () => this.#told(["doctor"], cwd),
    );
    await this.#texts.show("holdfast doctor.txt", text);
  }

  /** What our own command prints, and the line with which it fails. */
  #told(args: readonly string[], cwd: string): Promise<string> {
    const program = path.join(this.#installation.dist, "holdfast.cjs");
    const env = { ...process.env, ELECTRON_RUN_AS_NODE: "1" };
    return new Promise((resolve) => {
      execFile(this.#installation.node, [program, ...args], { cwd, env }, (error, out, told) =>
        // It ends with 1 when something is missing, and says what; without a word, it could not be run.
        resolve(
          [out, told === "" && out === "" && error !== null ? messageOf(error) : told]
            .filter((part) => part !== "")
            .join("\n"),
        ),
      );
    });
  }

  #terminal(
    name: string,
    folder: vscode.WorkspaceFolder | undefined,
    args: readonly string[],
  ): void {
    const terminal = vscode.window.createTerminal({
      name,
      ...(folder === undefined ? {} : { cwd: folder.uri }),
      shellPath: this.#installation.node,
      shellArgs: [path.join(this.#installation.dist, "holdfast.cjs"), ...args],
      env: { ELECTRON_RUN_AS_NODE: "1" },
      iconPath: new vscode.ThemeIcon("shield"),
    });
    terminal.show();
  }

  async #folder(): Promise<vscode.WorkspaceFolder> {
    if (!vscode.workspace.isTrusted)
      throw new Failure(
        "refused",
        "untrusted",
        "this workspace is not trusted",
        "trust it before an agent runs here",
      );
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(
      ({ uri }) => uri.scheme === "file",
    );
    const [first] = folders;
    if (first === undefined)
      throw new Failure(
        "usage",
        "no-folder",
        "there is no folder on this machine's disk open",
        "open the folder to work on",
      );
    if (folders.length === 1) return first;
    const chosen = await vscode.window.showWorkspaceFolderPick({
      placeHolder: vscode.l10n.t("Which folder is to be copied?"),
    });
    if (chosen === undefined) throw new vscode.CancellationError();
    return chosen;
  }
}

function runArguments(request: StartRequest): string[] {
  const policyFile = setting("policyFile");
  const limits = Object.entries(request.limits ?? {});
  return [
    "run",
    ...["--agent", request.agent, "--backend", setting("backend")],
    ...(request.task === undefined ? [] : ["--task", request.task]),
    ...(policyFile === "" ? [] : ["--policy", policyFile]),
    ...limits.flatMap(([name, value]) => ["--limit", `${name}=${value}`]),
    ...(request.command === undefined ? [] : ["--", ...request.command]),
  ];
}
