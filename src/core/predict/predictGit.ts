import type { Invocation } from "./commandTable.ts";
import { discloses, irreversible, local, type Prediction, recoverable } from "./effect.ts";

/** What is known of the checked-out branch: whether others follow it. */
export type BranchKind = "default" | "other" | "unknown";

const defaultNames = ["main", "master", "trunk", "develop", "production", "prod", "staging"];

/** Every command that git brings along and that does not talk to another repository. */
const localVerbs = new Set(
  (
    "add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry " +
    "cherry-pick citool clean column commit commit-graph commit-tree config count-objects credential describe diagnose diff diff-files diff-index diff-tree difftool " +
    "fast-export fast-import filter-branch filter-repo fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help hook init " +
    "index-pack instaweb interpret-trailers log ls-files ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree " +
    "multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune prune-packed quiltimport range-diff read-tree rebase reflog remote repack " +
    "replace request-pull rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace " +
    "submodule subtree switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version " +
    "whatchanged worktree write-tree absorb branchless flow lfs delta secret crypt annex"
  ).split(" "),
);

const fetching = new Set(["fetch", "pull", "clone", "ls-remote", "fetch-pack", "archive"]);

/** What a git command does outside the machine; `branch` is the one that is checked out at this point. */
export function predictGit(call: Invocation, branch: BranchKind): Prediction {
  const [verb, second] = call.operands;
  if (call.flags.has("--help") || call.flags.has("-h")) return local("prints its manual");
  if (verb === "push" || verb === "send-pack")
    return predictPush(call, call.operands.slice(1), branch);
  if (verb === "subtree" && second === "push")
    return predictPush(call, call.operands.slice(2), branch);
  if (verb === "lfs") return predictLfs(second);
  if (verb === "svn" && second === "dcommit") return irreversible("commits to the server");
  if (verb === "svn") return discloses("fetches from the server");
  if (verb === "send-email" || verb === "imap-send") {
    return call.flags.has("--dry-run") ? local("tries to send") : irreversible("sends mail");
  }
  if (verb === "review" || verb === "p4") return irreversible("sends a change");
  if (verb === "annex" && ["sync", "copy", "move", "push"].includes(second ?? "")) {
    return irreversible("sends large files");
  }
  if (verb === "clone" && isLocalPath(second)) return local("copies a repository");
  if (fetching.has(verb ?? "") && !isLocalPath(second)) {
    return verb === "archive" && !call.flags.has("--remote")
      ? local()
      : discloses("fetches from a repository");
  }
  if (verb === "remote" && ["update", "show", "prune"].includes(second ?? "")) {
    return call.flags.has("-n") ? local() : discloses("asks a repository");
  }
  if (verb === "submodule" && second !== undefined && ["update", "add", "sync"].includes(second)) {
    return discloses("fetches submodules");
  }
  if (verb === undefined || localVerbs.has(verb) || fetching.has(verb))
    return local("works on the repository");
  return irreversible(`runs git ${verb}, an alias or an extension that is not known`);
}

/** Which branch a command checks out, when it does. */
export function checkedOut(call: Invocation): BranchKind | undefined {
  const [verb, target, other] = call.operands;
  if (call.program !== "git" || (verb !== "checkout" && verb !== "switch")) return undefined;
  if (target === undefined || other !== undefined || call.args.includes("--")) {
    return call.flags.has("-b") || call.flags.has("-B") || call.flags.has("-c")
      ? "other"
      : undefined;
  }
  if (/[$`./]/.test(target) && !target.includes("/")) return undefined;
  return branchKind(target);
}

function predictPush(
  call: Invocation,
  operands: readonly string[],
  branch: BranchKind,
): Prediction {
  const [remote, ...refs] = operands;
  const has = (...flags: readonly string[]) => flags.some((one) => call.flags.has(one));
  if (has("--dry-run", "-n")) return discloses("tries a push");
  if (isLocalPath(remote)) return local("pushes to a folder");
  if (has("--mirror", "--all", "--branches")) return irreversible("pushes every branch");
  if (has("--delete", "-d") || refs.some((one) => one.startsWith(":"))) {
    return irreversible("deletes a branch or tag of the remote");
  }
  const forced = has("--force", "-f", "--force-with-lease", "--force-if-includes");
  if (forced || refs.some((one) => one.startsWith("+"))) return irreversible("pushes by force");
  const words = refs.filter((one, at) => !(one === "tag" && at < refs.length - 1));
  const tagged = words.length < refs.length || words.some(isTag);
  if (has("--tags", "--follow-tags") || tagged) return irreversible("publishes a tag");
  const targets = words.map((one) => targetOf(one, branch));
  const unnamed = targets.length === 0 ? [branch] : targets;
  if (unnamed.includes("default")) return irreversible("pushes to the default branch");
  return recoverable("pushes a branch", "delete the branch, or reset it to the commit before");
}

function targetOf(refspec: string, branch: BranchKind): BranchKind {
  const target = refspec.includes(":") ? (refspec.split(":").at(-1) ?? "") : refspec;
  return target === "HEAD" || target === "@" ? branch : branchKind(target);
}

function branchKind(name: string): BranchKind {
  const short = name.replace(/^refs\/heads\//, "").replace(/^origin\//, "");
  return defaultNames.includes(short) ? "default" : "other";
}

function isTag(refspec: string): boolean {
  const target = refspec.split(":").at(-1) ?? "";
  return target.startsWith("refs/tags/") || /^v?\d+\.\d+(?:\.\d+)?(?:[-+].*)?$/.test(target);
}

/** A folder or a file address: nothing leaves the machine. */
function isLocalPath(remote: string | undefined): boolean {
  return remote !== undefined && (/^(?:\.{0,2}\/|~|file:)/.test(remote) || remote === ".");
}

function predictLfs(verb: string | undefined): Prediction {
  if (verb === "push")
    return recoverable("uploads large files", "none of them is named by a branch yet");
  return ["fetch", "pull", "clone", "locks"].includes(verb ?? "")
    ? discloses("fetches large files")
    : local("works on large files");
}
