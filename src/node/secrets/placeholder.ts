/** What stands in every placeholder, however it is spelled. */
export const placeholderPrefix = "HOLDFAST_SECRET_";

/** Names of secrets: what an environment variable may be called, upper case. */
export function isSecretName(name: string): boolean {
  return /^[A-Z][A-Z0-9_]{0,99}$/.test(name);
}

/** What the sandbox sees instead of a value, in its environment and in masked files. */
export function placeholderOf(name: string): string {
  return `$${placeholderPrefix}${name}`;
}

/** All spellings of a placeholder that a client may put on the wire: plain, braced, and percent-encoded. */
export function spellingsOf(name: string): readonly { text: string; wordEnd: boolean }[] {
  return [
    { text: `$${placeholderPrefix}${name}`, wordEnd: true },
    { text: `\${${placeholderPrefix}${name}}`, wordEnd: false },
    { text: `%24${placeholderPrefix}${name}`, wordEnd: true },
    { text: `%24%7B${placeholderPrefix}${name}%7D`, wordEnd: false },
    { text: `%24%7b${placeholderPrefix}${name}%7d`, wordEnd: false },
    { text: `$%7B${placeholderPrefix}${name}%7D`, wordEnd: false },
  ];
}

/** The environment of the sandbox for some secrets: `NAME` and `HOLDFAST_SECRET_NAME`, both the placeholder. */
export function placeholderEnvironment(names: readonly string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of names) {
    env[name] = placeholderOf(name);
    env[`${placeholderPrefix}${name}`] = placeholderOf(name);
  }
  return env;
}
