import assert from "node:assert/strict";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { callFacts } from "../../src/node/broker/callFacts.ts";
import { decodeBody } from "../../src/node/broker/contentDecoding.ts";
import { SharedBytes } from "../../src/node/broker/doorLimits.ts";
import { encodingOf, type Header } from "../../src/node/broker/headers.ts";
import { webSocketFilter } from "../../src/node/broker/webSocketFrames.ts";
import { Vault } from "../../src/node/secrets/vault.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";

const pktLine = (text: string): string => (text.length + 4).toString(16).padStart(4, "0") + text;
const [old, fresh] = ["1".repeat(40), "2".repeat(40)];

/** Bodies that mean something, to be damaged. */
const sound: readonly (readonly [type: string, path: string, body: string])[] = [
  [
    "application/json",
    "/v1/things",
    '{"inputs":[{"id":"1"},{"id":"2"}],"a":{"b":[true,null,1.5]}}',
  ],
  ["application/x-www-form-urlencoded", "/v1/things", "a=1&b%5B%5D=2&b%5B%5D=%F0%9F%98%80"],
  [
    "multipart/form-data; boundary=B",
    "/upload",
    '--B\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nx\r\n--B--\r\n',
  ],
  ["application/json", "/graphql", '{"query":"mutation M($a: ID!) { drop(id: $a) { id } }"}'],
  [
    "application/x-git-receive-pack-request",
    "/r.git/git-receive-pack",
    `${pktLine(`${old} ${fresh} refs/heads/main\0 report-status side-band-64k`)}0000PACK\0\0\0\x02\0\0\0\x01\x90\x05x\x9c\x03\0\0\0\0\x01`,
  ],
  ["application/x-ndjson", "/_bulk", '{"delete":{"_id":"1"}}\n{"index":{}}\n{"a":1}\n'],
];

const encoders: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  "": (bytes) => bytes,
  identity: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes),
};

/** A body of which pieces are cut out, doubled, or replaced. */
const damaged = (bytes: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc
    .array(
      fc.record({
        at: fc.nat(bytes.length),
        length: fc.nat(12),
        put: fc.oneof(fc.constant(undefined), fc.uint8Array({ maxLength: 6 })),
      }),
      { maxLength: 4 },
    )
    .map((edits) =>
      edits.reduce<Uint8Array>((now, { at, length, put }) => {
        const cut = now.subarray(at, at + length);
        return Buffer.concat([
          now.subarray(0, at),
          put ?? cut,
          now.subarray(put === undefined ? at : at + length),
        ]);
      }, bytes),
    );

describe("bodies, whatever comes", () => {
  it("are understood or said not to be, before and after their encoding was damaged", () => {
    const body = fc.constantFrom(...sound).chain(([type, path, text]) => {
      const plain = Buffer.from(text, "latin1");
      return fc.constantFrom(...Object.keys(encoders)).chain((encoding) =>
        fc
          .oneof(
            damaged(plain).map((bytes) => encoders[encoding]?.(bytes) ?? bytes),
            damaged(Buffer.from(encoders[encoding]?.(plain) ?? plain)),
          )
          .map((bytes) => ({ type, path, encoding, bytes })),
      );
    });
    fc.assert(
      fc.property(body, fc.boolean(), ({ type, path, encoding, bytes }, complete) => {
        const headers: Header[] = [["Content-Type", type]];
        if (encoding !== "") headers.push(["Content-Encoding", encoding]);
        const facts = callFacts({
          scheme: "https",
          method: "POST",
          authority: { host: "x.test", port: 443 },
          target: { path, query: undefined, pairs: [] },
          headers,
          body: bytes,
          decoded: decodeBody(bytes, encoding, complete),
          complete,
          declaredBytes: bytes.length,
          secrets: [],
          modelHost: false,
        });
        if (facts.bodyType === "opaque") assert.equal(typeof facts.bodyProblem, "string");
        assert.equal(facts.bodyBytes, bytes.length);
      }),
      { numRuns: fuzzRuns(300) },
    );
  });

  it("are not decoded when something stands behind their end, where some origin reads on", () => {
    const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();
    const ends = [Buffer.alloc(8), Buffer.concat([Buffer.alloc(8), gzipSync("hidden")])];
    const codings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
    for (const [encoding, encode] of Object.entries(codings)) {
      assert.equal(text(decodeBody(encode("seen"), encoding, true)), "seen", encoding);
      for (const end of ends) {
        assert.equal(decodeBody(Buffer.concat([encode("seen"), end]), encoding, true), undefined);
      }
    }
    const members = Buffer.concat([gzipSync("one,"), gzipSync("two")]);
    assert.equal(text(decodeBody(members, "gzip", true)), "one,two");
  });

  it("are never taken for plain when any of their encodings is not", () => {
    const token = fc.constantFrom("gzip", "identity", "br", "zstd", "", " GZIP ", "x-gzip");
    fc.assert(
      fc.property(fc.array(fc.array(token, { maxLength: 3 }), { maxLength: 3 }), (lines) => {
        const headers = lines.map((line): Header => ["Content-Encoding", line.join(",")]);
        const real = lines.flat().map((one) => one.trim().toLowerCase());
        const coded = real.some((one) => one !== "" && one !== "identity");
        assert.equal(encodingOf(headers) !== "", coded);
      }),
      { numRuns: fuzzRuns(200) },
    );
  });
});

describe("frames of a WebSocket, whatever comes", () => {
  const vault = new Vault([
    { name: "KEY", value: "a-value-to-be-found", bindings: [{ host: "x.test" }] },
  ]);

  /** Runs pieces through a filter that scrubs; gives what came out, or the error that ended it. */
  async function filtered(pieces: readonly Uint8Array[]): Promise<Buffer | Error> {
    const memory = new SharedBytes(1e9);
    const passes = { message: () => vault.scrubber(), control: (payload: Buffer) => payload };
    const filter = webSocketFilter(passes, memory);
    const out: Buffer[] = [];
    filter.on("data", (chunk: Buffer) => out.push(chunk));
    const ended = new Promise<Buffer | Error>((resolve) => {
      filter.once("error", resolve);
      filter.once("end", () => resolve(Buffer.concat(out)));
    });
    for (const piece of pieces) filter.write(piece);
    filter.end();
    return await ended;
  }

  const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  const cut = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
    const pieces: Buffer[] = [];
    for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1;
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    return pieces;
  };

  /** The same frames with the key of each as zeros: a new one is drawn each time. */
  function unmasked(frames: Buffer): Buffer {
    const out = Buffer.from(frames);
    for (let at = 0; at + 1 < out.length;) {
      const second = out[at + 1] ?? 0;
      const short = second & 0x7f;
      const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
      const begin = at + 2 + extended;
      const length =
        extended === 2
          ? out.readUInt16BE(at + 2)
          : extended === 8
            ? Number(out.readBigUInt64BE(at + 2))
            : short;
      const body = begin + (second >= 0x80 ? 4 : 0);
      if (body > begin) {
        const key = Buffer.from(out.subarray(begin, body));
        for (let index = 0; body + index < Math.min(out.length, body + length); index += 1) {
          out[body + index] = (out[body + index] ?? 0) ^ (key[index % 4] ?? 0);
        }
        out.fill(0, begin, body);
      }
      at = body + length;
    }
    return out;
  }

  it("end the same way in whatever pieces they come", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), cuts, async (bytes, sizes) => {
        const [whole, pieces] = [
          await filtered([bytes]),
          await filtered(cut(Buffer.from(bytes), sizes)),
        ];
        assert.equal(whole instanceof Error, pieces instanceof Error);
        if (Buffer.isBuffer(whole) && Buffer.isBuffer(pieces)) {
          assert.deepEqual(unmasked(pieces), unmasked(whole));
        }
      }),
      { numRuns: fuzzRuns(150) },
    );
  });

  it("hold no value after the filter, however a message is spread over frames", async () => {
    const text = "before a-value-to-be-found after";
    await fc.assert(
      fc.asyncProperty(cuts, cuts, async (frames, pieces) => {
        const parts = cut(Buffer.from(text), frames);
        const bytes = Buffer.concat(
          parts.map((part, index) => {
            const last = index === parts.length - 1 ? 0x80 : 0;
            return Buffer.concat([Buffer.from([last | (index === 0 ? 1 : 0), part.length]), part]);
          }),
        );
        const out = await filtered(cut(bytes, pieces));
        assert.ok(Buffer.isBuffer(out));
        let message = "";
        for (let at = 0; at < out.length;) {
          const size = out[at + 1] ?? 0;
          message += out.toString("latin1", at + 2, at + 2 + size);
          at += 2 + size;
        }
        assert.equal(message, "before $HOLDFAST_SECRET_KEY after");
      }),
      { numRuns: fuzzRuns(100) },
    );
  });
});
