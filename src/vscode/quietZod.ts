import * as z from "zod/mini";

// Imported before any schema is made. The extension host shares its process with every other extension: no code from
// strings, and no look at `navigator`, whose absence zod takes for permission to make some.
z.config({ jitless: true });
