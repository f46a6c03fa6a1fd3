/**
 * A program for tests that concern another kernel than this one: runs a bash command in a real sandbox with a broker whose
 * origins are all `*.test` names, without proxy variables, and prints what came of it as JSON ({@link InsideChild}).
 */
import { insideWorld } from "./insideWorld.ts";
import { nativePath } from "./sandboxFixture.ts";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";

/** What one run inside came to. */
export interface InsideChild {
  readonly stdout: string;
  readonly stderr: string;
  /** `HOST:PORT` of every request at the broker. */
  readonly asked: readonly string[];
  /** What a person is told of the sandbox. */
  readonly description: string;
}

async function main(command: string): Promise<void> {
  await using inside = await insideWorld({
    handler: (request, response) => response.end(`hello ${request.method ?? ""}\n`),
  });
  const { stdout, stderr } = await inside.run(command, { proxies: false });
  const asked = inside.world.host.of("request.started").map(({ host, port }) => `${host}:${port}`);
  const sandbox = await sandboxes({ nativePath }).launch(inside.fixture.spec(["true"]));
  await sandbox.exited;
  const child: InsideChild = { stdout, stderr, asked, description: sandbox.description };
  process.stdout.write(JSON.stringify(child));
}

await main(process.argv[2] ?? "true");
