import { savepoints } from "../../src/node/fork/savepoints.ts";
import type { Savepoint } from "../../src/runtime/ports.ts";
import type { ForkFixture, ForkedFixture } from "./forkFixture.ts";

/** The savepoints of one fork of a fixture. */
export class Points {
  readonly #fixture: ForkFixture;
  readonly #forked: ForkedFixture;
  readonly #port: ReturnType<typeof savepoints>;

  constructor(fixture: ForkFixture, forked: ForkedFixture) {
    this.#fixture = fixture;
    this.#forked = forked;
    this.#port = savepoints({ nativePath: fixture.nativePath });
  }

  take(name?: string): Promise<Savepoint | undefined> {
    const { fork, paths } = this.#forked;
    return this.#port.take(fork, this.#fixture.workspace, paths, {
      at: "2026-01-01T00:00:00.000Z",
      name,
    });
  }

  restore(to: string, hostView?: string): Promise<Savepoint> {
    const { fork, paths } = this.#forked;
    const options = { at: "2026-01-02T00:00:00.000Z", to, hostView };
    return this.#port.restore(fork, this.#fixture.workspace, paths, options);
  }

  list(): readonly string[] {
    return this.#port
      .list(this.#forked.paths)
      .map((one) => `${one.savepoint} ${one.files} ${one.name ?? "-"}`);
  }
}
