import type { Verdict } from "../journal/entry.ts";

/** A verdict that no policy loosens. */
export interface Floor {
  readonly id: FloorId;
  readonly verdict: Exclude<Verdict, "allow">;
  readonly reason: string;
}

export type FloorId =
  | "address"
  | "credential"
  | "default-branch"
  | "delete"
  | "delete-branch"
  | "force-push"
  | "limit"
  | "merge"
  | "odd-path"
  | "other-place"
  | "payment"
  | "publish"
  | "release"
  | "tag"
  | "unparsable"
  | "other-ref";

const floorReasons: Readonly<Record<FloorId, string>> = {
  address: "an address inside this machine or network",
  credential: "it concerns keys, secrets or who has access",
  "default-branch": "it may write to the default branch",
  delete: "what is deleted may be gone for good",
  "delete-branch": "commits that only the branch names are lost",
  "force-push": "commits on the remote may be replaced",
  limit: "it touches more than the task allows",
  merge: "a merge cannot be taken back without rewriting history",
  "odd-path": "the path is written so that it can be read in two ways",
  "other-place": "a header names another host or path than the one that it is sent to",
  "other-ref": "a ref that is neither a branch nor a tag",
  payment: "money moves",
  publish: "what is published is public at once and is copied by others",
  release: "a release is public at once and is copied by others",
  tag: "tags start releases and are kept by everybody who fetched them",
  unparsable: "what it does could not be read",
};

/** A floor that holds, with the reason of its kind. */
export function holdingFloor(id: FloorId): Floor {
  return { id, verdict: "hold", reason: floorReasons[id] };
}
