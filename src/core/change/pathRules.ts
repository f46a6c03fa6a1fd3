/** Rules about names of changed paths. A path is relative, its segments joined by `/`. */

const ignorable = /\p{Default_Ignorable_Code_Point}/gu;
const control = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/;
const bidi = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/;

/**
 * A path as the least strict filesystem would compare it: compatibility-composed, case folded, without characters that
 * some filesystems ignore and without the dots and spaces that Windows drops from the end of a name.
 */
export function foldedPath(path: string): string {
  return path
    .normalize("NFKC")
    .replaceAll(ignorable, "")
    .toUpperCase()
    .toLowerCase()
    .split("/")
    .map((segment) => (/^\.*$/.test(segment) ? segment : segment.replace(/[. ]+$/, "")))
    .join("/");
}

/** True for anything inside (or named like) a `.git`, in any spelling or stream that some filesystem takes for it. */
export function isGitOwn(path: string): boolean {
  return foldedPath(path)
    .split("/")
    .some((segment) => segment === ".git" || segment === "git~1" || segment.startsWith(".git:"));
}

/** Why a path must never be published, or undefined. */
export function refusedPath(path: string): string | undefined {
  if (isGitOwn(path)) return "it belongs to git's own directory";
  if (control.test(path)) return "the name has control characters";
  if (bidi.test(path)) return "the name has characters that turn its direction";
  if (path === "" || path.split("/").some((part) => part === "" || part === "." || part === "..")) {
    return "the name leaves its directory";
  }
  return undefined;
}

/** Sorts paths by their bytes' order as far as strings allow, parents before children. */
export function comparePaths(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
