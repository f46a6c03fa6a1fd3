import { Failure, messageOf } from "../../base/errors.ts";

const notAllowed: ReadonlySet<number> = new Set([1, 13, 30]);
const noRoom: ReadonlySet<number> = new Set([28, 122]);

/** A failure of the native program at a path, after everything was taken back. */
export function failureAt(path: string, errno: number, reason: string): Failure {
  const message = `nothing was written: ${JSON.stringify(path)}: ${reason}`;
  if (notAllowed.has(errno)) {
    return new Failure(
      "refused",
      "workspace-not-writable",
      message,
      "make the file's directory writable for you, then commit again",
    );
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
