import { brokerWorld, type BrokerWorld, type WorldOptions } from "./brokerWorld.ts";
import {
  finish,
  makeSandboxFixture,
  nativePath,
  type Ran,
  type SandboxFixture,
} from "./sandboxFixture.ts";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";

/** A broker with an origin (brokerWorld) and real sandboxes whose door it is. */
export interface InsideWorld extends AsyncDisposable {
  readonly world: BrokerWorld;
  readonly fixture: SandboxFixture;
  /** Runs a bash command in a sandbox; `proxies` false takes every proxy variable away. */
  run(command: string, options?: { readonly proxies?: boolean; input?: string }): Promise<Ran>;
}

const proxyNames = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((name) => [
  name,
  name.toUpperCase(),
]);

export async function insideWorld(options: WorldOptions = {}): Promise<InsideWorld> {
  const world = await brokerWorld({ ...options, sandboxCaDir: "/run/holdfast/ca" });
  const fixture = makeSandboxFixture();
  const { paths } = fixture.spec([]);
  return {
    world,
    fixture,
    run: async (command, { proxies = true, input = "" } = {}) => {
      const clean = proxies
        ? ""
        : `unset ${proxyNames.join(" ")} NODE_USE_ENV_PROXY JAVA_TOOL_OPTIONS; `;
      const spec = fixture.spec(["bash", "-c", `${clean}${command}`], {
        paths: { ...paths, door: world.directory },
        launch: { env: world.broker.env },
      });
      return finish(await sandboxes({ nativePath }).launch(spec), input);
    },
    async [Symbol.asyncDispose]() {
      fixture.remove();
      await world[Symbol.asyncDispose]();
    },
  };
}
