import { takeSupervisorLock } from "../../src/node/state/supervisorLock.ts";

// Tries once to take the lock of the folder given, says how it went, and stays until it is killed.
process.stdout.write(`${takeSupervisorLock(process.argv[2] ?? "")}\n`);
setInterval(() => undefined, 1000);
