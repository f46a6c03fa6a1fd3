import { strictestReversibility } from "./reversibility.ts";
import type { CallFacts, GitFacts, RefUpdate } from "./judge.ts";
import { type Floor, type FloorId, holdingFloor } from "./floor.ts";
import type { Meaning } from "./meaning.ts";
import type { Reversibility } from "../journal/entry.ts";

/** Branches that others and machines follow wherever they exist. */
const followedBranches = [
  "main",
  "master",
  "trunk",
  "develop",
  "development",
  "staging",
  "production",
  "prod",
  "release",
  "stable",
  "gh-pages",
];

const branchPrefix = "refs/heads/";

interface RefMeaning {
  readonly does: string;
  readonly reversibility: Reversibility;
  readonly wayBack?: string;
  readonly floor?: Floor;
}

/** What a git request over HTTP does. `defaultBranches` are names that the workspace's own remotes call default. */
export function classifyGit(
  facts: CallFacts,
  git: GitFacts,
  defaultBranches: readonly string[],
): Meaning {
  if (git.action !== "push") {
    return {
      id: `git ${git.action}`,
      does: `${git.action === "fetch" ? "fetches" : "asks for the refs of"} ${git.repository}`,
      reversibility: "irreversible",
      traffic: "disclosure",
      known: true,
      likeness: `git read ${facts.host} ${git.repository}`,
    };
  }
  const refs = git.refs.map((ref) => meaningOfRef(ref, defaultBranches));
  const floor = refs.flatMap((ref) => ref.floor ?? [])[0] ?? emptyPush(git);
  const ways = refs.flatMap((ref) => ref.wayBack ?? []);
  const reversibility =
    refs.length === 0
      ? "irreversible"
      : strictestReversibility(...refs.map((r) => r.reversibility));
  return {
    id:
      refs.length === 1 && refs[0]?.reversibility === "recoverable"
        ? "git push-branch"
        : "git push",
    does: `${refs.map((ref) => ref.does).join(", ")} in ${git.repository}`.trimStart(),
    reversibility,
    traffic: "change",
    ...(reversibility === "recoverable" ? { wayBack: ways.join("; ") } : {}),
    ...(floor === undefined ? {} : { floor }),
    blastRadius: { count: refs.length, unit: "refs" },
    known: true,
    likeness: `git push ${facts.host} ${git.repository} ${git.refs
      .map((ref) => `${ref.change}:${ref.ancestry}:${ref.ref}`)
      .join(" ")}`,
  };
}

function emptyPush(git: GitFacts): Floor | undefined {
  if (git.refs.length > 0) return undefined;
  return holdingFloor("unparsable");
}

function meaningOfRef(update: RefUpdate, defaultBranches: readonly string[]): RefMeaning {
  const name = shortName(update.ref);
  if (update.ref.startsWith("refs/tags/")) {
    const does = `${update.change === "create" ? "publishes" : `${update.change}s`} the tag ${name}`;
    return irreversible(does, "tag");
  }
  if (update.ref.startsWith("refs/for/")) {
    return {
      does: `sends a change for review to ${name}`,
      reversibility: "recoverable",
      wayBack: "abandon the change",
    };
  }
  if (!update.ref.startsWith(branchPrefix)) {
    return irreversible(`${update.change}s ${name}`, "other-ref");
  }
  if (update.change === "delete") {
    return irreversible(`deletes the branch ${name}`, "delete-branch");
  }
  if (isFollowed(name, defaultBranches)) {
    const how =
      update.ancestry === "fastForward" || update.change === "create"
        ? "pushes to"
        : "force-pushes";
    return irreversible(`${how} ${name}`, "default-branch");
  }
  if (update.change === "create") {
    return {
      does: `pushes the new branch ${name}`,
      reversibility: "recoverable",
      wayBack: `delete the branch ${name}`,
    };
  }
  if (update.ancestry === "fastForward") {
    const back = `reset ${name} to ${update.from.slice(0, 12)}`;
    return {
      does: `adds commits to the branch ${name}`,
      reversibility: "recoverable",
      wayBack: back,
    };
  }
  const sure = update.ancestry === "forced" ? "force-pushes" : "pushes, perhaps by force, to";
  return irreversible(`${sure} the branch ${name}`, "force-push");
}

function irreversible(does: string, floor: FloorId): RefMeaning {
  return { does, reversibility: "irreversible", floor: holdingFloor(floor) };
}

function isFollowed(branch: string, defaultBranches: readonly string[]): boolean {
  const name = branch.toLowerCase();
  return (
    followedBranches.includes(name) ||
    name.startsWith("release/") ||
    name.startsWith("releases/") ||
    defaultBranches.some((one) => one.toLowerCase() === name)
  );
}

function shortName(ref: string): string {
  return ref.replace(/^refs\/(heads|tags|for)\//, "");
}
