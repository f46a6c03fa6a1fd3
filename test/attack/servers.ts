import type { Server } from "node:net";

/** Resolves when the server takes no more connections and has none. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
