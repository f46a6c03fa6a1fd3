import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import type { Attack, Outcome } from "./attack.ts";
import { runBatch } from "./batch.ts";
import type { How } from "./batch.ts";
import { controlPlane } from "./cases/controlPlane.ts";
import { credentials } from "./cases/credentials.ts";
import { egress } from "./cases/egress.ts";
import { hostDamage } from "./cases/hostDamage.ts";
import { kernelSurface } from "./cases/kernelSurface.ts";
import { controlCharacters, pathTricks } from "./cases/pathTricks.ts";
import { persistence } from "./cases/persistence.ts";
import { secrets, stateSecrets } from "./cases/secrets.ts";
import { writeReport } from "./report.ts";
import type { Row } from "./report.ts";
import { AttackWorld } from "./world.ts";

/** Attacks that one transaction holds, and how they are shown to hit without Holdfast. */
interface Batch {
  readonly title: string;
  readonly attacks: readonly Attack[];
  readonly unconfined: How;
  readonly end: "commit" | "discard";
  /** Once more as an ordinary user, when root runs this. */
  readonly twice?: true;
}

const batches: readonly Batch[] = [
  {
    title: "on the workspace's secrets",
    attacks: secrets,
    unconfined: "direct",
    end: "discard",
    twice: true,
  },
  {
    title: "while the agent runs",
    attacks: [
      ...stateSecrets,
      ...credentials,
      ...egress,
      ...kernelSurface,
      ...controlPlane,
      ...hostDamage,
    ],
    unconfined: "unsafe",
    end: "discard",
    twice: true,
  },
  {
    title: "through the commit",
    attacks: [...persistence, ...pathTricks],
    unconfined: "direct",
    end: "commit",
    twice: true,
  },
  ...controlCharacters.map((attack): Batch => ({
    title: attack.title,
    attacks: [attack],
    unconfined: "direct",
    end: "commit",
  })),
];

interface Result {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly hits: ReadonlySet<string>;
  readonly victimLives: boolean;
}

/** An ordinary user whom every system has. */
const nobody = 65534;

describe("attacks", function () {
  this.timeout(400_000);
  const tools = mkdtempSync("/tmp/holdfast-attack-tools-");
  const program = path.join(tools, "attack");
  const rows: Row[] = [];

  before(() => {
    execFileSync("cc", ["-O1", "-o", program, path.join(import.meta.dirname, "attack.c")]);
  });
  after(() => {
    rmSync(tools, { recursive: true, force: true });
    writeReport(rows);
  });

  const perform = async ({ attacks, end }: Batch, how: How, user?: number): Promise<Result> => {
    const world = new AttackWorld(user);
    try {
      await world.build(program);
      const outcomes = await runBatch(world, attacks, how, end);
      const hits = attacks.filter(({ id, hit }) => {
        const outcome = outcomes.get(id);
        return outcome !== undefined && hit(world, outcome);
      });
      return { outcomes, hits: new Set(hits.map(({ id }) => id)), victimLives: world.victimLives };
    } finally {
      await world.remove();
    }
  };

  for (const batch of batches) {
    describe(batch.title, () => {
      let unconfined: Result;
      let confined: Result;
      let ordinary: Result | undefined;
      before(async () => {
        [unconfined, confined] = await Promise.all([
          perform(batch, batch.unconfined),
          perform(batch, "confined"),
        ]);
        if (batch.twice === true && process.getuid?.() === 0)
          ordinary = await perform(batch, "confined", nobody);
      });

      for (const { id, category, title, marked } of batch.attacks) {
        it(`${category}: ${title} (${id})`, () => {
          const shown = unconfined.hits.has(id);
          const said = unconfined.outcomes.get(id)?.output ?? "it did not run";
          assert.ok(shown || marked !== undefined, `is no attack: it missed unconfined: ${said}`);
          const outcome = confined.outcomes.get(id);
          assert.ok(outcome !== undefined, "it did not run in the sandbox");
          const blocked = !confined.hits.has(id);
          const asUser = ordinary?.outcomes.get(id);
          const blockedAsUser = ordinary === undefined ? undefined : !ordinary.hits.has(id);
          rows.push({ category, title, shown, marked, blocked, blockedAsUser });
          assert.ok(blocked, `it hit: ${outcome.output}`);
          assert.ok(blockedAsUser !== false, `it hit as an ordinary user: ${asUser?.output ?? ""}`);
          assert.ok(ordinary === undefined || asUser !== undefined, "it did not run as a user");
        });
      }

      it("the person's own process lives", () => {
        assert.ok(confined.victimLives);
        assert.ok(ordinary?.victimLives !== false);
      });
    });
  }
});
