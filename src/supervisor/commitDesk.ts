import { Failure, messageOf } from "../base/errors.ts";
import { bringCommits, listCommits, type CommitsRequest } from "../node/publish/bringCommits.ts";
import type { CommitsView } from "../protocol/control.ts";
import type { Journal } from "../runtime/journal.ts";

/** The git commits that the agent made itself: listed, and brought into the workspace's repository when a person asks. */
export class CommitDesk {
  readonly #request: CommitsRequest;
  readonly #journal: Journal;

  constructor(request: CommitsRequest, journal: Journal) {
    this.#request = request;
    this.#journal = journal;
  }

  async list(): Promise<CommitsView> {
    return structuredClone(await listCommits(this.#request)) as CommitsView;
  }

  /** Brings them under a reference of ours; the intent is durable before git writes anything. */
  async bring(): Promise<CommitsView> {
    const found = await this.list();
    const { ref, head, commits } = found;
    await this.#journal.append({ kind: "commits.intended", source: "person", ref, head }).durable;
    try {
      await bringCommits(this.#request, head);
    } catch (error) {
      const reason = error instanceof Failure ? error.message : messageOf(error);
      await this.#journal.append({ kind: "commits.abandoned", source: "holdfast", ref, reason })
        .durable;
      throw error;
    }
    const count = commits.length;
    await this.#journal.append({ kind: "commits.brought", source: "holdfast", ref, head, count })
      .durable;
    return { ...found, brought: true };
  }
}
