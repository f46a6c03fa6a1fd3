import * as vscode from "vscode";
import { Failure } from "../../base/errors.ts";
import type { ValueStore } from "../../node/secrets/keyring.ts";
import { isSecretName } from "../../node/secrets/placeholder.ts";
import { openHome } from "../../node/state/homeDirectory.ts";

const storedKey = "secrets.stored";

/**
 * Secrets whose values the editor keeps (`SecretStorage`: encrypted, with a key of the operating system). Our own file has
 * their names and hosts alone. A value goes to the supervisor of a transaction that begins in this editor, over its
 * standard input, and nowhere else.
 */
export class EditorSecrets {
  readonly #values: ValueStore;
  /** Names whose values were stored: the editor's storage does not list what it has. */
  readonly #memory: vscode.Memento;

  constructor(storage: vscode.SecretStorage, memory: vscode.Memento) {
    this.#memory = memory;
    const key = (name: string): string => `secret.${name}`;
    this.#values = {
      read: async (name) => await storage.get(key(name)),
      write: async (name, value) => await storage.store(key(name), value),
      remove: async (name) => await storage.delete(key(name)),
    };
  }

  /** The values that this editor has, by name. Those that were removed elsewhere are forgotten first. */
  async values(): Promise<Readonly<Record<string, string>>> {
    await this.#forgetRemoved();
    const found: Record<string, string> = {};
    for (const name of await this.#names()) {
      const value = await this.#values.read(name);
      if (value !== undefined) found[name] = value;
    }
    return found;
  }

  /** Asks for a name, the hosts that may get the value, and the value; replaces a secret of the same name. */
  async store(): Promise<void> {
    const asked = await askSecret();
    if (asked === undefined) return;
    const { setSecret } = await import("../../node/secrets/secretStore.ts");
    const { name, hosts, value } = asked;
    const home = openHome(process.env);
    await setSecret(home, name, hosts, { keep: "editor", value }, { editor: this.#values });
    // Noted once the name is in our file: what is noted and not there is forgotten.
    const stored = this.#memory.get<readonly string[]>(storedKey, []);
    await this.#memory.update(storedKey, [...new Set([...stored, name])]);
    const message = vscode.l10n.t(
      "The editor keeps {0}. Agents that start in this editor get a placeholder for it, and the value goes to {1} alone.",
      name,
      hosts.join(", "),
    );
    void vscode.window.showInformationMessage(message);
  }

  async #forgetRemoved(): Promise<void> {
    const stored = this.#memory.get<readonly string[]>(storedKey, []);
    if (stored.length === 0) return;
    const { forgetRemoved } = await import("../../node/secrets/secretStore.ts");
    const kept = await forgetRemoved(openHome(process.env), stored, this.#values);
    if (kept.length < stored.length) await this.#memory.update(storedKey, kept);
  }

  /** Asks which one, and forgets it and its value. */
  async remove(): Promise<void> {
    const names = await this.#names();
    if (names.length === 0) {
      const message = vscode.l10n.t("This editor keeps no secret.");
      throw new Failure("usage", "no-secret", message);
    }
    const title = vscode.l10n.t("Remove Secret");
    const name = await vscode.window.showQuickPick(names, { title });
    if (name === undefined) return;
    const { removeSecret } = await import("../../node/secrets/secretStore.ts");
    await removeSecret(openHome(process.env), name, { editor: this.#values });
  }

  async #names(): Promise<string[]> {
    const { listSecrets } = await import("../../node/secrets/secretStore.ts");
    const all = await listSecrets(openHome(process.env));
    return all.filter(({ from }) => from === "editor").map(({ name }) => name);
  }
}

async function askSecret(): Promise<
  { readonly name: string; readonly hosts: readonly string[]; readonly value: string } | undefined
> {
  const name = await vscode.window.showInputBox({
    title: vscode.l10n.t("Store Secret: Name"),
    prompt: vscode.l10n.t("What the agent's programs know it by: a variable of this name."),
    placeHolder: "STRIPE_KEY",
    ignoreFocusOut: true,
    validateInput: (text) =>
      isSecretName(text)
        ? undefined
        : vscode.l10n.t("Upper-case letters, digits and underscores, beginning with a letter."),
  });
  if (name === undefined) return undefined;
  const hosts = await vscode.window.showInputBox({
    title: vscode.l10n.t("Store Secret: Hosts"),
    prompt: vscode.l10n.t("The value goes to these hosts alone; spaces between several."),
    placeHolder: "api.stripe.com",
    ignoreFocusOut: true,
    validateInput: (text) =>
      text.trim() === "" ? vscode.l10n.t("A secret without a host goes nowhere.") : undefined,
  });
  if (hosts === undefined) return undefined;
  const value = await vscode.window.showInputBox({
    title: vscode.l10n.t("Store Secret: Value"),
    prompt: vscode.l10n.t("Kept by the editor, encrypted; never in the agent's sandbox."),
    password: true,
    ignoreFocusOut: true,
    validateInput: (text) => (text === "" ? vscode.l10n.t("The value is empty.") : undefined),
  });
  if (value === undefined) return undefined;
  return { name, hosts: hosts.trim().split(/[\s,]+/), value };
}
