import { discloses, irreversible, local, type Prediction } from "./effect.ts";
import { predictCode } from "./predictCode.ts";
import type { BranchKind } from "./predictGit.ts";
import { predictPowerShell } from "./predictPowerShell.ts";
import { isLocalHost, splitUrl } from "./predictRequest.ts";
import { predictScript } from "./predictScript.ts";
import { predictTool, toolName } from "./predictTool.ts";

/** A tool call as the agent declares it. */
export interface DeclaredCall {
  readonly tool: string;
  readonly input: unknown;
  /** The branch that was checked out when it was made. */
  readonly branch: BranchKind;
}

type Page = "local" | "external" | "unknown";

/**
 * Predicts the calls of one session, in order: what a click does depends on the page that an earlier call opened.
 *
 * A prediction is for showing a call before its effects are seen, and for measuring how often the default policy would
 * ask. It never decides anything: commands can hide what they do, effects cannot.
 */
export class Predictor {
  #page: Page = "unknown";

  predict(call: DeclaredCall): Prediction {
    const { tool, input } = call;
    const script = scriptOf(input);
    if (isPowerShell(tool) && script !== undefined) {
      return predictPowerShell(script, { branch: call.branch, depth: 0 });
    }
    if (isShell(tool) && script !== undefined) {
      return predictScript(script, { branch: call.branch, depth: 0 });
    }
    if (isShell(tool)) return local("waits for a command");
    return predictTool(tool) ?? this.#predictBrowser(toolName(tool).name, input);
  }

  #predictBrowser(name: string, input: unknown): Prediction {
    const url = textMember(input, "url");
    if (url !== undefined) this.#page = isLocalPage(url) ? "local" : "external";
    if (this.#page === "local") return local("uses a page on this machine");
    const code =
      textMember(input, "code") ?? textMember(input, "script") ?? textMember(input, "function");
    if (code !== undefined) {
      const said = predictCode(code);
      const acts = /\.(?:click|submit|requestSubmit|dispatchEvent)\s*\(/.test(code);
      return acts || said.effect === "irreversible"
        ? irreversible("acts on a page by code")
        : discloses("reads a page by code");
    }
    if (acting.test(name) || scripting.test(name)) return irreversible("acts on a page");
    const action = textMember(input, "action");
    if (action !== undefined && acting.test(action)) return irreversible("acts on a page");
    return /preview_(?:list|logs|stop)|console|tabs?$|close|install|resize/.test(name)
      ? local("looks at its browser")
      : discloses("reads a page");
  }
}

const acting = /click|type|fill|press|select|drag|upload|submit|key|form_input|handle_dialog|tap/i;

/** Code that is not shown can do anything. */
const scripting = /evaluate|javascript|run_code|execute_script/i;

function isLocalPage(url: string): boolean {
  if (/^(?:about|data|file|chrome|blob):/i.test(url)) return true;
  const host = splitUrl(url)?.host;
  return host !== undefined && isLocalHost(host);
}

function isShell(tool: string): boolean {
  return /^(?:bash|shell|local_shell|exec_command|run_shell_command|run_in_terminal|run_terminal_cmd|execute_command|monitor|terminal|container\.exec|unified_exec|shell_command|run_command)$/i.test(
    tool,
  );
}

function isPowerShell(tool: string): boolean {
  return /^(?:powershell|pwsh)$/i.test(tool);
}

/** The script of a shell call: text, or a list of words. */
function scriptOf(input: unknown): string | undefined {
  if (typeof input === "string") return input;
  for (const name of ["command", "cmd", "script", "powershell"]) {
    const text = textMember(input, name);
    if (text !== undefined) return text;
    const list = member(input, name);
    if (Array.isArray(list)) return wordsAsScript(list.map(String));
  }
  return undefined;
}

/** `["bash", "-lc", "git push"]` is a script already; other words are quoted. */
function wordsAsScript(words: readonly string[]): string {
  return words
    .map((one) => (/^[\w./:=@%+-]+$/.test(one) ? one : `'${one.replaceAll("'", `'\\''`)}'`))
    .join(" ");
}

function textMember(input: unknown, name: string): string | undefined {
  const value = member(input, name);
  return typeof value === "string" ? value : undefined;
}

function member(input: unknown, name: string): unknown {
  return typeof input === "object" && input !== null
    ? (input as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
