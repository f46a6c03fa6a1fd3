import * as z from "zod";

/** How the hook program hands an event on (native/PROTOCOL.md): `at` in milliseconds since 1970, `data` as the agent gave it. */
export const hookLine = z.object({ at: z.number(), data: z.unknown() });
