import { readRepositoryFile } from "./repository.ts";

/** The texts of the manifest, by key: what translators begin from. */
export function manifestTexts(): Readonly<Record<string, string>> {
  return JSON.parse(readRepositoryFile("package.nls.json")) as Record<string, string>;
}

/** The keys that a text of the manifest names: `%key%`, alone and as a whole, as the editor reads it. */
export function textKey(text: string): string | undefined {
  return /^%([\w.]+)%$/.exec(text)?.[1];
}

/** The manifest as the editor sees it: every `%key%` replaced by its text. Throws when a key has none. */
export function readManifest(): unknown {
  const texts = manifestTexts();
  return JSON.parse(readRepositoryFile("package.json"), (_name, value: unknown) => {
    const key = typeof value === "string" ? textKey(value) : undefined;
    if (key === undefined) return value;
    const text = texts[key];
    if (text === undefined) throw new Error(`package.nls.json has no ${key}`);
    return text;
  }) as unknown;
}
