import assert from "node:assert/strict";
import { builtinModules } from "node:module";
import { findCycle, moduleFacts, type ImportEdge } from "../support/imports.ts";
import { repositoryFiles } from "../support/repository.ts";

/** DESIGN §12: what a layer may import of ours. `types` may be imported as types only. */
const layers: Readonly<Record<string, { values: readonly string[]; types?: readonly string[] }>> = {
  "src/base": { values: [] },
  "src/core": { values: ["src/base"] },
  "src/protocol": { values: ["src/base"] },
  "src/runtime": { values: ["src/core", "src/base"] },
  "src/node": { values: ["src/core", "src/base"], types: ["src/runtime"] },
  "src/supervisor": {
    values: ["src/base", "src/core", "src/runtime", "src/node", "src/protocol"],
  },
  "src/cli": {
    values: ["src/base", "src/core", "src/runtime", "src/node", "src/protocol", "src/supervisor"],
  },
  "src/vscode": {
    values: ["src/base", "src/core", "src/runtime", "src/node", "src/protocol", "src/supervisor"],
  },
  "src/extension.ts": { values: ["src/vscode", "src/base"] },
  webview: { values: ["src/protocol", "src/base"] },
};

const pure = ["src/base", "src/core", "src/protocol", "src/runtime", "webview"];

function layerOf(file: string): string {
  const [first = "", second = ""] = file.split("/");
  return first === "src" ? `${first}/${second}` : first;
}

/** Hashing is arithmetic: the runtime may do it. */
function doesIo({ from, to }: ImportEdge): boolean {
  if (to === "node:crypto" && layerOf(from) === "src/runtime") return false;
  return to.startsWith("node:") || builtinModules.includes(to);
}

describe("layers", () => {
  const files = repositoryFiles().filter((file) => /^(src|webview)\/.*\.ts$/.test(file));
  const facts = new Map(files.map((file) => [file, moduleFacts(file)]));
  const edges = [...facts.values()].flatMap((one) => one.edges);
  const ours = edges.filter(({ to }) => /^(src|webview|test)\//.test(to));
  const show = ({ from, to, typeOnly }: ImportEdge): string =>
    `${from} → ${to}${typeOnly ? " (types)" : ""}`;

  it("are all known", () => {
    const known = Object.keys(layers);
    assert.deepEqual(
      [...new Set(files.map(layerOf))].filter((layer) => !known.includes(layer)),
      [],
    );
  });

  it("what a supervisor loads before it forks judges nothing, makes no certificate and sends no traces", () => {
    const loaded = new Set<string>(["src/supervisor/main.ts"]);
    for (const file of loaded) {
      for (const { to, typeOnly, late } of facts.get(file)?.edges ?? [])
        if (!typeOnly && !late) loaded.add(to);
    }
    assert.ok(loaded.has("src/node/fork/workspaces.ts"));
    const early = [
      "src/supervisor/beginBroker.ts",
      "src/core/policy/policyBook.ts",
      "src/node/telemetry/liveTraces.ts",
      "@marcbachmann/cel-js",
      "@peculiar/x509",
      "node:http2",
    ].filter((one) => loaded.has(one));
    assert.deepEqual(early, []);
  });

  it("import only what stands below them, types included", () => {
    const wrong = ours.filter(({ from, to, typeOnly }) => {
      const layer = layerOf(from);
      const target = layerOf(to);
      const rule = layers[layer];
      if (layer === target || rule === undefined) return false;
      return !rule.values.includes(target) && !(typeOnly && rule.types?.includes(target) === true);
    });
    assert.deepEqual(wrong.map(show), []);
  });

  it("use the editor's API only where the editor is known", () => {
    const wrong = edges.filter(
      ({ from, to }) =>
        to === "vscode" && !["src/vscode", "src/extension.ts"].includes(layerOf(from)),
    );
    assert.deepEqual(wrong.map(show), []);
  });

  it("do no I/O where they are pure", () => {
    const wrong = edges.filter((edge) => pure.includes(layerOf(edge.from)) && doesIo(edge));
    assert.deepEqual(wrong.map(show), []);
  });

  it("have no cycle between files", () => {
    assert.equal(findCycle(ours)?.join(" → "), undefined);
  });

  it("say where a file is, with its ending", () => {
    const wrong = edges.filter(({ to }) => /^(src|webview)\//.test(to) && !/\.\w+$/.test(to));
    assert.deepEqual(wrong.map(show), []);
  });

  it("have no file that only passes others on, and no default export", () => {
    const wrong = [...facts].filter(
      ([, { barrel, defaultExport, edges: own }]) =>
        barrel || defaultExport || own.some(({ reExport, typeOnly }) => reExport && !typeOnly),
    );
    assert.deepEqual(
      wrong.map(([file]) => file),
      [],
    );
  });

  it("what serves our own tools to an agent does without what reaches the person's servers", () => {
    const reached = new Set(["src/node/mcp/socketTransport.ts", "src/node/mcp/ownServer.ts"]);
    for (const file of reached)
      for (const { to, typeOnly } of facts.get(file)?.edges ?? []) if (!typeOnly) reached.add(to);
    assert.ok(!reached.has("src/node/mcp/upstream.ts"));
    assert.deepEqual(
      [...reached].filter((name) => name.includes("/sdk/client")),
      [],
    );
  });
});
