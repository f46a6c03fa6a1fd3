import { mkdir, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { hostTrust } from "./dial.ts";
import { hasJava, javaOptions, javaTrustStore } from "./javaTrust.ts";
import { parseAuthority } from "./names.ts";

const trustStoreName = "ca-bundle.jks";
const loopbackNames = ["localhost", "127.0.0.1", "::1"];

/** Every variable by which a common client finds its certificate bundle; each names the full bundle, because most
 * clients take it in place of their own. */
const bundleVariables = [
  "AWS_CA_BUNDLE",
  "BUNDLE_SSL_CA_CERT",
  "CARGO_HTTP_CAINFO",
  "CURL_CA_BUNDLE",
  "DENO_CERT",
  "GIT_SSL_CAINFO",
  "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
  "NIX_SSL_CERT_FILE",
  "PIP_CERT",
  "REQUESTS_CA_BUNDLE",
  "SSL_CERT_FILE",
  "npm_config_cafile",
] as const;

/** Writes the public certificates where the sandbox sees them: `ca.pem` (ours), `ca-bundle.pem` (ours and the host's),
 * and the same for a JVM. */
export async function writeCaFiles(directory: string, certificate: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(join(directory, "ca.pem"), certificate, { mode: 0o644 });
  const trusted = [certificate.trimEnd(), ...hostTrust()];
  const bundle = `${trusted.join("\n")}\n`;
  await writeFile(join(directory, "ca-bundle.pem"), bundle, { mode: 0o644 });
  const store = javaTrustStore(trusted, new Date());
  await writeFile(join(directory, trustStoreName), store, { mode: 0o644 });
}

/** git 2.39 with curl 7.88 (Debian 12) waits for ever at the end of some large pushes over HTTP/2: curl asks for more after the
 * end, and git then reads a pipe that nobody writes. Git itself gains nothing from HTTP/2. */
const gitSettings = {
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "http.version",
  GIT_CONFIG_VALUE_0: "HTTP/1.1",
} as const;

/** The environment of programs inside: where the proxy is and whom to trust. Loopback is the sandbox's own, except a
 * loopback address that is the agent's model: that one lies outside. */
export function sandboxEnvironment(
  proxyUrl: string,
  caDirectory: string,
  modelHosts: readonly string[],
): Readonly<Record<string, string>> {
  const outside = new Set(modelHosts.map((one) => parseAuthority(one, 443)?.host));
  const noProxy = loopbackNames.filter((name) => !outside.has(name)).join(",");
  const bundle = posix.join(caDirectory, "ca-bundle.pem");
  const env: Record<string, string> = {
    NODE_EXTRA_CA_CERTS: posix.join(caDirectory, "ca.pem"),
    NODE_USE_ENV_PROXY: "1",
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    ...gitSettings,
  };
  for (const name of bundleVariables) env[name] = bundle;
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]) {
    env[name] = proxyUrl;
    env[name.toLowerCase()] = proxyUrl;
  }
  if (hasJava(process.env["PATH"] ?? "")) {
    env["JAVA_TOOL_OPTIONS"] = javaOptions(proxyUrl, posix.join(caDirectory, trustStoreName));
  }
  return env;
}
