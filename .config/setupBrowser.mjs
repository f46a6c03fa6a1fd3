// Finds the browser that stands in for the editor's window in tests.
import fs from "node:fs";
import path from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Absolute path of a program on PATH, or undefined. */
export function programOnPath(name) {
  const folders = (process.env.PATH ?? "").split(path.delimiter).concat("/usr/sbin", "/sbin");
  for (const folder of folders) {
    const file = path.join(folder, name);
    if (folder !== "" && fs.existsSync(file)) return file;
  }
  return undefined;
}

/** `$HOLDFAST_TEST_BROWSER`, or the first known browser on PATH; undefined when there is none. */
export function findBrowser() {
  if (process.env.HOLDFAST_TEST_BROWSER) return process.env.HOLDFAST_TEST_BROWSER;
  return names.map(programOnPath).find((file) => file !== undefined);
}
