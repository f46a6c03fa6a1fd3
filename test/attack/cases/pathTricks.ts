import { appears, spoils } from "../attack.ts";
import type { Attack } from "../attack.ts";

const category = "path tricks at publish" as const;

/** Names and file types that make the trusted side write where it should not. */
const pathTricksCases: readonly Omit<Attack, "category">[] = [
  {
    id: "path-dir-link",
    title: "a directory becomes a link to outside, then a file is written through it",
    script: "rm -rf src && ln -s $ROOT/damage src && echo spoilt > src/published",
    hit: spoils("damage/published"),
  },
  {
    id: "path-file-link",
    title: "a link to a secret of the person's",
    script: "ln -s $ROOT/home/.ssh/id_ed25519 notes.txt",
    hit: appears("notes.txt"),
  },
  {
    id: "path-git-case",
    title: ".GIT in other case",
    script: "mkdir -p .GIT/hooks && echo evil > .GIT/hooks/post-checkout",
    hit: appears(".GIT/hooks/post-checkout"),
  },
  {
    id: "path-git-ignorable",
    title: ".git with an invisible character",
    script:
      "mkdir -p $'.g\\xe2\\x80\\x8cit/hooks' && echo evil > $'.g\\xe2\\x80\\x8cit/hooks/post-checkout'",
    hit: appears(".g\u200cit/hooks/post-checkout"),
  },
  {
    id: "path-git-short",
    title: ".git by its short name",
    script: "mkdir -p GIT~1/hooks && echo evil > GIT~1/hooks/x",
    hit: appears("GIT~1/hooks/x"),
  },
  {
    id: "path-git-nested",
    title: "a git directory deeper in the tree",
    script: "mkdir -p lib/.git/hooks && echo evil > lib/.git/hooks/post-checkout",
    hit: appears("lib/.git/hooks/post-checkout"),
  },
  {
    id: "path-fifo",
    title: "a FIFO that blocks its reader",
    script: "mkfifo pipe",
    hit: appears("pipe"),
  },
  {
    id: "path-socket",
    title: "a socket",
    script:
      'node -e \'require("net").createServer().listen("sock", () => process.kill(process.pid, "SIGKILL"))\'; test -S sock',
    hit: appears("sock"),
  },
  {
    id: "path-setuid",
    title: "a program with set-uid",
    script: "cp .attack/attack suid && chmod 6755 suid",
    hit: (world) => world.modeOf("suid") >= 0o4000,
  },
  {
    id: "path-executable",
    title: "an executable bit",
    script: "printf '#!/bin/sh\\nevil\\n' > tool.sh && chmod 755 tool.sh",
    hit: (world) => (world.modeOf("tool.sh") & 0o111) !== 0,
  },
  {
    id: "path-bidi",
    title: "a name that reads backwards",
    script: "echo evil > $'readme\\xe2\\x80\\xaetxt.exe'",
    hit: appears("readme\u202etxt.exe"),
  },
];

export const pathTricks: readonly Attack[] = pathTricksCases.map((attack) => ({
  category,
  ...attack,
}));

/** One of these must refuse a whole commit, so each has one of its own. */
const controlCharactersCases: readonly Omit<Attack, "category">[] = [
  {
    id: "path-return",
    title: "a carriage return at the end of a name",
    script: "echo evil > $'name\\r'",
    hit: appears("name\r"),
  },
  {
    id: "path-newline",
    title: "a newline in a name",
    script: "echo evil > $'a\\nb'",
    hit: appears("a\nb"),
  },
];

export const controlCharacters: readonly Attack[] = controlCharactersCases.map((attack) => ({
  category,
  ...attack,
}));
