// Lays out a copy of the sample project as a person would have it on disk: installed packages, a build, an .env, and a
// git history of its own that is made here and is the same every time.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const packages = path.join(here, "..", "..", "node_modules");

/** Kept under another name here so that our own git does not obey them. */
const dotFiles = { "dot-gitignore": ".gitignore", "dot-env": ".env", "dot-npmrc": ".npmrc" };

const commits = [
  {
    message: "catalogue and cart",
    paths: [
      "package.json",
      "tsconfig.json",
      ".gitignore",
      ".npmrc",
      "scripts",
      "src/money.ts",
      "src/catalogue",
      "src/cart",
    ],
  },
  { message: "checkout: tax and receipts", paths: ["src/checkout", "docs"] },
  {
    message: "orders: a book in one file",
    paths: ["src/orders", "src/index.ts", "test/orders.test.mjs"],
  },
  { message: "command line, tests and a readme", paths: ["."] },
];

/** Makes the project in `folder`, which must be empty or absent. Gives `folder` back. */
export function makeSample(folder) {
  fs.cpSync(path.join(here, "shop"), folder, { recursive: true });
  for (const [kept, real] of Object.entries(dotFiles))
    fs.renameSync(path.join(folder, kept), path.join(folder, real));
  for (const name of ["typescript", "@types/node", "undici-types"])
    fs.cpSync(path.join(packages, name), path.join(folder, "node_modules", name), {
      recursive: true,
    });
  const bin = path.join(folder, "node_modules", ".bin");
  fs.mkdirSync(bin, { recursive: true });
  fs.symlinkSync("../typescript/bin/tsc", path.join(bin, "tsc"));
  makeHistory(folder);
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: folder });
  return folder;
}

function makeHistory(folder) {
  const quiet = {
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    HOME: folder,
    PATH: process.env.PATH,
  };
  const who = { NAME: "Sam Sample", EMAIL: "sam@shop.example" };
  const git = (day, ...args) => {
    const date = `2026-03-0${day}T09:00:00Z`;
    const env = { ...quiet };
    for (const role of ["AUTHOR", "COMMITTER"])
      Object.assign(env, {
        [`GIT_${role}_NAME`]: who.NAME,
        [`GIT_${role}_EMAIL`]: who.EMAIL,
        [`GIT_${role}_DATE`]: date,
      });
    execFileSync("git", args, { cwd: folder, env });
  };
  git(1, "-c", "init.defaultBranch=main", "init", "-q", "--template=");
  git(1, "config", "user.name", who.NAME);
  git(1, "config", "user.email", who.EMAIL);
  commits.forEach(({ message, paths }, index) => {
    git(index + 1, "add", "--", ...paths);
    git(index + 1, "commit", "-q", "-m", message);
  });
}
