import { Failure, messageOf } from "../../base/errors.ts";

/** EPERM, EACCES, EROFS: what to do. */
const notAllowed: ReadonlyMap<number, string> = new Map([
  [
    1,
    "take the attribute that forbids it from the file or its directory (`lsattr`, `chattr -i`), or leave the file out",
  ],
  [13, "make the file's directory writable for you"],
  [30, "mount its filesystem for writing"],
]);
const noRoom: ReadonlySet<number> = new Set([28, 122]);

/** A failure of the native program at a path, after everything was taken back. */
export function failureAt(path: string, errno: number, reason: string): Failure {
  const message = `nothing was written: ${JSON.stringify(path)}: ${reason}`;
  const fix = notAllowed.get(errno);
  if (fix !== undefined) {
    return new Failure("refused", "workspace-not-writable", message, `${fix}, then commit again`);
  }
  return noRoom.has(errno)
    ? new Failure("failed", "disk-full", message, "free some space, then commit again")
    : new Failure(
        "failed",
        "publish-failed",
        message,
        "nothing is lost: put that right and commit again",
      );
}

/** The same for what failed while files were prepared, outside the workspace. */
export function preparationFailure(error: unknown): unknown {
  if (error instanceof Failure) return error;
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const message = `nothing was written: ${messageOf(error)}`;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new Failure("failed", "disk-full", message, "free some space, then commit again", error);
  }
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
    return new Failure("refused", "workspace-not-writable", message, undefined, error);
  }
  return code === ""
    ? error
    : new Failure("failed", "prepare-failed", message, "put that right and commit again", error);
}

/** Neither done nor taken back: the intent stays for recover. */
export function unfinishedFailure(why: string): Failure {
  return new Failure(
    "failed",
    "publish-unfinished",
    `the publish was interrupted${why === "" ? "" : ` (${why})`}: some files may be new, others old`,
    "run `holdfast recover`: it finishes the commit or takes it back",
  );
}
