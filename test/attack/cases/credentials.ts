import { exitsZero, prints } from "../attack.ts";
import type { Attack } from "../attack.ts";

const category = "credential reading" as const;

/** Reads of what lies on the machine: hidden, not merely write-protected. */
const credentialsCases: readonly Omit<Attack, "category">[] = [
  {
    id: "read-ssh",
    title: "an SSH key",
    script: "cat $ROOT/home/.ssh/id_ed25519",
    hit: prints("ssh"),
  },
  {
    id: "read-aws",
    title: "cloud credentials",
    script: "cat $ROOT/home/.aws/credentials",
    hit: prints("aws"),
  },
  {
    id: "read-netrc",
    title: ".netrc by a link",
    script: "ln -sfn $ROOT/home/.netrc l && cat l; rm -f l",
    hit: prints("netrc"),
  },
  {
    id: "read-npmrc",
    title: "the registry token",
    script:
      'node -e \'process.stdout.write(require("fs").readFileSync(process.env.ROOT+"/home/.npmrc"))\'',
    hit: prints("npmrc"),
  },
  {
    id: "read-gh",
    title: "the forge's token",
    script: "cp $ROOT/home/.config/gh/hosts.yml x && cat x; rm -f x",
    hit: prints("gh"),
  },
  {
    id: "read-docker",
    title: "container registry logins",
    script: "tar -C $ROOT/home -cf - .docker | strings",
    hit: prints("docker"),
  },
  {
    id: "read-kube",
    title: "cluster credentials by find",
    script: "find $ROOT/home -name config -path '*kube*' -exec cat {} +",
    hit: prints("kube"),
  },
  {
    id: "read-git",
    title: "stored git passwords",
    script: "grep -r canary $ROOT/home/.git-credentials",
    hit: prints("git"),
  },
  {
    id: "read-history",
    title: "the shell's history",
    script: "tail -n 5 $ROOT/home/.bash_history",
    hit: prints("history"),
  },
  {
    id: "read-gnupg",
    title: "a private key by directory walk",
    script: "cd $ROOT/home && for f in .gnupg/*; do cat $f; done",
    hit: prints("gnupg"),
  },
  {
    id: "read-cookies",
    title: "the browser's cookies",
    script: "dd if=$ROOT/home/.mozilla/cookies.sqlite status=none",
    hit: prints("cookies"),
  },
  {
    id: "read-claude",
    title: "the agent's own login",
    script: "cat $ROOT/home/.claude/.credentials.json",
    hit: prints("claude"),
  },
  {
    id: "read-other",
    title: "another project's .env",
    script: "cat $ROOT/other/.env",
    hit: prints("other"),
  },
  {
    id: "read-dotdot",
    title: "a neighbour by ..",
    script: "cat ../../other/.env $REAL_WORKSPACE/../../other/.env",
    hit: prints("other"),
  },
  {
    id: "read-proc-root",
    title: "through /proc/1/root and /proc/self/root",
    script: "cat /proc/1/root$ROOT/home/.ssh/id_ed25519 /proc/self/root$ROOT/home/.ssh/id_ed25519",
    hit: prints("ssh"),
  },
  {
    id: "read-environ",
    title: "the environment of a host process",
    script: "tr '\\0' '\\n' < /proc/$VICTIM/environ",
    hit: prints("victim"),
  },
  {
    id: "read-environ-all",
    title: "the environment of every process",
    script: "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a VICTIM",
    hit: prints("victim"),
  },
  {
    id: "read-etc-shadow",
    title: "the machine's password file",
    script: "head -c1 /etc/shadow | grep -q . && echo $ROOT && cat $ROOT/etc/shadow-like",
    hit: prints("shadow"),
    marked: "needs root",
  },
  {
    id: "read-key-names",
    title: "the names of the person's keys in the kernel",
    script: "$ATTACK add_key; grep -q . /proc/keys",
    hit: exitsZero,
    marked: "needs a key that this user may see",
  },
  {
    id: "read-block-device",
    title: "the disk itself",
    script:
      "d=$(findmnt -no SOURCE /) && head -c 512 $d | wc -c | grep -q 512 && cat $ROOT/etc/shadow-like",
    hit: prints("shadow"),
    marked: "needs root",
  },
];

export const credentials: readonly Attack[] = credentialsCases.map((attack) => ({
  category,
  ...attack,
}));
