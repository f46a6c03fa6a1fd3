import { writeFileSync } from "node:fs";
import { readRepositoryFile } from "./repository.ts";
import { settingsDocument } from "./settingsDocument.ts";

writeFileSync(
  new URL("../../docs/settings.md", import.meta.url),
  settingsDocument(readRepositoryFile("docs/settings.md")),
);
