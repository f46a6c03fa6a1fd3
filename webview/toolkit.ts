/**
 * The only file that knows @vscode/webview-ui-toolkit. The package is archived upstream: everything else uses the small
 * functions below, so that another set of elements can take its place here.
 */
import {
  provideVSCodeDesignSystem,
  vsCodeButton,
  vsCodeProgressRing,
  vsCodeTextField,
} from "@vscode/webview-ui-toolkit";
import { element } from "./dom.ts";
import { picture, type PictureName } from "./icons.ts";

/** Defines the elements; call once, before the first of them is made. */
export function installToolkit(): void {
  provideVSCodeDesignSystem().register(vsCodeButton(), vsCodeTextField(), vsCodeProgressRing());
}

export type ButtonLook = "primary" | "secondary" | "icon";

/** A push button. `icon` alone needs `label` all the same: it becomes its accessible name. */
export function button(options: {
  readonly look: ButtonLook;
  readonly label: string;
  readonly icon?: PictureName;
  readonly title?: string;
  readonly onClick: () => void;
}): HTMLElement {
  const made = document.createElement("vscode-button");
  made.setAttribute("appearance", options.look);
  made.setAttribute("title", options.title ?? options.label);
  if (options.icon !== undefined) {
    const shown = picture(options.icon);
    if (options.look !== "icon") shown.setAttribute("slot", "start");
    made.append(shown);
  }
  if (options.look === "icon") made.setAttribute("aria-label", options.label);
  else made.append(options.label);
  made.addEventListener("click", options.onClick);
  return made;
}

export interface TextField {
  readonly root: HTMLElement;
  value: string;
  focus(): void;
}

/** A one-line text field; `onInput` hears every change. */
export function textField(options: {
  readonly label: string;
  readonly placeholder: string;
  readonly icon?: PictureName;
  readonly onInput: (value: string) => void;
}): TextField {
  const root = document.createElement("vscode-text-field") as HTMLElement & { value: string };
  root.setAttribute("placeholder", options.placeholder);
  root.setAttribute("aria-label", options.label);
  if (options.icon !== undefined) {
    const shown = picture(options.icon);
    shown.setAttribute("slot", "start");
    root.append(shown);
  }
  root.addEventListener("input", () => options.onInput(root.value));
  return {
    root,
    get value() {
      return root.value;
    },
    set value(value: string) {
      root.value = value;
    },
    focus: () => root.focus(),
  };
}

/** A busy sign; what is going on is said in words beside it. */
export function progress(): HTMLElement {
  const made = element("span", { class: "progress", "aria-hidden": "true" });
  made.append(document.createElement("vscode-progress-ring"));
  return made;
}
