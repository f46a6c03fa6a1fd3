import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import {
  commands,
  contextKeys,
  schemes,
  settingDefaults,
  viewContainer,
  views,
} from "../../src/vscode/contributions.ts";
import { readManifest } from "../support/manifestTexts.ts";

interface MenuItem {
  readonly command: string;
  readonly when?: string;
}

interface Manifest {
  readonly activationEvents: readonly string[];
  readonly extensionKind: readonly string[];
  readonly capabilities: {
    readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] };
  };
  readonly contributes: {
    readonly commands: readonly { command: string; title: string; category: string }[];
    readonly menus: Readonly<Record<string, readonly MenuItem[]>>;
    readonly keybindings: readonly MenuItem[];
    readonly views: Readonly<Record<string, readonly { id: string }[]>>;
    readonly viewsWelcome: readonly { view: string; contents: string; when: string }[];
    readonly viewsContainers: { readonly activitybar: readonly { id: string; icon: string }[] };
    readonly configuration: {
      readonly properties: Readonly<
        Record<
          string,
          { default: unknown; order: number; scope: string; markdownDescription: string }
        >
      >;
    };
    readonly walkthroughs: readonly {
      steps: readonly {
        description: string;
        media: { markdown: string };
        completionEvents: string[];
      }[];
    }[];
  };
}

const root = path.join(import.meta.dirname, "..", "..");
const manifest = readManifest() as Manifest;
const { contributes } = manifest;

function sources(folder: string): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return sources(file);
    return entry.name.endsWith(".ts") ? [fs.readFileSync(file, "utf8")] : [];
  });
}

const code = sources(path.join(root, "src", "vscode")).join("\n");

describe("manifest", () => {
  it("has the commands of the typed source, with their titles", () => {
    const declared = contributes.commands.map(({ command, title }) => [command, title]);
    assert.deepEqual(
      declared.sort(),
      Object.entries(commands)
        .map(([command, { title }]) => [command, title])
        .sort(),
    );
    for (const { category } of contributes.commands) assert.equal(category, "Holdfast");
  });

  it("keeps commands that need an argument out of the palette", () => {
    const palette = contributes.menus["commandPalette"] ?? [];
    const never = palette.filter(({ when }) => when === "false").map(({ command }) => command);
    for (const [command, { palette: shown }] of Object.entries(commands)) {
      if (shown) assert.ok(!never.includes(command), command);
      else
        assert.ok(
          palette.some((item) => item.command === command && item.when !== undefined),
          command,
        );
    }
  });

  it("names only commands that exist, in menus, keys, welcome views and walkthroughs", () => {
    const menus = Object.values(contributes.menus).flat();
    const named = [...menus, ...contributes.keybindings].map(({ command }) => command);
    const steps = contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
    const texts = [
      ...contributes.viewsWelcome.map(({ contents }) => contents),
      ...steps.map(({ description }) => description),
    ].join("\n");
    for (const [, command] of texts.matchAll(/command:(holdfast\.\w+)/g)) named.push(command ?? "");
    for (const command of named) assert.ok(command in commands, command);
    for (const step of steps) {
      assert.ok(fs.existsSync(path.join(root, step.media.markdown)), step.media.markdown);
    }
  });

  it("has the views and the container of the typed source", () => {
    assert.deepEqual(
      contributes.views[viewContainer]?.map(({ id }) => id),
      Object.values(views),
    );
    assert.deepEqual(
      contributes.viewsContainers.activitybar.map(({ id }) => id),
      [viewContainer],
    );
    for (const { icon } of contributes.viewsContainers.activitybar)
      assert.ok(fs.existsSync(path.join(root, icon)), icon);
    for (const { view } of contributes.viewsWelcome)
      assert.ok(Object.values<string>(views).includes(view), view);
  });

  it("has the settings of the typed source, at most a dozen, each with a description and an order", () => {
    const { properties } = contributes.configuration;
    const declared: unknown[][] = Object.entries(properties).map(([name, property]) => [
      name,
      property.default,
    ]);
    assert.deepEqual(
      declared.sort(),
      Object.entries<unknown>({ ...settingDefaults })
        .map(([name, value]) => [`holdfast.${name}`, value])
        .sort(),
    );
    assert.ok(declared.length <= 12);
    for (const [name, { order, markdownDescription }] of Object.entries(properties)) {
      assert.ok(order > 0, name);
      assert.ok(markdownDescription.length > 20, name);
    }
  });

  it("lets no workspace choose what runs or what is allowed", () => {
    const { properties } = contributes.configuration;
    const own = ["openReviewWhenDone", "notifyWhenDone"].map((name) => `holdfast.${name}`);
    for (const [name, { scope }] of Object.entries(properties)) {
      const wanted = name === "holdfast.traceEndpoint" ? "application" : "machine";
      assert.equal(scope, own.includes(name) ? "window" : wanted, name);
    }
    assert.deepEqual(manifest.extensionKind, ["workspace"]);
  });

  it("uses only context keys of the typed source in its conditions", () => {
    const conditions = JSON.stringify(contributes);
    const named = [
      ...conditions.matchAll(/holdfast\.(state|holds|interrupted|several|undoable)\b/g),
    ];
    const used = new Set(named.map(([key]) => key));
    for (const key of contextKeys) assert.ok(used.has(key), `${key} is set and never used`);
  });

  it("wakes for its views, its links and its documents", () => {
    for (const event of [
      ...Object.values(views).map((view) => `onView:${view}`),
      `onFileSystem:${schemes.side}`,
      "onUri",
    ])
      assert.ok(manifest.activationEvents.includes(event), event);
  });

  it("registers every command, view and scheme in the code", () => {
    for (const command of Object.keys(commands)) assert.ok(code.includes(`"${command}"`), command);
    for (const view of Object.keys(views)) assert.ok(code.includes(`views.${view}`), view);
    for (const scheme of Object.keys(schemes))
      assert.ok(code.includes(`schemes.${scheme}`), scheme);
    for (const [, name] of code.matchAll(/setting\("(\w+)"\)/g))
      assert.ok((name ?? "") in settingDefaults, name);
    for (const name of Object.keys(settingDefaults))
      assert.ok(code.includes(`setting("${name}")`), `${name} is never read`);
  });
});
