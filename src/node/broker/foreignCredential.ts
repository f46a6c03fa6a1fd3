import type { CallFacts } from "../../core/policy/judge.ts";
import type { Vault } from "../secrets/vault.ts";

const credentialHeaders: ReadonlySet<string> = new Set([
  "api-key",
  "authorization",
  "private-token",
  "x-api-key",
  "x-auth-token",
  "x-goog-api-key",
]);
const credentialParameters: ReadonlySet<string> = new Set([
  "access_token",
  "api_key",
  "apikey",
  "auth_token",
  "key",
]);
const shortestCredential = 16;

/** Where a call to a host that has a bound secret carries a credential that is not that secret's placeholder: with one
 * of his own, an attacker could have an allowed host take data into his account. */
export function foreignCredential(vault: Vault, facts: CallFacts): string | undefined {
  if (!vault.isBound(facts)) return undefined;
  for (const [name, value] of facts.headers) {
    if (!credentialHeaders.has(name) || value.trim() === "") continue;
    if (!vault.carriesPlaceholder(value)) return `the credential in the header ${name}`;
  }
  for (const [name, value] of facts.query) {
    if (!credentialParameters.has(name.toLowerCase()) || value.length < shortestCredential)
      continue;
    if (!vault.carriesPlaceholder(value)) return `the credential in the parameter ${name}`;
  }
  return undefined;
}
