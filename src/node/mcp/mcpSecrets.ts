import { isSecretName, placeholderOf, spellingsOf } from "../secrets/placeholder.ts";
import type { Secret } from "../secrets/vault.ts";
import type { McpServer } from "./mcpSettings.ts";

/** Names of variables and headers whose value is a secret though it stands in the file as it is. */
const secretive = /token|key|secret|passw|auth|credential|cookie/i;

/** A value shorter than this, in characters, is found everywhere: it is not watched for. */
const shortest = 8;

function valuesOf(server: McpServer): Readonly<Record<string, string>> {
  return "url" in server ? server.headers : server.env;
}

/** Names of the secrets that the servers' settings use as `$HOLDFAST_SECRET_NAME`. */
export function secretsNamed(servers: readonly McpServer[]): readonly string[] {
  const texts = servers.flatMap((server) => Object.values(valuesOf(server)));
  const found = texts.flatMap((text) =>
    [...text.matchAll(/\$\{?HOLDFAST_SECRET_([A-Z][A-Z0-9_]*)\}?/g)].map((match) => match[1] ?? ""),
  );
  return [...new Set(found)].filter(isSecretName);
}

/** Values that stand in the settings as they are and look like secrets: they go nowhere but to their server, and are
 * replaced wherever they come back. */
export function secretsWritten(servers: readonly McpServer[]): readonly Secret[] {
  return servers.flatMap((server) =>
    Object.entries(valuesOf(server)).flatMap(([name, value]) => {
      const bare = value.replace(/^(?:bearer|basic|token)\s+/i, "");
      const named = /\$\{?HOLDFAST_SECRET_/.test(value);
      if (named || bare.length < shortest || !secretive.test(name)) return [];
      const secret = `MCP_${server.name}_${name}`.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_");
      return [{ name: secret.slice(0, 100), value: bare, bindings: [] }];
    }),
  );
}

/** A text of the settings with the values of the secrets that it names. */
export function fillSecrets(text: string, secrets: readonly Secret[]): string {
  let filled = text;
  for (const { name, value } of secrets) {
    if (!filled.includes(placeholderOf(name).slice(1))) continue;
    for (const { text: spelling, wordEnd } of spellingsOf(name)) {
      const end = wordEnd ? "(?!\\w)" : "";
      const pattern = new RegExp(spelling.replaceAll(/[$%{}]/g, "\\$&") + end, "g");
      filled = filled.replaceAll(pattern, () => value);
    }
  }
  return filled;
}
