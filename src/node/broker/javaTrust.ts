import { createHash } from "node:crypto";
import { accessSync, constants } from "node:fs";
import path from "node:path";

/** Protects nothing, because a trust store holds no secret; the format wants one. */
const password = "changeit";

/** A Java trust store (JKS, version 2) of some PEM certificates, so that a JVM trusts what the other clients trust. */
export function javaTrustStore(certificates: readonly string[], at: Date): Buffer {
  const parts: Buffer[] = [uint(0xfeedfeed, 4), uint(2, 4), uint(certificates.length, 4)];
  for (const [index, pem] of certificates.entries()) {
    const der = derOf(pem);
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(at.getTime()));
    parts.push(
      uint(2, 4),
      text(`ca${String(index)}`),
      time,
      text("X.509"),
      uint(der.length, 4),
      der,
    );
  }
  const content = Buffer.concat(parts);
  // The format's own keyed digest: the password in UTF-16BE, a fixed phrase, the content.
  const digest = createHash("sha1")
    .update(Buffer.from(password, "utf16le").swap16())
    .update("Mighty Aphrodite")
    .update(content)
    .digest();
  return Buffer.concat([content, digest]);
}

/** The bytes in a PEM block. They are not looked into: to parse the hundred and more that a machine trusts takes long. */
function derOf(pem: string): Buffer {
  return Buffer.from(pem.replaceAll(/-----[A-Z ]+-----/g, ""), "base64");
}

function uint(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

function text(value: string): Buffer {
  return Buffer.concat([uint(value.length, 2), Buffer.from(value, "latin1")]);
}

/** A JVM ignores proxy and certificate variables; these properties say the same. */
export function javaOptions(proxyUrl: string, trustStore: string): string {
  const { hostname, port } = new URL(proxyUrl);
  const proxy = ["http", "https"].flatMap((scheme) => [
    `-D${scheme}.proxyHost=${hostname}`,
    `-D${scheme}.proxyPort=${port}`,
  ]);
  return [
    ...proxy,
    "-Dhttp.nonProxyHosts=localhost|127.*|[::1]",
    `-Djavax.net.ssl.trustStore=${trustStore}`,
    `-Djavax.net.ssl.trustStorePassword=${password}`,
  ].join(" ");
}

/** True when this machine has a JVM: only then is it worth that each one says on standard error what it picked up. */
export function hasJava(searchPath: string): boolean {
  return searchPath.split(path.delimiter).some((directory) => {
    try {
      accessSync(path.join(directory, "java"), constants.X_OK);
      return true;
    } catch {
      return false; // Not in this directory.
    }
  });
}
