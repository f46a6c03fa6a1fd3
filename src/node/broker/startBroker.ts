import { chmod, mkdir, rm } from "node:fs/promises";
import type { CallFacts, Judge, Judgement } from "../../core/policy/judge.ts";
import type { Broker, BrokerHost } from "../../runtime/ports.ts";
import { Vault, type Secret } from "../secrets/vault.ts";
import { cachedResolve, checkAddresses, checkBehindProxy } from "./addresses.ts";
import { resolveWithHost, type Resolve } from "./addresses.ts";
import { createCertificateAuthority, type CertificateAuthority } from "./certificates.ts";
import { createDialler, type DialOverrides } from "./dial.ts";
import { Door } from "./door.ts";
import { SharedBytes, doorLimits, type DoorLimits } from "./doorLimits.ts";
import { sandboxEnvironment, writeCaFiles } from "./environment.ts";
import type { Waiting } from "./exchangeState.ts";
import { HeldCalls } from "./heldCalls.ts";
import { parseAuthority } from "./names.ts";
import { createUpstream } from "./upstream.ts";
import { proxyFromEnvironment, type ProxyFor } from "./upstreamProxy.ts";

/** Where the bridge listens inside the sandbox; the sandbox's network namespace is its own, so the port is free. */
export const defaultProxyUrl = "http://127.0.0.1:61080";

/** What a broker is started with. */
export interface BrokerOptions {
  /** The unix socket to listen on; its directory is mounted in the sandbox. */
  readonly doorSocket: string;
  readonly judge: Judge;
  readonly host: BrokerHost;
  /** `host` or `host:port` of the agent's model. */
  readonly modelHosts: readonly string[];
  /** Ours alone: bodies of held calls. */
  readonly stateDir: string;
  /** Where the public certificates are written; the sandbox sees it as `sandboxCaDir`. */
  readonly caFilesDir: string;
  readonly sandboxCaDir?: string;
  /** Where programs inside reach the bridge. */
  readonly proxyUrl?: string;
  readonly secrets?: readonly Secret[];
  /** Of `newAuthority`, which is being made already; left out: it is made now. */
  readonly authority?: Promise<CertificateAuthority>;
  /** How clients wait while their call is held; left out: a sign of life every 15 seconds, without limit. */
  readonly waiting?: Partial<Waiting>;
  /** A call may go out: it counts against the limits of the task. */
  readonly onPassed?: (facts: CallFacts) => void;
  /** A person approved a call as a rule from now on. */
  readonly onRuleApproved?: (facts: CallFacts, judgement: Judgement) => void;
  /** What tests set lower. */
  readonly limits?: Partial<DoorLimits>;
  /** What tests put in place of the world. */
  readonly upstream?: DialOverrides & { readonly resolve?: Resolve; readonly proxyFor?: ProxyFor };
}

/**
 * The certificate authority of one transaction: its public certificates are in `caFilesDir`, and those of the agent's model,
 * which it asks first, are being made.
 */
export async function newAuthority(
  caFilesDir: string,
  modelHosts: readonly string[],
): Promise<CertificateAuthority> {
  const authority = await createCertificateAuthority("Holdfast transaction");
  await writeCaFiles(caFilesDir, authority.certificate);
  for (const text of modelHosts) {
    const host = parseAuthority(text, 443)?.host;
    if (host !== undefined) authority.leafFor(host).catch(() => undefined); // told to whoever asks for it
  }
  return authority;
}

/** Opens the only door out of a sandbox (DESIGN §6). */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { host, judge, modelHosts, upstream: overrides = {} } = options;
  const sandboxCaDir = options.sandboxCaDir ?? "/run/holdfast";
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 });
  const certificates = await (options.authority ?? newAuthority(options.caFilesDir, modelHosts));
  const proxyFor = overrides.proxyFor ?? proxyFromEnvironment(process.env);
  const dialler = createDialler(proxyFor, overrides);
  const resolve = cachedResolve(overrides.resolve ?? resolveWithHost);
  const upstream = createUpstream(dialler);
  const limits = { ...doorLimits, ...options.limits };
  const held = await HeldCalls.open(host, options.stateDir, "broker", limits);
  const door = new Door(
    {
      host,
      judge,
      vault: new Vault(options.secrets ?? []),
      upstream,
      checked: (authority) =>
        proxyFor(authority) === undefined
          ? checkAddresses(authority.host, resolve)
          : checkBehindProxy(authority.host, resolve),
      isModelHost: modelHostTest(modelHosts),
      held,
      memory: new SharedBytes(limits.bodyBytes),
      waiting: { ...options.waiting, keepAliveSeconds: options.waiting?.keepAliveSeconds ?? 15 },
      ...(options.onPassed === undefined ? {} : { onPassed: options.onPassed }),
      ...(options.onRuleApproved === undefined ? {} : { onRuleApproved: options.onRuleApproved }),
    },
    certificates,
    dialler,
    limits,
  );
  // A socket that a killed supervisor left behind; the directory is ours alone.
  await rm(options.doorSocket, { force: true });
  await door.listen(options.doorSocket);
  // The sandbox may map to another user; who can enter the directory may use the door.
  await chmod(options.doorSocket, 0o666);
  return {
    env: sandboxEnvironment(options.proxyUrl ?? defaultProxyUrl, sandboxCaDir, modelHosts),
    async close() {
      // What waits first, then the outer side: nothing may start, and what is on its way is cut off.
      held.close();
      dialler.close();
      upstream.close();
      await door.close();
      await rm(options.doorSocket, { force: true });
    },
  };
}

function modelHostTest(
  modelHosts: readonly string[],
): (place: { readonly host: string; readonly port: number }) => boolean {
  const wanted = modelHosts.flatMap((text) => {
    const anyPort = !/^(?:\[.*\]|[^:]*):\d+$/.test(text);
    const authority = parseAuthority(text, 443);
    return authority === undefined ? [] : [{ ...authority, anyPort }];
  });
  return ({ host, port }) =>
    wanted.some((one) => one.host === host && (one.anyPort || one.port === port));
}
