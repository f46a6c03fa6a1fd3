import { Failure } from "../base/errors.ts";
import {
  checkSettings,
  mergedCheckSettings,
  unknownChecks,
  type CheckSettings,
} from "../core/check/checkSettings.ts";
import { readCheckSettings } from "../node/checks/checkSettingsFile.ts";
import { setting } from "./editorState.ts";

/**
 * What the person says about checks: their file, and the editor's settings over it.
 *
 * @throws Failure `checks-setting`, or those of {@link readCheckSettings}.
 */
export function checkSettingsNow(): CheckSettings {
  const parsed = checkSettings.safeParse({
    disabled: setting("checksDisabled"),
    commands: setting("checkCommands"),
    limits: setting("checkLimits"),
    commitOnlyWhenClean: setting("commitOnlyWhenClean"),
  });
  if (!parsed.success) {
    const lines = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw invalid(lines.join("; "));
  }
  const merged = mergedCheckSettings([readCheckSettings(process.env), parsed.data]);
  const unknown = unknownChecks(merged);
  if (unknown.length > 0) throw invalid(`no check has the name ${unknown.join(", ")}`);
  return merged;
}

function invalid(message: string): Failure {
  const fix = "correct holdfast.checksDisabled, checkCommands or checkLimits in the settings";
  return new Failure("usage", "checks-setting", message, fix);
}
