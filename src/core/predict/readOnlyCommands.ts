import { invocation } from "./commandTable.ts";
import type { SimpleCommand } from "./simpleCommands.ts";
import { unwrap } from "./wrappers.ts";

const readers = new Set(
  (
    "cat head tail less more ls ll dir tree stat file wc grep egrep fgrep rg awk cut sort uniq tr diff cmp comm paste column jq yq xxd od hexdump " +
    "strings cd pwd echo printf true false test [ env printenv whoami id groups hostname uname date uptime df du free top htop ps pgrep lsof ss " +
    "netstat ip ifconfig who w last history which type command journalctl dmesg lscpu lsblk lsusb lspci nproc sleep basename dirname realpath " +
    "readlink md5sum sha1sum sha256sum nvidia-smi vmstat iostat sensors getent locale find exit export set read for if"
  ).split(" "),
);

const verbs: Readonly<Record<string, RegExp>> = {
  docker:
    /^(?:ps|logs|inspect|images|image (?:ls|inspect)|stats|top|version|info|port|diff|events|container (?:ls|logs|inspect)|volume (?:ls|inspect)|network (?:ls|inspect)|system df|compose (?:ps|logs|config|images|top|ls|version))\b/,
  podman: /^(?:ps|logs|inspect|images|stats|top|version|info)\b/,
  "docker-compose": /^(?:ps|logs|config|images|top|version)\b/,
  systemctl: /^(?:status|show|list-\S+|is-\S+|cat)\b/,
  service: /\bstatus$/,
  git: /^(?:status|log|diff|show|branch|rev-parse|remote|ls-files|describe|blame)\b/,
  kubectl: /^(?:get|describe|logs|top|version|config)\b/,
  pm2: /^(?:ls|list|status|logs|show|describe|info|prettylist|jlist)\b/,
  crontab: /^$/,
  dpkg: /^$/,
  apt: /^(?:list|show|search|policy)\b/,
  npm: /^(?:ls|list|view|version)\b/,
  sqlite3: /select/i,
};

const writingFlags: Readonly<Record<string, RegExp>> = {
  find: /^-(?:delete|exec|execdir|ok|fprint)/,
  sort: /^(?:-o|--output)/,
  journalctl: /^--(?:vacuum|rotate|flush)/,
  ip: /^(?:add|del|set|flush)$/,
  date: /^(?:-s|--set)/,
  hostname: /^[^-]/,
  sed: /^(?:-i|--in-place)/,
};

/** Whether a command, run on another machine, only looks at it. */
export function onlyReads(command: SimpleCommand): boolean {
  const inner = unwrap(command.words);
  if (inner.kind === "words") return inner.words.length === 0 || onlyReads({ words: inner.words });
  if (inner.kind === "script") return false;
  const call = invocation(command.words);
  if (call.program === "docker" || call.program === "docker-compose") {
    const within = insideContainer(call.operands);
    if (within !== undefined) return onlyReads({ words: within });
  }
  const writes = writingFlags[call.program];
  if (writes !== undefined && call.args.some((one) => writes.test(one))) return false;
  if (call.program === "sed" || readers.has(call.program)) return true;
  if (call.flags.has("--version") || call.flags.has("-v")) return true;
  return (
    verbs[call.program]?.test(call.operands.join(" ")) === true && isQuery(call.program, call.args)
  );
}

function isQuery(program: string, args: readonly string[]): boolean {
  if (program === "nginx") return args.includes("-t") || args.includes("-T");
  if (program === "crontab") return args.includes("-l");
  if (program === "dpkg") return args.includes("-l");
  return program !== "psql" && program !== "redis";
}

/** `docker exec c cmd` and `docker compose exec s cmd`: what runs inside. */
function insideContainer(operands: readonly string[]): readonly string[] | undefined {
  const at = operands.indexOf("exec");
  return at === 0 || (at === 1 && operands[0] === "compose") ? operands.slice(at + 2) : undefined;
}
