import { matchesHost } from "../../src/core/policy/glob.ts";
import { presets } from "../../src/core/policy/presets.ts";
import { asks } from "../../src/core/predict/effect.ts";
import { splitUrl } from "../../src/core/predict/predictRequest.ts";
import type { JudgedCall } from "./toolCalls.ts";

/** A way of asking. `seen` is empty at the start of each session and belongs to the policy. */
export interface PromptPolicy {
  readonly id: string;
  readonly title: string;
  asks(call: JudgedCall, seen: Set<string>): boolean;
}

const comments = new Set(["issue-comment", "mcp-comment", "pr-review"]);

const crosses = (call: JudgedCall) =>
  call.crossing === "recoverable" || call.crossing === "irreversible";

/** The ways of asking that are compared, the customary ones first. */
export const promptPolicies: readonly PromptPolicy[] = [
  { id: "perMutation", title: "per mutation", asks: (call) => call.perMutation },
  { id: "prefixAllow", title: "40-prefix allow list", asks: (call) => call.prefixAllow },
  { id: "default", title: "Holdfast, default policy", asks: crosses },
  {
    id: "default-transaction",
    title: "… recoverable ones approved for the transaction",
    asks: (call, seen) =>
      call.crossing === "irreversible" ||
      (call.crossing === "recoverable" && isFirst(call.reason, seen)),
  },
  {
    id: "default-hosts",
    title: "… and the first read of each host outside the presets",
    asks: (call, seen) => crosses(call) || (isForeignRead(call) && isFirst(hostOf(call), seen)),
  },
  {
    id: "recoverable",
    title: "Holdfast, preset recoverable",
    asks: (call) => call.crossing === "irreversible",
  },
  {
    id: "recoverable-comments",
    title: "Holdfast, presets recoverable and comments",
    asks: (call) => call.crossing === "irreversible" && !comments.has(call.reason),
  },
  {
    id: "predicted",
    title: "Holdfast's prediction from the command alone",
    asks: (call) => asks(call.prediction),
  },
];

function isFirst(key: string, seen: Set<string>): boolean {
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

const readable = presets.filter((one) => one.byDefault).flatMap((one) => one.reads);

/** Reads that the default presets do not cover; those of git, package managers and the agent's own model they do. */
function isForeignRead(call: JudgedCall): boolean {
  if (call.crossing !== "disclosure") return false;
  if (
    ["ssh-read", "mcp-read", "web-search", "db-remote-read", "cloud-read", "net-probe"].includes(
      call.reason,
    )
  ) {
    return true;
  }
  if (call.reason !== "web-fetch" && call.reason !== "http-read") return false;
  const host = hostOf(call);
  return !readable.some((one) => matchesHost(one, host));
}

function hostOf(call: JudgedCall): string {
  const { host, url, command } = call.input;
  if (typeof host === "string") return host;
  const address =
    typeof url === "string" ? url : /https?:\/\/[^\s"'<>]+/.exec(String(command))?.[0];
  return address === undefined ? call.reason : (splitUrl(address)?.host ?? call.reason);
}
