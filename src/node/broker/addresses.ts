import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import type { CallFacts } from "../../core/policy/judge.ts";

export type AddressClass = CallFacts["address"];

/** The addresses of a name, looked up and classed; the very ones that are dialled, in this order. */
export interface CheckedAddresses {
  readonly addresses: readonly string[];
  readonly class: AddressClass;
}

/** Looks up every address of a name. Tests replace it; the default asks the host's resolver. */
export type Resolve = (
  host: string,
) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export const resolveWithHost: Resolve = async (host) => await lookup(host, { all: true });

const cacheMs = 30_000;

/** Remembers answers for half a minute. What is dialled is what was checked, so an old answer is not a wrong one. */
export function cachedResolve(resolve: Resolve): Resolve {
  const known = new Map<string, { readonly at: number; readonly answer: ReturnType<Resolve> }>();
  return (host) => {
    const cached = known.get(host);
    if (cached !== undefined && performance.now() - cached.at < cacheMs) return cached.answer;
    const answer = resolve(host);
    known.delete(host);
    known.set(host, { at: performance.now(), answer });
    answer.catch(() => known.delete(host));
    const oldest = known.keys().next().value;
    if (known.size > 1000 && oldest !== undefined) known.delete(oldest);
    return answer;
  };
}

const metadata = listOf(
  [],
  ["169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200"],
);
const loopback = listOf(["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"]);
const linkLocal = listOf(["169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8"]);
/** Private, shared, test, benchmark and reserved ranges (IANA special-purpose registries), and the transition
 * prefixes that carry an IPv4 address inside. */
const notPublic = listOf([
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "240.0.0.0/4",
  "fc00::/7",
  "fec0::/10",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "5f00::/16",
  "::/96",
]);

function listOf(ranges: readonly string[], addresses: readonly string[] = []): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", prefix = ""] = range.split("/");
    list.addSubnet(network, Number(prefix), network.includes(":") ? "ipv6" : "ipv4");
  }
  for (const address of addresses) {
    list.addAddress(address, address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}

/** Classes of the addresses asked for last: the lists are slow, and few addresses are dialled often. */
const knownClasses = new Map<string, AddressClass>();
const mostKnown = 1000;

/** What kind of place an IP address is. */
export function classOfAddress(address: string): AddressClass {
  const known = knownClasses.get(address);
  if (known !== undefined) return known;
  if (knownClasses.size >= mostKnown) knownClasses.clear();
  const found = classByLists(address);
  knownClasses.set(address, found);
  return found;
}

function classByLists(address: string): AddressClass {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (metadata.check(address, family)) return "metadata";
  if (loopback.check(address, family)) return "loopback";
  if (linkLocal.check(address, family)) return "linkLocal";
  return notPublic.check(address, family) ? "private" : "public";
}

/** What is known of a canonical host without asking any resolver: a look-up is itself a message to the outside. */
export function classBeforeLookup(host: string): AddressClass {
  if (isIP(host) !== 0) return classOfAddress(host);
  if (loopbackNames.test(host)) return "loopback";
  if (metadataNames.has(host)) return "metadata";
  return "unresolved";
}

/** RFC 6761, and what the hosts files of distributions have. */
const loopbackNames =
  /(?:^|\.)localhost$|^(?:localhost\.localdomain|localhost[46]|ip6-(?:localhost|loopback))$/;
/** What clouds call the address from which machines read their credentials. */
const metadataNames: ReadonlySet<string> = new Set([
  "instance-data",
  "instance-data.ec2.internal",
  "metadata",
  "metadata.goog",
  "metadata.google.internal",
]);
/** Names that no public zone has (RFC 6762, RFC 8375, RFC 9476, ICANN's list of names kept out of the root). */
const insideNames =
  /^[^.]+$|\.(?:alt|corp|home|home\.arpa|in-addr\.arpa|internal|intranet|ip6\.arpa|lan|local|localdomain|mail|onion|private)$/;

/**
 * The same where a proxy of the network looks the name up, and dials what it finds: only it knows that address. A name that
 * leads inside by what it is called, or by what this machine finds, is classed so. A name that this machine knows nothing
 * of is left to the proxy, as is one with another answer there: see the threat model.
 */
export async function checkBehindProxy(host: string, resolve: Resolve): Promise<CheckedAddresses> {
  if (isIP(host) === 0 && insideNames.test(host)) return { addresses: [], class: "private" };
  try {
    return await checkAddresses(host, resolve);
  } catch {
    return { addresses: [], class: "public" };
  }
}

/** Resolves a canonical host to the addresses that may be dialled. Where a name has addresses of several classes the
 * least public one counts, so that a mixed answer cannot smuggle a private address past the check. */
export async function checkAddresses(host: string, resolve: Resolve): Promise<CheckedAddresses> {
  if (isIP(host) !== 0) return { addresses: [host], class: classOfAddress(host) };
  const found = await resolve(host);
  const addresses = found.map((entry) => entry.address).filter((address) => isIP(address) !== 0);
  const classes = addresses.map(classOfAddress);
  const strictest = classes.find((one) => one !== "public") ?? classes[0];
  if (strictest === undefined) throw new Error(`no address for ${host}`);
  return { addresses, class: strictest };
}
