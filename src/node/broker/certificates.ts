// The certificate library's container needs the metadata polyfill to be loaded first.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";

const signing = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const day = 24 * 60 * 60 * 1000;
const maximalLeaves = 1000;

/** A leaf certificate with its chain, and its key, both PEM. */
export interface Leaf {
  readonly key: string;
  readonly cert: string;
}

/** The certificate authority of one transaction: its private key lives in this process's memory only. */
export interface CertificateAuthority {
  /** PEM of the CA certificate, for the sandbox's trust stores. */
  readonly certificate: string;
  /** The certificate for one canonical host, made on first use. All leaves share one key. */
  leafFor(host: string): Promise<Leaf>;
}

/** Makes a P-256 CA that can sign leaves only, and one leaf key. */
export async function createCertificateAuthority(name: string): Promise<CertificateAuthority> {
  x509.cryptoProvider.set(webcrypto);
  const caKeys = await generateKeys();
  const leafKeys = await generateKeys();
  const leafPem = x509.PemConverter.encode(
    await webcrypto.subtle.exportKey("pkcs8", leafKeys.privateKey),
    "PRIVATE KEY",
  );
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    // Clocks of sandbox and host are the same one, but tools compare with whole days.
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + 365 * day),
    signingAlgorithm: signing,
    keys: caKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const leaves = new Map<string, Promise<Leaf>>();
  const issue = async (host: string): Promise<Leaf> => {
    const leaf = await issueLeaf(ca, caKeys, leafKeys, host);
    return { key: leafPem, cert: `${leaf}\n${ca.toString("pem")}\n` };
  };
  return {
    certificate: `${ca.toString("pem")}\n`,
    leafFor(host) {
      const known = leaves.get(host);
      if (known !== undefined) return known;
      const leaf = issue(host);
      leaves.set(host, leaf);
      const oldest = leaves.keys().next().value;
      if (leaves.size > maximalLeaves && oldest !== undefined) leaves.delete(oldest);
      return leaf;
    },
  };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(signing, true, ["sign", "verify"]);
}

async function issueLeaf(
  ca: x509.X509Certificate,
  caKeys: webcrypto.CryptoKeyPair,
  leafKeys: webcrypto.CryptoKeyPair,
  host: string,
): Promise<string> {
  const leaf = await x509.X509CertificateGenerator.create({
    // The common name is limited to 64 characters; the alternative name is what clients compare.
    subject: host.length <= 64 ? `CN=${host.replaceAll(":", "-")}` : "CN=holdfast",
    issuer: ca.subject,
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + 90 * day),
    signingAlgorithm: signing,
    signingKey: caKeys.privateKey,
    publicKey: leafKeys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: isIP(host) === 0 ? "dns" : "ip", value: host },
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(leafKeys.publicKey),
    ],
  });
  return leaf.toString("pem");
}
