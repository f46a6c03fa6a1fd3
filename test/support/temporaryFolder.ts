import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A folder that is removed after each test of the suite that asks for it. */
export function temporaryFolders(): () => string {
  const made: string[] = [];
  afterEach(() => {
    // A process that a test has ended may still write a last file while its folder goes.
    const patient = { maxRetries: 10, retryDelay: 50 };
    for (const folder of made.splice(0))
      rmSync(folder, { recursive: true, force: true, ...patient });
  });
  return () => {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "holdfast-test-")));
    made.push(folder);
    return folder;
  };
}
