import { homedir } from "node:os";

/** Who runs it and where things are on this machine. */
export interface Machine {
  readonly uid: number;
  readonly gid: number;
  /** HOME of the person; never shown. */
  readonly home: string;
  readonly bwrapPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Never uid 0 inside: root outside is an ordinary user inside. */
const ordinaryId = 1000;

export function machineWith(bwrapPath: string): Machine {
  return {
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    home: homedir(),
    bwrapPath,
    env: process.env,
  };
}

/** The user and group that programs inside run as. */
export function idsInside(machine: Machine): { readonly uid: number; readonly gid: number } {
  return {
    uid: machine.uid === 0 ? ordinaryId : machine.uid,
    gid: machine.gid === 0 ? ordinaryId : machine.gid,
  };
}
