import type { Tree } from "./checkFork.ts";
import type { ColdRun } from "./checkRun.ts";

/** One project and what an agent does to it, step by step. */
export interface CheckProject {
  readonly name: string;
  readonly tree: Tree;
  readonly cold: Omit<ColdRun, "command">;
  /** Each step is one generation; `undefined` deletes. */
  readonly steps: readonly Readonly<Record<string, string | undefined>>[];
  /** Major versions that know what the project uses; all when absent. */
  readonly versions?: readonly number[];
}

const root = { projects: ["tsconfig.json"] } as const;

function config(options: object = {}, rest: object = { include: ["src"] }): string {
  const common = { strict: true, target: "es2022", module: "esnext", moduleResolution: "bundler" };
  return JSON.stringify({
    compilerOptions: { ...common, types: [], lib: ["es2022"], skipLibCheck: true, ...options },
    ...rest,
  });
}

const plain: CheckProject = {
  name: "plain",
  tree: {
    "package.json": `{"name":"plain"}`,
    "tsconfig.json": config(),
    "src/hub.ts": "export interface Hub { name: string }\nexport const hub: Hub = { name: 'x' };\n",
    "src/user.ts":
      "import { hub } from './hub';\nexport const size: number = hub.name.length;\nexport const old: string = 1;\n",
    "src/missing.ts": "import { late } from './late';\nexport const l: number = late;\n",
    "src/other.ts": "import { size } from './user';\nexport const twice = size * 2;\n",
  },
  cold: root,
  steps: [
    {
      "src/hub.ts":
        "export interface Hub { title: string }\nexport const hub: Hub = { title: 'x' };\n",
    },
    { "src/late.ts": "export const late = 'now';\n" },
    { "src/other.ts": undefined, "src/user.ts": undefined },
    {
      "src/late.ts": "export const late = 5;\n",
      "src/user.ts": "// moved\n\nexport const size: number = '';\nexport const old: string = 1;\n",
    },
  ],
};

const isolated: CheckProject = {
  name: "isolatedModules",
  tree: {
    "tsconfig.json": config({ isolatedModules: true }),
    "src/a.ts": "export function a(x: number): number { return x; }\n",
    "src/b.ts": "import { a } from './a';\nexport const b = a(1);\n",
    "src/c.ts": "import { b } from './b';\nexport const c: number = b;\n",
  },
  cold: root,
  steps: [
    { "src/a.ts": "export function a(x: string): string { return x; }\n" },
    { "src/a.ts": "export function a(x: number): string { return String(x); }\n" },
  ],
};

const globals: CheckProject = {
  name: "global and module augmentation",
  tree: {
    "tsconfig.json": config(),
    "src/globals.d.ts": "interface Shared { one: number }\ndeclare const shared: Shared;\n",
    "src/extend.ts":
      "import './model';\ndeclare module './model' { interface Model { extra: number } }\nexport {};\n",
    "src/more.ts": "declare global { interface Array<T> { first2(): T } }\nexport {};\n",
    "src/model.ts": "export interface Model { id: string }\nexport const m = {} as Model;\n",
    "src/uses.ts":
      "import { m } from './model';\nexport const e: number = m.extra;\nexport const s: number = shared.one;\nexport const f: number = [1].first2();\n",
  },
  cold: root,
  steps: [
    {
      "src/extend.ts":
        "import './model';\ndeclare module './model' { interface Model { extra: string } }\nexport {};\n",
    },
    { "src/globals.d.ts": "interface Shared { two: number }\ndeclare const shared: Shared;\n" },
    { "src/extend.ts": undefined },
    { "src/more.ts": undefined },
  ],
};

const references: CheckProject = {
  name: "project references, solution style",
  tree: {
    "tsconfig.json": JSON.stringify({ files: [], references: [{ path: "core" }, { path: "app" }] }),
    "tsconfig.base.json": config({ composite: true, outDir: "${configDir}/out" }, {}),
    "core/tsconfig.json": `{"extends":"../tsconfig.base.json","compilerOptions":{"outDir":"out"},"include":["src"]}`,
    "core/src/index.ts":
      "export interface Point { x: number }\nexport const zero: Point = { x: 0 };\n",
    "app/tsconfig.json": `{"extends":"../tsconfig.base.json","compilerOptions":{"outDir":"out"},"include":["src"],"references":[{"path":"../core"}]}`,
    "app/src/main.ts":
      "import { zero } from '../../core/src/index';\nexport const x: number = zero.x;\nexport const wrong: string = zero.x;\n",
  },
  cold: { projects: ["tsconfig.json"], build: true },
  steps: [
    {
      "core/src/index.ts":
        "export interface Point { y: number }\nexport const zero: Point = { y: 0 };\n",
    },
    { "app/src/main.ts": "export const alone = 1;\n" },
  ],
};

const workspaces: CheckProject = {
  name: "monorepo with workspaces, linked packages and path aliases",
  tree: {
    "package.json": `{"name":"mono","private":true,"workspaces":["packages/*"]}`,
    "packages/lib/package.json": `{"name":"@mono/lib","version":"1.0.0","types":"src/index.ts","main":"src/index.ts"}`,
    "packages/lib/tsconfig.json": config(),
    "packages/lib/src/index.ts": "export const version: number = 1;\n",
    "packages/app/package.json": `{"name":"@mono/app","version":"1.0.0"}`,
    "packages/app/tsconfig.json": config({ paths: { "~/*": ["./src/*"] } }),
    "packages/app/src/main.ts":
      "import { version } from '@mono/lib';\nimport { local } from '~/local';\nexport const n: number = version + local;\n",
    "packages/app/src/local.ts": "export const local = 1;\n",
    "node_modules/@mono/lib": "->../../packages/lib",
  },
  cold: { projects: ["packages/lib/tsconfig.json", "packages/app/tsconfig.json"] },
  steps: [
    { "packages/lib/src/index.ts": "export const version: string = 'one';\n" },
    { "packages/app/src/local.ts": undefined },
    {
      "packages/app/src/local.ts": "export const local = 2;\n",
      "packages/lib/src/index.ts": "export * from './more';\n",
      "packages/lib/src/more.ts": "export const version = 3;\n",
    },
  ],
};

const pnpm: CheckProject = {
  name: "pnpm tree, whose packages are links to links",
  tree: {
    "package.json": `{"name":"pnpm","private":true}`,
    "tsconfig.json": config(),
    "node_modules/.pnpm/one@1.0.0/node_modules/one/package.json": `{"name":"one","version":"1.0.0","types":"index.d.ts"}`,
    "node_modules/.pnpm/one@1.0.0/node_modules/one/index.d.ts":
      "import { Two } from 'two';\nexport declare const one: Two;\nexport { Two };\n",
    "node_modules/.pnpm/one@1.0.0/node_modules/two": "->../../two@1.0.0/node_modules/two",
    "node_modules/.pnpm/two@1.0.0/node_modules/two/package.json": `{"name":"two","version":"1.0.0","types":"index.d.ts"}`,
    "node_modules/.pnpm/two@1.0.0/node_modules/two/index.d.ts":
      "export declare class Two { private secret: number; value: string }\n",
    "node_modules/one": "->.pnpm/one@1.0.0/node_modules/one",
    "node_modules/two": "->.pnpm/two@1.0.0/node_modules/two",
    "src/main.ts":
      "import { one } from 'one';\nimport { Two } from 'two';\nexport const t: Two = one;\nexport const v: string = one.value;\n",
  },
  cold: root,
  steps: [
    { "src/main.ts": "import { one } from 'one';\nexport const v: number = one.value;\n" },
    {
      "node_modules/.pnpm/two@1.0.0/node_modules/two/index.d.ts":
        "export declare class Two { private secret: number; value: number }\n",
    },
  ],
};

const javascript: CheckProject = {
  name: "JavaScript with checkJs",
  tree: {
    "jsconfig.json": config({ checkJs: true, allowJs: true }),
    "src/a.js": "/** @param {number} n */\nexport function half(n) { return n / 2; }\n",
    "src/b.js": "import { half } from './a';\nhalf('two');\nexport const ok = half(2);\n",
  },
  cold: { projects: ["jsconfig.json"] },
  steps: [
    { "src/a.js": "/** @param {string} n */\nexport function half(n) { return n; }\n" },
    { "src/b.js": "export const ok = 1;\nok.nothing();\n" },
  ],
};

const changedConfig: CheckProject = {
  name: "configuration that changes, through extends",
  tree: {
    "tsconfig.json": `{"extends":"./base.json","include":["src"]}`,
    "base.json": config({ strict: false }, {}),
    "src/a.ts": "export function f(x) { return x; }\nexport const n: string = null;\n",
    "lib/b.ts": "export const outside: string = 1;\n",
  },
  cold: root,
  steps: [
    { "base.json": config({ strict: true }, {}) },
    { "tsconfig.json": `{"extends":"./base.json","include":["src","lib"]}` },
  ],
};

const declarations: CheckProject = {
  name: "declarations that cannot be written",
  tree: {
    "tsconfig.json": config({ declaration: true }),
    "src/a.ts": "export const a = 1;\n",
  },
  cold: root,
  steps: [
    {
      "src/a.ts":
        "class Hidden { private h = 1; }\nexport class Shown extends (class { private p = 1; }) {}\nexport const h = new Hidden();\n",
    },
    { "src/a.ts": "export const mixed = class { private secret = 1; };\n" },
  ],
};

export const checkProjects: readonly CheckProject[] = [
  plain,
  isolated,
  globals,
  references,
  workspaces,
  pnpm,
  javascript,
  changedConfig,
  declarations,
];
