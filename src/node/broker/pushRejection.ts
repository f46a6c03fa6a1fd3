import type { GitFacts } from "../../core/policy/judge.ts";

/** The answer to a push that was not sent, in git's own protocol (gitprotocol-pack, "Report Status"), so that the client
 * prints the reason beside each ref; `undefined` when the client did not ask for a report. */
export function pushRejection(git: GitFacts, body: Uint8Array, reason: string): Buffer | undefined {
  const capabilities = capabilitiesOf(body);
  if (!/\breport-status(?:-v2)?\b/.test(capabilities)) return undefined;
  const short = reason.replaceAll(/\s+/g, " ").slice(0, 500);
  const report = Buffer.concat([
    packetLine("unpack ok\n"),
    ...git.refs.map(({ ref }) => packetLine(`ng ${ref} ${short}\n`)),
    Buffer.from("0000"),
  ]);
  if (!/\bside-band-64k\b/.test(capabilities)) return report;
  return Buffer.concat([
    packetLine(`\x02Holdfast: ${short}\n`),
    packetLine(Buffer.concat([Buffer.from([1]), report])),
    Buffer.from("0000"),
  ]);
}

function capabilitiesOf(body: Uint8Array): string {
  const length = Number.parseInt(Buffer.from(body.subarray(0, 4)).toString("latin1"), 16);
  const line = Buffer.from(body.subarray(4, length)).toString("latin1");
  return line.split("\0")[1] ?? "";
}

function packetLine(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const length = (bytes.length + 4).toString(16).padStart(4, "0");
  return Buffer.concat([Buffer.from(length), bytes]);
}
