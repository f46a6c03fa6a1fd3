import { existsSync, readFileSync } from "node:fs";
import { applyEdits, modify } from "jsonc-parser";
import { replaceFile } from "../state/replaceFile.ts";
import { parseMcpSettings, type OfferedServer } from "./mcpSettings.ts";

const emptySettings = '{\n  "mcpServers": {}\n}\n';

/**
 * Writes an offered server into the person's own settings, bound to the workspace; what the workspace says later changes
 * nothing. Comments and layout stay; the file is replaced as a whole, private to its owner.
 *
 * @throws Failure `mcp-invalid` when the file, or what would become of it, is not valid.
 */
export function acceptServer(file: string, offer: OfferedServer, workspace: string): void {
  const before = existsSync(file) ? readFileSync(file, "utf8") : emptySettings;
  parseMcpSettings(before, file);
  const entry = { ...(offer.entry as object), workspaces: [workspace] };
  const edits = modify(before, ["mcpServers", offer.name], entry, {
    formattingOptions: { insertSpaces: true, tabSize: 2, insertFinalNewline: true },
  });
  const after = applyEdits(before, edits);
  parseMcpSettings(after, file);
  replaceFile(file, after);
}
