import path from "node:path";
import { Failure, messageOf } from "../base/errors.ts";
import { approvalCover, PolicyBook } from "../core/policy/policyBook.ts";
import { unjudgedLimits } from "../core/policy/taskScope.ts";
import { isResource } from "../core/transaction/resourceLimits.ts";
import { newAuthority, startBroker, type BrokerOptions } from "../node/broker/startBroker.ts";
import { maskedSecrets } from "../node/fork/secretMasks.ts";
import { appendRule } from "../node/policy/appendRule.ts";
import { defaultBranches } from "../node/policy/defaultBranches.ts";
import { readPolicies, userPolicyPath, type Policies } from "../node/policy/policyFiles.ts";
import { placeholderEnvironment } from "../node/secrets/placeholder.ts";
import { loadSecrets } from "../node/secrets/secretStore.ts";
import type { Secret } from "../node/secrets/vault.ts";
import { homeOf } from "../node/state/home.ts";
import type { AgentLaunch, Broker, BrokerHost, TransactionPaths } from "../runtime/ports.ts";
import type { OwnTools } from "../node/mcp/ownServer.ts";
import { beginGateway } from "./beginGateway.ts";
import { editorValues, type McpSetup } from "./mcpSetup.ts";
import type { StartSpec } from "./startSpec.ts";

/** What the doors of a transaction are opened with. */
export interface DoorParts {
  readonly spec: StartSpec;
  readonly paths: TransactionPaths;
  readonly mcp: McpSetup;
  readonly tools: OwnTools;
  /** Hears every value that the doors know before anything runs. */
  readonly onSecrets: (secrets: readonly Secret[]) => Promise<void>;
}

/**
 * Reads the policies and the person's secrets as they are before the agent runs, and makes the certificates: all that does
 * not depend on the fork. What it gives opens both doors, the broker and the MCP gateway, once the workspace is forked.
 */
export async function prepareBroker(
  parts: DoorParts,
  launch: AgentLaunch,
): Promise<(host: BrokerHost) => Promise<Broker>> {
  const { spec, paths } = parts;
  const { workspace, policyFile } = spec;
  const authority = newAuthority(paths.door, launch.modelHosts);
  authority.catch(() => undefined); // told to whoever needs it
  const policies = readPolicies({ workspace, env: process.env, file: policyFile });
  checkLimits(spec, policies);
  const task = { ...(spec.task === undefined ? {} : { text: spec.task }), limits: spec.limits };
  const { readHosts: reads = [], logins = [], account = [] } = launch;
  const agent = { reads, logins, account };
  const branches = defaultBranches(workspace);
  const book = new PolicyBook({ ...policies, task, agent, defaultBranches: branches });
  const named = await namedSecrets(spec, paths, launch);
  return (host) => openDoors({ ...parts, policies, book, named, authority }, host, launch);
}

interface PreparedParts extends DoorParts {
  readonly policies: Policies;
  readonly book: PolicyBook;
  readonly named: readonly Secret[];
  readonly authority: NonNullable<BrokerOptions["authority"]>;
}

async function openDoors(
  parts: PreparedParts,
  host: BrokerHost,
  launch: AgentLaunch,
): Promise<Broker> {
  const { spec, paths, mcp, tools, policies, book } = parts;
  const { policyFile } = spec;
  const secrets = allSecrets(parts, launch);
  await parts.onSecrets(secrets);
  const broker = await startBroker({
    doorSocket: path.join(paths.door, "door.sock"),
    judge: book.judge,
    host,
    modelHosts: launch.modelHosts,
    ...waitingOf(policies),
    stateDir: path.join(paths.state, "broker"),
    caFilesDir: paths.door,
    secrets,
    authority: parts.authority,
    onPassed: (facts) => book.passed(facts),
    onRuleApproved: (facts, judgement) => {
      const cover = approvalCover(facts, judgement, "rule");
      const rule = cover.kind === "rule" ? cover.rule : undefined;
      const problem =
        rule === undefined ? "no rule can allow it" : keepRule(book, rule, policyFile);
      if (problem === undefined) return;
      const message = `approved for this transaction only: ${problem}`;
      void host.record({ kind: "alert", source: "holdfast", code: "rule-not-kept", message });
    },
  });
  const env = { ...placeholderEnvironment(secretNames(spec, launch)), ...broker.env };
  try {
    const gateway = await beginGateway({ spec, paths, host, book, secrets, setup: mcp, tools });
    const close = async (): Promise<void> => {
      await Promise.all([gateway.close(), broker.close()]);
    };
    return { env, close };
  } catch (error) {
    await broker.close();
    throw error;
  }
}

/** A limit that nothing judges would be a promise that nobody keeps. */
function checkLimits({ limits }: StartSpec, { user, workspace }: Policies): void {
  const ofTask = Object.keys(limits).filter((name) => !isResource(name));
  const texts = [user, workspace].map((one) => JSON.stringify(one?.policy?.rules ?? []));
  const [unknown] = unjudgedLimits(ofTask, texts);
  if (unknown === undefined) return;
  throw new Failure(
    "usage",
    "unknown-limit",
    `there is no limit ${JSON.stringify(unknown)}, and no rule of the policy names task.limits.${unknown}`,
    "of the task: records, refs, recipients, calls, bytes, hosts; of the run: time, cpu, memory, processes, disk, journal, open-files, file-size",
  );
}

function waitingOf({ user }: Policies): Pick<BrokerOptions, "waiting"> {
  const { keepAliveSeconds, answerAfterSeconds } = user?.policy?.waiting ?? {};
  return {
    waiting: {
      ...(keepAliveSeconds === undefined ? {} : { keepAliveSeconds }),
      ...(answerAfterSeconds === undefined ? {} : { answerAfterSeconds }),
    },
  };
}

/** Adds an approved rule to the running judge and to the person's own policy file; gives what went wrong. */
function keepRule(
  book: PolicyBook,
  rule: Parameters<PolicyBook["add"]>[0],
  policyFile: string | undefined,
): string | undefined {
  try {
    book.add(rule);
    appendRule(policyFile ?? userPolicyPath(process.env), rule);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function secretNames(spec: StartSpec, launch: AgentLaunch): readonly string[] {
  return [...new Set([...spec.secrets, ...(launch.secretNames ?? [])])];
}

/** The secrets that the person named. */
function namedSecrets(
  spec: StartSpec,
  paths: TransactionPaths,
  launch: AgentLaunch,
): Promise<readonly Secret[]> {
  const names = secretNames(spec, launch);
  return loadSecrets(homeOf(paths), names, process.env, editorValues(spec));
}

/** The agent's own key, the secrets that the person named, and the values that the fork hides or that MCP servers get:
 * these go nowhere, but are watched for. One name has one value; what the person named comes first. */
function allSecrets(
  { paths, mcp, named }: Pick<PreparedParts, "paths" | "mcp" | "named">,
  launch: AgentLaunch,
): readonly Secret[] {
  const hidden = [...mcp.secrets, ...maskedSecrets(paths.state)].map((secret) => ({
    ...secret,
    bindings: [],
  }));
  const all = new Map<string, Secret>();
  for (const secret of [...(launch.secrets ?? []), ...named, ...hidden]) {
    if (!all.has(secret.name)) all.set(secret.name, secret);
  }
  return [...all.values()];
}
