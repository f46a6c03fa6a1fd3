/** Writes the texts of the extension to media/l10n/bundle.l10n.json, from which translations begin. */
import fs from "node:fs";
import path from "node:path";
import { textsBelow } from "./localizedText.ts";
import { root } from "./repository.ts";

const { localized } = textsBelow(path.join(root, "src", "vscode"));
const texts = [...new Set(localized.map(({ text }) => text))].sort();
const folder = path.join(root, "media", "l10n");
fs.mkdirSync(folder, { recursive: true });
const bundle = Object.fromEntries(texts.map((text) => [text, text]));
fs.writeFileSync(path.join(folder, "bundle.l10n.json"), `${JSON.stringify(bundle, null, 2)}\n`);
