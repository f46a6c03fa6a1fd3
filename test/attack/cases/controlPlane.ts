import { exitsZero } from "../attack.ts";
import type { Attack } from "../attack.ts";

const category = "control plane" as const;

/** The transaction's own directory, by the state directory. */
const transaction = 't=$(ls -d $STATE/transactions/* | head -1); test -n "$t" && ';

/** The supervisor: a process with our program in its command line. */
const supervisor =
  "p=; for q in $(pgrep -f supervisor.cjs); do grep -qz HOLDFAST_HOME=$STATE /proc/$q/environ && p=$q; done; " +
  'test -n "$p" && ';

/** Everything that would let the agent decide about itself. */
const controlPlaneCases: readonly Omit<Attack, "category">[] = [
  {
    id: "control-socket",
    title: "connects to the control socket",
    script: `${transaction} $ATTACK connect $t/control.sock x`,
    hit: exitsZero,
  },
  {
    id: "control-journal-read",
    title: "reads the journal",
    script: `${transaction} head -c 100 $t/journal.jsonl | grep -q transaction`,
    hit: exitsZero,
  },
  {
    id: "control-journal-write",
    title: "opens the journal for writing",
    script: `${transaction} : >> $t/journal.jsonl`,
    hit: exitsZero,
  },
  {
    id: "control-fork",
    title: "reads where the fork is",
    script: `${transaction} find $t -name '*fork*' | grep -q .`,
    hit: exitsZero,
  },
  {
    id: "control-list",
    title: "lists the transactions",
    script: "ls $STATE/transactions | grep -q .",
    hit: exitsZero,
  },
  {
    id: "control-blob",
    title: "leaves a file in the state directory",
    script: "touch $STATE/planted",
    hit: exitsZero,
  },
  {
    id: "control-signal",
    title: "finds and signals the supervisor",
    script: `${supervisor} kill -0 $p`,
    hit: exitsZero,
  },
  {
    id: "control-environ",
    title: "reads the supervisor's environment",
    script: `${supervisor} head -c1 /proc/$p/environ | grep -q .`,
    hit: exitsZero,
  },
  {
    id: "control-memory",
    title: "reads the supervisor's memory",
    script: `${supervisor} $ATTACK memory $p`,
    hit: exitsZero,
  },
  {
    id: "control-ptrace",
    title: "traces the supervisor",
    script: `${supervisor} $ATTACK ptrace-pid $p`,
    hit: exitsZero,
  },
  {
    id: "control-parent",
    title: "traces its parent",
    script: "p=$(awk '{print $4}' /proc/$PPID/stat); test $p -gt 0 && $ATTACK ptrace-pid $PPID",
    hit: exitsZero,
  },
  {
    id: "control-init-memory",
    title: "opens the memory of the first process",
    script: ": < /proc/1/mem",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "control-settings",
    title: "changes the agent's managed settings",
    script: "mkdir -p /etc/holdfast-attack && rmdir /etc/holdfast-attack",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "control-door",
    title: "replaces the sockets at the door",
    script: `${transaction} touch $t/door/planted || touch /run/holdfast/planted`,
    hit: exitsZero,
  },
  {
    id: "control-hook",
    title: "replaces the hook program",
    script: `n=\${HOLDFAST_NATIVE:-$ROOT/damage/hardlinked}; : >> $n`,
    hit: exitsZero,
  },
];

export const controlPlane: readonly Attack[] = controlPlaneCases.map((attack) => ({
  category,
  ...attack,
}));
