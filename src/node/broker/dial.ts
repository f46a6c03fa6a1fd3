import { readFileSync } from "node:fs";
import { connect as connectSocket, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, rootCertificates } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import { authorityText, type Authority } from "./names.ts";
import type { ProxyFor } from "./upstreamProxy.ts";

/** Where a connection goes: the judged authority and the addresses that were checked for it. */
export interface Destination {
  readonly authority: Authority;
  readonly addresses: readonly string[];
}

/** What a test may put in place of the world. */
export interface DialOverrides {
  /** More certificates to trust, PEM. */
  readonly trust?: readonly string[];
  /** Another place to connect to, after everything was checked. */
  readonly connectTo?: (authority: Authority) => Authority | undefined;
}

/** Opens connections to the outside; the only code of the broker that does. */
export interface Dialler {
  /** Plain TCP to a checked address, or through the upstream proxy. */
  plain(destination: Destination, signal: AbortSignal): Promise<Socket>;
  /** TLS on top, the certificate verified against the host's trust store for the judged name. */
  secure(
    destination: Destination,
    protocols: readonly string[],
    signal: AbortSignal,
  ): Promise<TLSSocket>;
  /** Breaks off every connection, used or not, and opens none from now on. */
  close(): void;
}

const connectTimeoutMs = 30_000;

export function createDialler(proxyFor: ProxyFor, overrides: DialOverrides): Dialler {
  let context: SecureContext | undefined;
  let closed = false;
  const refuseIfShut = (socket?: Socket): void => {
    if (!closed) return;
    socket?.destroy();
    throw new Error("the door is shut");
  };
  const open = new Set<Socket>();
  const plain: Dialler["plain"] = async (destination, signal) => {
    refuseIfShut();
    const socket = await connected(destination, signal);
    // It may have been shut while this one connected.
    refuseIfShut(socket);
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    return socket;
  };
  const connected: Dialler["plain"] = async (destination, signal) => {
    const elsewhere = overrides.connectTo?.(destination.authority);
    if (elsewhere !== undefined)
      return await connectFirst([elsewhere.host], elsewhere.port, signal);
    const proxy = proxyFor(destination.authority);
    if (proxy !== undefined) return await proxy.tunnel(destination.authority, signal);
    return await connectFirst(destination.addresses, destination.authority.port, signal);
  };
  return {
    plain,
    async secure(destination, protocols, signal) {
      const socket = await plain(destination, signal);
      context ??= createSecureContext({ ca: [...hostTrust(), ...(overrides.trust ?? [])] });
      return await secured(socket, destination.authority, protocols, context, signal);
    },
    close() {
      closed = true;
      for (const socket of open) socket.destroy();
    },
  };
}

/** The certificates that this machine trusts: the file that its administrator keeps, with Node's own as a fallback. */
export function hostTrust(): readonly string[] {
  const files = [
    process.env["SSL_CERT_FILE"],
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
  ].filter((file) => file !== undefined && file !== "");
  const bundle = firstReadable(files);
  const extra = firstReadable([process.env["NODE_EXTRA_CA_CERTS"] ?? ""]);
  return [...(bundle ?? rootCertificates), ...(extra ?? [])];
}

function firstReadable(files: readonly (string | undefined)[]): string[] | undefined {
  for (const file of files) {
    if (file === undefined || file === "") continue;
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch {
      continue; // A bundle that this distribution does not have.
    }
    const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
    if (found !== null) return [...found];
  }
  return undefined;
}

/** Tries each address in turn. */
async function connectFirst(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown = new Error("no address to connect to");
  for (const address of addresses) {
    signal.throwIfAborted();
    try {
      return await connectOne(address, port, signal);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

export async function connectOne(
  address: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const socket = connectSocket({ host: address, port, noDelay: true, keepAlive: true });
    settleOnce(socket, "connect", signal, () => resolve(socket), reject);
  });
}

async function secured(
  socket: Socket,
  authority: Authority,
  protocols: readonly string[],
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  return await new Promise((resolve, reject) => {
    const tls = connectTls({
      socket,
      secureContext,
      host: authority.host,
      ...(isIP(authority.host) === 0 ? { servername: authority.host } : {}),
      ALPNProtocols: [...protocols],
    });
    const explain = (error: Error): void =>
      reject(new Error(`TLS to ${authorityText(authority)}: ${error.message}`, { cause: error }));
    settleOnce(tls, "secureConnect", signal, () => resolve(tls), explain);
  });
}

function settleOnce(
  socket: Socket,
  event: string,
  signal: AbortSignal,
  succeed: () => void,
  fail: (error: Error) => void,
): void {
  const done = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    socket.off(event, onReady).off("error", onError).off("close", onClose);
  };
  const stop = (error: Error): void => {
    done();
    // A late error of a socket that nobody waits for must not become an uncaught exception.
    socket.on("error", () => undefined);
    socket.destroy();
    fail(error);
  };
  const onReady = (): void => {
    done();
    succeed();
  };
  const onError = (error: Error): void => stop(error);
  const onClose = (): void => stop(new Error("the connection was closed at once"));
  const onAbort = (): void => stop(new Error("given up"));
  const timer = setTimeout(() => stop(new Error("connecting took too long")), connectTimeoutMs);
  socket.once(event, onReady).once("error", onError).once("close", onClose);
  signal.addEventListener("abort", onAbort, { once: true });
}
