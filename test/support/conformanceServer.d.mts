import type { Server } from "@modelcontextprotocol/sdk/server/index.js";

/** A server that is not connected yet. */
export function conformanceServer(): Server;
