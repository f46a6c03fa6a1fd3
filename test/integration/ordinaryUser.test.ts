import { runSuitesAsUser } from "../support/suitesElsewhere.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

/** Suites in which it makes a difference who runs them: private files, owners, namespaces, mounts, numbers of users. */
const suites = [
  "broker",
  "brokerHolds",
  "brokerInside",
  "brokerInsideGit",
  "policyFiles",
  "publishCommit",
  "publishFaults",
  "sandbox",
  "sandboxObservation",
  "sandboxStreams",
  "sandboxTransparent",
].map((name) => `test/integration/${name}.test.ts`);

/** Long, and the same for every user: load, waiting, the bound on names, a fault at each call, reads of git, a compiler. */
const sameForAll =
  /a thousand open holds|are bounded|whichever of its own file calls|takes clone, fetch|in Go|come back/;

if (process.getuid?.() === 0)
  describe("broker, publish and sandbox", function () {
    this.timeout(600_000);
    const folder = temporaryFolders();

    it("as an ordinary user", async () => {
      await runSuitesAsUser(suites, folder(), ["--grep", sameForAll.source, "--invert"]);
    });
  });
