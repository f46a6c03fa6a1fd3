import { homedir } from "node:os";
import { Failure } from "../../base/errors.ts";
import type { LaunchRequest } from "../../runtime/agent.ts";
import type { AgentSecret } from "../../runtime/ports.ts";
import { placeholderOf } from "../secrets/placeholder.ts";

type Environment = LaunchRequest["env"];

/** The model's address: from the person's environment only, so that a repository cannot redirect it. */
export function modelAddress(env: Environment, variable: string, otherwise: string): URL {
  const given = env[variable];
  const text = given === undefined || given === "" ? otherwise : given;
  if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text);
  const fix = `for example ${variable}=${otherwise}`;
  throw new Failure("usage", "bad-model-address", `${variable} is not an http(s) address`, fix);
}

/** `host`, or `host:port` where the address names a port. */
export function authorityOf(address: URL): string {
  return address.port === "" ? address.hostname : `${address.hostname}:${address.port}`;
}

/** A value that goes to these places only, in a header. */
export function headerSecret(
  name: string,
  value: string,
  ...addresses: readonly URL[]
): AgentSecret {
  const bindings = addresses.map(({ hostname: host, port }) => ({
    host,
    ...(port === "" ? {} : { port: Number(port) }),
    positions: ["header" as const],
  }));
  return { name, value, bindings };
}

/** A value that goes nowhere: the sandbox has its placeholder, and should the value turn up, it does not leave. */
export function watchedSecret(name: string, value: string): AgentSecret {
  return { name, value, bindings: [] };
}

/** The keys among these variables of the person's that have a value, bound to the model's address. */
export function keysFor(
  env: Environment,
  variables: readonly string[],
  address: URL,
): readonly AgentSecret[] {
  return variables.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [headerSecret(name, value, address)];
  });
}

/** What the sandbox's environment has in place of the keys. */
export function placeholders(secrets: readonly AgentSecret[]): Record<string, string> {
  return Object.fromEntries(secrets.map(({ name }) => [name, placeholderOf(name)]));
}

/** These variables of the person's, where they have a value. */
export function passedOn(env: Environment, variables: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    variables.flatMap((name) => {
      const value = env[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
}

/** The person's home directory. */
export function homeOf(env: Environment): string {
  const home = env["HOME"];
  return home === undefined || home === "" ? homedir() : home;
}

/** A command that reads nothing: agents take what comes on an open pipe for more of the prompt, and wait for its end. */
export function withoutInput(argv: readonly string[]): readonly string[] {
  return ["/bin/sh", "-c", 'exec "$0" "$@" </dev/null', ...argv];
}

/** Throws for arguments that would switch off the hooks by which the agent's steps are seen. `isOff` gets the words one by
 * one, each with the one after it. */
export function refuseSilencing(
  agent: string,
  words: readonly string[],
  isOff: (word: string, next: string) => boolean,
): void {
  const found = words.find((word, at) => isOff(word, words[at + 1] ?? ""));
  if (found === undefined) return;
  const message = `${JSON.stringify(found)} switches off the hooks by which the steps of ${agent} are seen`;
  const fix = `leave it out, or run it as a plain command: holdfast run -- ${agent} …`;
  throw new Failure("usage", "hooks-off", message, fix);
}
