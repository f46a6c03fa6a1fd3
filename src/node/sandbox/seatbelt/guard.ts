import { spawn } from "node:child_process";

/**
 * Ends a process group and what stems from it when this process goes away: macOS has no death signal of a parent. It waits
 * for a word on its standard input, which closes with us.
 */
const script = `
read -r word
[ "$word" = over ] && exit 0
look=0
while [ "$look" -lt 100 ]; do
  found=$(ps -axo pid=,ppid=,pgid=,stat= | awk -v root="$1" '
    $4 !~ /^[ZX]/ { parent[$1] = $2; group[$1] = $3 }
    END {
      for (pid in parent)
        for (at = pid; at > 1 && at in parent; at = parent[at])
          if (at == root || group[at] == root) { print pid; break }
    }')
  [ -z "$found" ] && exit 0
  kill -KILL $found
  look=$((look + 1))
done
`;

export interface Guard {
  /** The group has ended by itself. */
  over(): void;
}

export function guardGroup(group: number): Guard {
  const child = spawn("/bin/sh", ["-c", script, "sh", String(group)], {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: "/bin:/usr/bin", LC_ALL: "C" },
    detached: true,
  });
  // Its own end is nothing to us; a guard that could not start is one.
  child.on("error", (error) => {
    throw error;
  });
  child.stdin.on("error", () => child.stdin.destroy());
  child.unref();
  return { over: () => child.stdin.end("over\n") };
}
