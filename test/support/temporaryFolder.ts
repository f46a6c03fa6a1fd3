import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A folder that is removed after each test of the suite that asks for it. */
export function temporaryFolders(): () => string {
  const made: string[] = [];
  afterEach(async () => {
    for (const folder of made.splice(0)) await remove(folder);
  });
  return () => {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "holdfast-test-")));
    made.push(folder);
    return folder;
  };
}

/** A process that a test has ended may still write a last file while its folder goes. Node's own retries look only once at
 * what is in it. */
async function remove(folder: string): Promise<void> {
  for (let left = 10; left > 0; left--) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  rmSync(folder, { recursive: true, force: true });
}
