import { bridgePort, doorInside, nativeInside, sandboxHome } from "./insidePaths.ts";

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Variables that point programs to the only way out, the bridge to the broker. Loopback inside is the sandbox's own. */
function proxyVariables(): Readonly<Record<string, string>> {
  const proxy = `http://127.0.0.1:${bridgePort}`;
  const direct = "localhost,127.0.0.1,::1";
  const variables: Record<string, string> = {};
  for (const name of ["http_proxy", "https_proxy", "all_proxy"]) {
    variables[name] = proxy;
    variables[name.toUpperCase()] = proxy;
  }
  return { ...variables, no_proxy: direct, NO_PROXY: direct };
}

/** The agent's whole environment: nothing of the host's but what the launch names. */
export function sandboxEnvironment(
  launch: Readonly<Record<string, string>>,
  door: boolean,
): Readonly<Record<string, string>> {
  return {
    PATH: systemPath,
    HOME: sandboxHome,
    USER: "agent",
    LOGNAME: "agent",
    SHELL: "/bin/bash",
    LANG: "C.UTF-8",
    TMPDIR: "/tmp",
    HOLDFAST: "1",
    HOLDFAST_NATIVE: nativeInside,
    ...(door ? { HOLDFAST_AGENT_SOCK: `${doorInside}/agent.sock`, ...proxyVariables() } : {}),
    ...launch,
  };
}
