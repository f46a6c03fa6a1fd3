import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { authorityText, type Authority } from "./names.ts";

/** A proxy between this machine and the outside, as corporate networks have. */
export interface UpstreamProxy {
  tunnel(authority: Authority, signal: AbortSignal): Promise<Socket>;
}

export type ProxyFor = (authority: Authority) => UpstreamProxy | undefined;

/** Reads the supervisor's own proxy variables (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, either case). */
export function proxyFromEnvironment(env: Readonly<Record<string, string | undefined>>): ProxyFor {
  const of = (name: string): string | undefined => {
    const value = env[name.toLowerCase()] ?? env[name];
    return value === undefined || value === "" ? undefined : value;
  };
  const exceptions = (of("NO_PROXY") ?? "").split(/[\s,]+/).filter((one) => one !== "");
  const secure = of("HTTPS_PROXY") ?? of("ALL_PROXY");
  const plain = of("HTTP_PROXY") ?? of("ALL_PROXY");
  return (authority) => {
    const url = authority.port === 80 ? plain : secure;
    if (url === undefined || exceptions.some((one) => isException(one, authority)))
      return undefined;
    return proxyAt(new URL(url.includes("://") ? url : `http://${url}`));
  };
}

function isException(pattern: string, authority: Authority): boolean {
  if (pattern === "*") return true;
  const [host = "", port] = pattern.toLowerCase().split(":");
  if (port !== undefined && Number(port) !== authority.port) return false;
  const suffix = host.replace(/^\*?\./, "");
  return authority.host === suffix || authority.host.endsWith(`.${suffix}`);
}

function proxyAt(url: URL): UpstreamProxy {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    tunnel: async (authority, signal) =>
      await new Promise((resolve, reject) => {
        const target = authorityText(authority);
        const connecting = request({
          host: url.hostname,
          port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : url.port,
          method: "CONNECT",
          path: target,
          agent: false,
          signal,
          headers: {
            host: target,
            ...(url.username === ""
              ? {}
              : { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` }),
          },
        });
        connecting.once("error", reject);
        connecting.once("response", (response) => {
          response.destroy();
          reject(new Error(`the upstream proxy answered ${String(response.statusCode)}`));
        });
        connecting.once("connect", (response, socket, head) => {
          if (response.statusCode !== 200) {
            socket.destroy();
            reject(new Error(`the upstream proxy answered ${String(response.statusCode)}`));
            return;
          }
          if (head.length > 0) socket.unshift(head);
          resolve(socket);
        });
        connecting.end();
      }),
  };
}
