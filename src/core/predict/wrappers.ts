import { programName } from "./commandTable.ts";

/** What a command runs: other words, a script in a string, or itself. */
export type Unwrapped =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "script"; readonly script: string }
  | { readonly kind: "itself" };

const itself: Unwrapped = { kind: "itself" };

/** Programs that only start another one, with the options of theirs that take a value. */
const plain: Readonly<Record<string, readonly string[]>> = {
  sudo: ["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-D"],
  doas: ["-u"],
  env: ["-u", "-C", "-S"],
  command: [],
  builtin: [],
  exec: ["-a"],
  nohup: [],
  time: ["-f", "-o"],
  nice: ["-n"],
  ionice: ["-c", "-n"],
  stdbuf: ["-i", "-o", "-e"],
  setsid: [],
  unbuffer: [],
  rtk: [],
  xargs: ["-n", "-I", "-P", "-L", "-d", "-s", "-a", "-E"],
  parallel: ["-j", "-n", "-a", "--jobs"],
  chronic: [],
  caffeinate: ["-t"],
  strace: ["-e", "-o", "-p", "-s"],
  ltrace: ["-e", "-o"],
  dotenv: ["-e", "-f"],
  "dotenv-cli": ["-e"],
  "cross-env": [],
  "env-cmd": ["-f"],
  wsl: ["-d", "-u", "--cd", "-e"],
  busybox: [],
  proxychains: ["-f"],
  proxychains4: ["-f"],
  retry: ["-t", "-d"],
  npx: ["-p", "--package", "-c"],
  bunx: ["-p", "--package"],
  pnpx: [],
};

/** Wrappers that take one operand before the command. */
const oneOperand: Readonly<Record<string, readonly string[]>> = {
  timeout: ["-k", "-s", "--signal", "--kill-after"],
  gtimeout: ["-k", "-s"],
  flock: ["-w", "-E"],
  chroot: [],
  taskset: [],
  runuser: ["-u"],
};

/** Programs whose sub-command starts another one: everything behind it, or behind `--`. */
const running: Readonly<Record<string, readonly string[]>> = {
  mise: ["exec", "x"],
  uv: ["run"],
  poetry: ["run"],
  pdm: ["run"],
  pipenv: ["run"],
  rye: ["run"],
  hatch: ["run"],
  pnpm: ["exec", "dlx"],
  npm: ["exec", "x"],
  yarn: ["exec", "dlx"],
  bun: ["x"],
  bundle: ["exec"],
  direnv: ["exec"],
  devbox: ["run"],
  asdf: ["exec"],
  op: ["run"],
  doppler: ["run"],
  infisical: ["run"],
  conda: ["run"],
  rustup: ["run"],
  nvm: ["exec"],
  fnm: ["exec"],
};

const shellNames = new Set(["bash", "sh", "zsh", "dash", "ksh", "fish", "ash"]);

/** Looks through one layer of a program that starts another. */
export function unwrap(words: readonly string[]): Unwrapped {
  const program = programName(words[0] ?? "");
  const rest = words.slice(1);
  if (shellNames.has(program)) return shellScript(rest);
  if (program === "eval" || program === "trap") {
    const script = program === "trap" ? (rest[0] ?? "") : rest.join(" ");
    return { kind: "script", script };
  }
  if (program === "find" || program === "fd") return behindExec(rest);
  if (
    program === "tmux" ||
    program === "screen" ||
    program === "script" ||
    program === "watch" ||
    program === "su" ||
    program === "hyperfine"
  ) {
    return spacedScript(program, rest);
  }
  const runs = running[program];
  if (runs?.includes(rest.find((one) => !one.startsWith("-")) ?? "") === true) {
    const dashes = rest.indexOf("--");
    const at = rest.findIndex((one) => runs.includes(one));
    const behind = dashes > 0 ? rest.slice(dashes + 1) : withoutOptions(rest.slice(at + 1), []);
    return { kind: "words", words: unversioned(behind) };
  }
  const values = plain[program];
  if (values !== undefined) return startedBy(program, rest, values);
  const more = oneOperand[program];
  if (more !== undefined) return { kind: "words", words: withoutOptions(rest, more).slice(1) };
  return itself;
}

function startedBy(program: string, rest: readonly string[], values: readonly string[]): Unwrapped {
  const words = withoutOptions(rest, values);
  const behind = program === "rtk" && words[0] === "proxy" ? words.slice(1) : words;
  const isRunner = ["npx", "bunx", "pnpx"].includes(program);
  return { kind: "words", words: isRunner ? unversioned(behind) : behind };
}

/** `wrangler@3 deploy` is `wrangler deploy`. */
function unversioned(words: readonly string[]): readonly string[] {
  const [name = "", ...rest] = words;
  const plainName = name
    .replace(/(?<=.)@[^/]*$/, "")
    .replace(/^@[^/]+\//, "")
    .replace(/^netlify-cli$/, "netlify")
    .replace(/^firebase-tools$/, "firebase");
  return words.length === 0 ? words : [plainName, ...rest];
}

/** Drops options, their values and assignments in front of a command. */
function withoutOptions(words: readonly string[], values: readonly string[]): readonly string[] {
  let at = 0;
  while (at < words.length) {
    const word = words[at] ?? "";
    if (word === "--") return words.slice(at + 1);
    if (word.startsWith("-")) at += values.includes(word) ? 2 : 1;
    else if (/^[A-Za-z_]\w*=/.test(word)) at++;
    else break;
  }
  return words.slice(at);
}

function shellScript(rest: readonly string[]): Unwrapped {
  const at = rest.findIndex((one) => /^-[a-zA-Z]*c$/.test(one));
  const script = at < 0 ? undefined : rest.slice(at + 1).find((one) => !one.startsWith("-"));
  return script === undefined ? itself : { kind: "script", script };
}

function behindExec(rest: readonly string[]): Unwrapped {
  const at = rest.findIndex((one) =>
    ["-exec", "-execdir", "-ok", "-x", "--exec", "-X"].includes(one),
  );
  return at < 0 ? itself : { kind: "words", words: rest.slice(at + 1) };
}

/** Programs that are given a command as one string somewhere among their arguments. */
function spacedScript(program: string, rest: readonly string[]): Unwrapped {
  if (
    program === "tmux" &&
    ![
      "new",
      "new-session",
      "new-window",
      "neww",
      "split-window",
      "splitw",
      "send-keys",
      "send",
      "respawn-pane",
      "run-shell",
      "run",
      "if-shell",
      "pipe-pane",
    ].includes(rest[0] ?? "")
  ) {
    return itself;
  }
  const strings = rest.filter((one) => /\s/.test(one) && !one.startsWith("#"));
  if (strings.length > 0) return { kind: "script", script: strings.join("\n") };
  return program === "watch"
    ? { kind: "words", words: withoutOptions(rest, ["-n", "--interval"]) }
    : itself;
}
