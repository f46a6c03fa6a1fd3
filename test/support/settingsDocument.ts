import { readManifest } from "./manifestTexts.ts";

/** One setting as the manifest declares it. */
interface Declared {
  readonly type: string;
  readonly default: unknown;
  readonly order: number;
  readonly scope: string;
  readonly enum?: readonly string[];
  readonly enumDescriptions?: readonly string[];
  readonly markdownDescription: string;
}

interface Manifest {
  readonly contributes: {
    readonly configuration: { readonly properties: Readonly<Record<string, Declared>> };
  };
}

/** Who may set a setting, by its scope in the manifest. */
const scopes: Readonly<Record<string, string>> = {
  application: "you, in your own settings only",
  machine: "you, on each machine; no workspace",
  window: "you, or a workspace",
};

const begin = "<!-- settings: made by `npm run settings` -->";
const end = "<!-- end of settings -->";

function sectionOf([name, setting]: readonly [string, Declared]): string {
  const { type, markdownDescription, scope } = setting;
  const value = JSON.stringify(setting.default);
  const choices = (setting.enum ?? []).map(
    (one, index) => `- \`${one}\`: ${setting.enumDescriptions?.[index] ?? ""}`,
  );
  return [
    `### \`${name}\``,
    markdownDescription,
    ...(choices.length === 0 ? [] : [choices.join("\n")]),
    `Type ${type}, default \`${value}\`, set by ${scopes[scope] ?? scope}.`,
  ].join("\n\n");
}

/** The settings of the manifest as Markdown, in their order. */
export function settingsSections(): string {
  const { contributes } = readManifest() as Manifest;
  const all = Object.entries(contributes.configuration.properties);
  return all
    .sort(([, one], [, other]) => one.order - other.order)
    .map(sectionOf)
    .join("\n\n");
}

/** The document with its part about settings made anew; what stands around it is written by hand. */
export function settingsDocument(before: string): string {
  const from = before.indexOf(begin);
  const to = before.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the document lacks ${begin} and ${end}`);
  return `${before.slice(0, from)}${begin}\n\n${settingsSections()}\n\n${before.slice(to)}`;
}
