import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./repository.ts";
import type { Tree } from "./checkFork.ts";

/** A project to measure checks on, and what is edited in it; `n` makes each edit another one. */
export interface BenchProject {
  readonly name: string;
  readonly tree: Tree;
  readonly edits: readonly {
    readonly name: string;
    readonly path: string;
    readonly text: (n: number) => string;
  }[];
}

const layers = 9;

/** Layers of modules with classes, generics and mapped types, each importing two of the layer below; all use one hub. */
export function layeredProject(files: number): BenchProject {
  const perLayer = Math.floor((files - 1) / layers);
  const tree: Record<string, string> = {
    "tsconfig.json": config(["src"]),
    "src/hub.ts": hub("name: string", 0),
  };
  for (let layer = 0; layer < layers; layer++) {
    for (let index = 0; index < perLayer; index++) {
      tree[`src/l${layer}/m${index}.ts`] = layeredModule(layer, index, perLayer, 0);
    }
  }
  return {
    name: `layers, ${Object.keys(tree).length - 1} files`,
    tree,
    edits: [
      {
        name: "a leaf",
        path: `src/l${layers - 1}/m0.ts`,
        text: (n) => layeredModule(layers - 1, 0, perLayer, n),
      },
      { name: "the hub's body", path: "src/hub.ts", text: (n) => hub("name: string", n) },
      {
        name: "the hub's types",
        path: "src/hub.ts",
        text: (n) => hub(`name: string; x${n}: 1`, 0),
      },
    ],
  };
}

function config(include: readonly string[]): string {
  return JSON.stringify({
    compilerOptions: {
      ...{ strict: true, target: "es2022", module: "esnext", moduleResolution: "bundler" },
      ...{ types: [], lib: ["es2022", "dom"], skipLibCheck: true, noEmit: true },
    },
    include,
  });
}

function hub(members: string, n: number): string {
  return [
    `export interface Hub { ${members} }`,
    "export type Keys<T> = { [K in keyof T]-?: T[K] extends Function ? never : K }[keyof T];",
    "export type Deep<T> = T extends object ? { readonly [K in keyof T]: Deep<T[K]> } : T;",
    `export function make(): Hub { const n = ${n}; return { name: String(n) } as Hub; }`,
  ].join("\n");
}

function layeredModule(layer: number, index: number, perLayer: number, n: number): string {
  const below = [index, (index * 7 + 3) % perLayer];
  const imports = below.map((at, i) =>
    layer === 0 ? "" : `import { C as B${i}, f as f${i} } from "../l${layer - 1}/m${at}";`,
  );
  const used = layer === 0 ? "" : "const b = new B0<Hub>(hub); f1(b.all(), 1);";
  return [
    `import { make, type Hub, type Deep, type Keys } from "../hub";`,
    ...imports,
    "export class C<T extends object> {",
    `  constructor(readonly value: T, readonly n = ${n}) {}`,
    "  all(): readonly Deep<T>[] { return [this.value as Deep<T>]; }",
    "  keys(): Keys<T>[] { return Object.keys(this.value) as unknown as Keys<T>[]; }",
    "  map<U extends object>(f: (t: T) => U): C<U> { return new C(f(this.value)); }",
    "}",
    "export function f<T, N extends number>(list: readonly T[], n: N): { list: readonly T[]; n: N } {",
    `  const hub: Hub = make(); ${used}`,
    "  const all = new C(hub).map((h) => ({ ...h, n })).map((h) => ({ h, list }));",
    "  return { list: all.value.list.filter((x) => x !== undefined), n: all.value.h.n };",
    "}",
  ].join("\n");
}

/** The sources of the zod package as they are published, when they are: real code that is heavy on types. */
export function zodProject(): BenchProject | undefined {
  const source = join(root, "node_modules/zod/src");
  if (!existsSync(source)) return undefined;
  const tree: Record<string, string> = { "tsconfig.json": config(["src"]) };
  for (const path of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts") || /tests?\//.test(path)) continue;
    if (statSync(join(source, path)).isFile()) {
      tree[`src/${path}`] = readFileSync(join(source, path), "utf8");
    }
  }
  const hubPath = "src/v4/core/util.ts";
  const leafPath = "src/v4/locales/en.ts";
  const [hubText, leafText] = [tree[hubPath] ?? "", tree[leafPath] ?? ""];
  if (hubText === "" || leafText === "") return undefined;
  return {
    name: `zod, ${Object.keys(tree).length - 1} files`,
    tree,
    edits: [
      { name: "a leaf", path: leafPath, text: (n) => `${leafText}\nconst edit: number = ${n};\n` },
      {
        name: "the hub's types",
        path: hubPath,
        text: (n) => `${hubText}\nexport type Edit${n} = ${n};\n`,
      },
    ],
  };
}
