import { Failure } from "../../base/errors.ts";
import {
  checkSettingsFile,
  unknownChecks,
  type CheckSettings,
} from "../../core/check/checkSettings.ts";
import { readConfig, type ReportProblem } from "../../core/config/readConfig.ts";
import { configText, problemLine, userConfigPath } from "../state/configFile.ts";

/** The user's settings of checks: `$XDG_CONFIG_HOME/holdfast/checks.json`, else `~/.config/holdfast/checks.json`. */
export function userChecksPath(env: NodeJS.ProcessEnv): string {
  return userConfigPath(env, "checks.json");
}

/**
 * Reads the user's settings of checks; none are none.
 *
 * @throws Failure `checks-invalid` naming file, line and column; `checks-unreadable`; `checks-foreign`.
 */
export function readCheckSettings(env: NodeJS.ProcessEnv): CheckSettings {
  const file = userChecksPath(env);
  const text = configText(file, "user", "checks");
  if (text === undefined) return {};
  const { found, problems, report } = readConfig(text, file, checkSettingsFile);
  if (found !== undefined) reportNames(found.value, report);
  if (found === undefined || problems.length > 0) {
    const lines = problems.map(problemLine).join("; ");
    throw new Failure("failed", "checks-invalid", lines, `correct ${file}`);
  }
  const { version: _, ...settings } = found.value;
  return settings;
}

function reportNames(settings: CheckSettings, report: ReportProblem): void {
  const names = (settings.commands ?? []).map(({ name }) => name);
  for (const name of new Set(names.filter((one, at) => names.indexOf(one) !== at))) {
    report(0, `two commands have the name ${name}`);
  }
  for (const name of unknownChecks(settings)) report(0, `no check has the name ${name}`);
}
