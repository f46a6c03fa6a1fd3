import assert from "node:assert/strict";
import { isIP } from "node:net";
import fc from "fast-check";
import {
  checkBehindProxy,
  classBeforeLookup,
  classOfAddress,
} from "../../src/node/broker/addresses.ts";
import type { Resolve } from "../../src/node/broker/addresses.ts";
import { canonicalHost, parseAuthority } from "../../src/node/broker/names.ts";
import { parseTarget, targetText } from "../../src/node/broker/target.ts";

const hosts: Record<string, string | undefined> = {
  "example.com": "example.com",
  "EXAMPLE.Com": "example.com",
  "example.com.": "example.com",
  "example.com..": undefined,
  "bücher.example": "xn--bcher-kva.example",
  "xn--bcher-kva.example": "xn--bcher-kva.example",
  "xn--a.example": undefined,
  "ｅｘａｍｐｌｅ.com": "example.com",
  "example。com": "example.com",
  "_dmarc.example.com": "_dmarc.example.com",
  "a-.example.com": undefined,
  "127.0.0.1": "127.0.0.1",
  "127.1": "127.0.0.1",
  "2130706433": "127.0.0.1",
  "0x7f.1": "127.0.0.1",
  "0177.0.0.1": "127.0.0.1",
  "0x7f000001": "127.0.0.1",
  "127.0.0.1.": "127.0.0.1",
  "①②⑦.0.0.1": "127.0.0.1",
  "256.0.0.1": undefined,
  "1.2.3.4.5": undefined,
  "1.2.3.08": undefined,
  "::1": "::1",
  "[::1]": "::1",
  "[0:0:0:0:0:0:0:1]": "::1",
  "[::ffff:127.0.0.1]": "127.0.0.1",
  "[::ffff:7f00:1]": "127.0.0.1",
  "[fe80::1%25eth0]": undefined,
  "fe80::1%eth0": undefined,
  "[::1": undefined,
  "": undefined,
  ".": undefined,
  "a b": undefined,
  "a\0b": undefined,
  "evil.test\0.example.com": undefined,
  "user@example.com": undefined,
  "example.com/x": undefined,
  "example.com#": undefined,
  "exam%70le.com": undefined,
  "example.com\\@evil.test": undefined,
  "a\u200bb.com": undefined,
  "a\u202eb.com": undefined,
  [`${"a".repeat(64)}.com`]: undefined,
};

describe("broker: names", () => {
  for (const [text, wanted] of Object.entries(hosts)) {
    it(`takes ${JSON.stringify(text).slice(0, 40)} as ${wanted ?? "no host"}`, () => {
      assert.equal(canonicalHost(text), wanted);
    });
  }

  it("is canonical once and for all", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.domain(), fc.ipV6()),
        (text) => {
          const once = canonicalHost(text);
          if (once === undefined) return;
          assert.equal(canonicalHost(once), once);
          assert.match(once, /^[a-z0-9._:-]+$/);
        },
      ),
    );
  });

  it("agrees with the platform's URL parser about every host that both take", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4Extended(), fc.webAuthority()), (text) => {
        const ours = canonicalHost(text);
        if (ours === undefined || !URL.canParse(`http://${text}/`)) return;
        assert.equal(new URL(`http://${text}/`).hostname.replace(/\.$/, ""), ours);
      }),
    );
  });

  it("knows every spelling of a loopback address", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0x7f000000, max: 0x7fffffff }), (value) => {
        const parts = [24, 16, 8, 0].map((shift) => (value >> shift) & 255);
        const [a = 0, b = 0, c = 0, d = 0] = parts;
        const spellings = [
          String(value),
          `0x${value.toString(16)}`,
          parts.join("."),
          parts.map((part) => `0x${part.toString(16)}`).join("."),
          parts.map((part) => (part === 0 ? "0" : `0${part.toString(8)}`)).join("."),
          `${String(a)}.${String(b)}.${String(c * 256 + d)}`,
          `[::ffff:${parts.join(".")}]`,
        ];
        for (const spelling of spellings) {
          assert.equal(classBeforeLookup(canonicalHost(spelling) ?? ""), "loopback", spelling);
        }
      }),
    );
  });

  const authorities: Record<string, unknown> = {
    "example.com:443": { host: "example.com", port: 443 },
    "[::1]:80": { host: "::1", port: 80 },
    "example.com": undefined,
    "example.com:0": undefined,
    "example.com:65536": undefined,
    "example.com:443:444": undefined,
    "user:pass@example.com:443": undefined,
    "::1:443": undefined,
    "example.com:４４３": undefined,
  };
  for (const [text, wanted] of Object.entries(authorities)) {
    it(`reads the authority ${text}`, () => assert.deepEqual(parseAuthority(text), wanted));
  }
});

describe("broker: addresses", () => {
  for (const [name, wanted] of [
    ["a.localhost", "loopback"],
    ["localhost.localdomain", "loopback"],
    ["ip6-loopback", "loopback"],
    ["metadata.google.internal", "metadata"],
    ["instance-data.ec2.internal", "metadata"],
    ["notlocalhost", "unresolved"],
    ["metadata.example.org", "unresolved"],
  ] as const) {
    it(`knows ${name} without asking: ${wanted}`, () =>
      assert.equal(classBeforeLookup(name), wanted));
  }

  const knows: Record<string, string> = {
    "split.example": "10.1.2.3",
    "far.example": "93.184.216.34",
  };
  for (const [host, wanted] of [
    ["far.example", "public"],
    ["known-to-the-proxy-alone.example", "public"],
    ["split.example", "private"],
    ["printer", "private"],
    ["router.lan", "private"],
    ["db.corp.internal", "private"],
    ["10.0.0.1", "private"],
    ["169.254.169.254", "metadata"],
  ] as const) {
    it(`classes what a proxy of the network looks up: ${host} is ${wanted}`, async () => {
      const resolve: Resolve = (name) => {
        const address = knows[name];
        return address === undefined
          ? Promise.reject(new Error("ENOTFOUND"))
          : Promise.resolve([{ address, family: 4 }]);
      };
      assert.equal((await checkBehindProxy(host, resolve)).class, wanted);
    });
  }

  const classes: Record<string, string> = {
    "93.184.216.34": "public",
    "2606:2800:220:1::1": "public",
    "127.8.8.8": "loopback",
    "0.0.0.0": "loopback",
    "::1": "loopback",
    "::": "loopback",
    "10.0.0.1": "private",
    "172.31.255.255": "private",
    "172.32.0.1": "public",
    "192.168.1.1": "private",
    "100.64.0.1": "private",
    "fd00::1": "private",
    "64:ff9b::7f00:1": "private",
    "2002:7f00:1::": "private",
    "169.254.1.1": "linkLocal",
    "fe80::1": "linkLocal",
    "224.0.0.1": "linkLocal",
    "169.254.169.254": "metadata",
    "fd00:ec2::254": "metadata",
    "::ffff:10.0.0.1": "private",
  };
  for (const [address, wanted] of Object.entries(classes)) {
    it(`takes ${address} for ${wanted}`, () => assert.equal(classOfAddress(address), wanted));
  }

  it("takes no IPv4 address inside IPv6 for public", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const canonical = canonicalHost(`[::ffff:${address}]`) ?? "";
        assert.equal(isIP(canonical), 4);
        assert.equal(classOfAddress(canonical), classOfAddress(address));
      }),
    );
  });
});

describe("broker: targets", () => {
  const targets: Record<string, string | undefined> = {
    "/": "/",
    "/a/../b": "/b",
    "/a/./b/": "/a/b/",
    "/../../x": "/x",
    "/a/..": "/",
    "/%61%2e%2E/b": "/a../b",
    "/x/%2e%2e/y": "/y",
    "/a%2fb": "/a%2Fb",
    "/a//b": "/a//b",
    "/q?x=%zz&y=1": "/q?x=%zz&y=1",
    "/%zz": undefined,
    "/%00": undefined,
    "/a b": undefined,
    "/a\\b": undefined,
    "/a#b": undefined,
    "*": undefined,
    "//evil.test/x": "//evil.test/x",
  };
  for (const [text, wanted] of Object.entries(targets)) {
    it(`reads ${text}`, () => {
      const target = parseTarget(text);
      assert.equal(target === undefined ? undefined : targetText(target), wanted);
    });
  }

  it("is canonical once and for all, and never above the root", () => {
    fc.assert(
      fc.property(fc.oneof(fc.webPath(), fc.string()), (text) => {
        const once = parseTarget(`/${text}`);
        if (once === undefined) return;
        assert.equal(targetText(parseTarget(targetText(once))!), targetText(once));
        assert.doesNotMatch(once.path, /(?:^|\/)\.\.?(?:\/|$)/);
      }),
    );
  });
});
