import * as vscode from "vscode";
import { messageOf } from "../../base/errors.ts";
import type { AgentAdapter } from "../../runtime/agent.ts";
import type { StartRequest } from "../contributions.ts";
import { setting } from "../editorState.ts";
import { commandWords, limitsOf } from "./commandWords.ts";

const recentKey = "holdfast.recentTasks";
const recentLimit = 8;

interface AgentItem extends vscode.QuickPickItem {
  readonly agent?: AgentAdapter;
  readonly recent?: StartRequest;
}

/** Asks who is to work on what, in as few steps as there can be. Undefined when the person gives up. */
export async function askStart(state: vscode.Memento): Promise<StartRequest | undefined> {
  const recent = state.get<StartRequest[]>(recentKey, []);
  const chosen = await askAgent(recent);
  if (chosen?.recent !== undefined) return chosen.recent;
  if (chosen?.agent === undefined) return undefined;
  const { name: agent, takesCommand, speaks } = chosen.agent;
  const needsCommand = takesCommand === true;
  const command = needsCommand ? await askCommand() : [];
  if (command === undefined) return undefined;
  const task = await askTask(needsCommand);
  if (task === undefined) return undefined;
  return {
    agent,
    ...(task.text === "" ? {} : { task: task.text }),
    ...((needsCommand && speaks === undefined) || task.text === "" ? {} : { prompt: task.text }),
    ...(command.length > 0 ? { command } : {}),
    ...(Object.keys(task.limits).length > 0 ? { limits: task.limits } : {}),
  };
}

/** Remembers what was started, for the next time. */
export async function remember(state: vscode.Memento, request: StartRequest): Promise<void> {
  const same = JSON.stringify(request);
  const others = state
    .get<StartRequest[]>(recentKey, [])
    .filter((one) => JSON.stringify(one) !== same);
  await state.update(recentKey, [request, ...others].slice(0, recentLimit));
}

async function askAgent(recent: readonly StartRequest[]): Promise<AgentItem | undefined> {
  const first = setting("defaultAgent");
  const all = await agents();
  const sorted = [...all].sort((a, b) => rank(a, first) - rank(b, first));
  const items: AgentItem[] = sorted.map((agent) => ({
    agent,
    label: agent.title,
    detail: agent.detail,
    iconPath: new vscode.ThemeIcon(agent.takesCommand === true ? "terminal" : "robot"),
  }));
  if (recent.length > 0) {
    items.push({ label: vscode.l10n.t("recent"), kind: vscode.QuickPickItemKind.Separator });
    for (const request of recent)
      items.push({
        recent: request,
        label: request.task ?? (request.command ?? []).join(" "),
        description: all.find(({ name }) => name === request.agent)?.title ?? request.agent,
        iconPath: new vscode.ThemeIcon("history"),
      });
  }
  return vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("Start Agent Transaction"),
    placeHolder: vscode.l10n.t("Who is to work in a copy of this workspace?"),
    matchOnDetail: true,
  });
}

/**
 * All agents; a mistake in the person's own file is told, and the others are offered. What is known of them is loaded when
 * somebody starts one: a window that opens has no use for it.
 */
async function agents(): Promise<readonly AgentAdapter[]> {
  const { agentsOf, builtInAgents } = await import("../../node/agents/registry.ts");
  try {
    return agentsOf(process.env, undefined);
  } catch (error) {
    void vscode.window.showErrorMessage(messageOf(error));
    return builtInAgents;
  }
}

function rank({ name, takesCommand }: AgentAdapter, first: string): number {
  if (name === first) return -1;
  return takesCommand === true ? 1 : 0;
}

async function askCommand(): Promise<string[] | undefined> {
  const line = await vscode.window.showInputBox({
    title: vscode.l10n.t("Command"),
    prompt: vscode.l10n.t("Runs without a shell, in the workspace's own folder."),
    placeHolder: "node agent.mjs --fast",
    ignoreFocusOut: true,
    validateInput: (value) => problemOf(() => commandWords(value)),
  });
  if (line === undefined || line.trim() === "") return undefined;
  return commandWords(line);
}

/** The task, with a button that asks for limits. */
async function askTask(
  optional: boolean,
): Promise<{ readonly text: string; readonly limits: Record<string, string> } | undefined> {
  const input = vscode.window.createInputBox();
  input.title = vscode.l10n.t("Task");
  input.prompt = optional
    ? vscode.l10n.t("What it is for (optional). Holds show it beside the call that waits.")
    : vscode.l10n.t("What the agent is to do. Holds show it beside the call that waits.");
  input.placeholder = vscode.l10n.t("Add coupons to the checkout and make the tests pass");
  input.ignoreFocusOut = true;
  const addLimits: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("dashboard"),
    tooltip: vscode.l10n.t("Add limits, such as how many records a call may touch"),
  };
  input.buttons = [addLimits];
  let limits: Record<string, string> = {};
  let asking = false;
  return new Promise((resolve) => {
    const end = (value: { text: string; limits: Record<string, string> } | undefined): void => {
      resolve(value);
      input.dispose();
    };
    input.onDidTriggerButton(() => {
      asking = true;
      void askLimits().then((given) => {
        asking = false;
        limits = given ?? limits;
        input.show();
      });
    });
    input.onDidAccept(() => {
      if (input.value.trim() === "" && !optional)
        input.validationMessage = vscode.l10n.t("Say what the agent is to do.");
      else end({ text: input.value.trim(), limits });
    });
    input.onDidHide(() => {
      if (!asking) end(undefined);
    });
    input.show();
  });
}

async function askLimits(): Promise<Record<string, string> | undefined> {
  const line = await vscode.window.showInputBox({
    title: vscode.l10n.t("Limits of the task"),
    placeHolder: "records=50 calls=20",
    ignoreFocusOut: true,
    validateInput: (value) => problemOf(() => limitsOf(value)),
  });
  return line === undefined ? undefined : limitsOf(line);
}

function problemOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
