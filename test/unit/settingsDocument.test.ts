import assert from "node:assert/strict";
import { readRepositoryFile } from "../support/repository.ts";
import { settingsDocument, settingsSections } from "../support/settingsDocument.ts";

describe("the document of the settings", () => {
  it("says what the manifest says (`npm run settings` makes it)", () => {
    const text = readRepositoryFile("docs/settings.md");
    assert.equal(text, settingsDocument(text));
  });

  it("tells of each who may set it", () => {
    const sections = settingsSections().split(/^### /m).slice(1);
    assert.ok(sections.length >= 6);
    for (const section of sections) assert.match(section, /, set by you,/);
    const endpoint = sections.find((one) => one.startsWith("`holdfast.traceEndpoint`"));
    assert.match(endpoint ?? "", /in your own settings only/);
  });
});
