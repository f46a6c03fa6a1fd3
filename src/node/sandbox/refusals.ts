import { Failure } from "../../base/errors.ts";
import { inContainer, installFix, sysctl } from "./distribution.ts";
import type { FailedReport } from "./reports.ts";

export const nativeFix = "npm run build, or install the extension again";

const containerFix =
  "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined";

/** What keeps this user from making a user namespace, as far as this machine tells; and the fix. */
export function userNamespaceFix(): string {
  if (sysctl("kernel.unprivileged_userns_clone") === "0") {
    return "sudo sysctl -w kernel.unprivileged_userns_clone=1 (and put it into /etc/sysctl.d to keep it)";
  }
  if (sysctl("user.max_user_namespaces") === "0") {
    return "sudo sysctl -w user.max_user_namespaces=15000 (and put it into /etc/sysctl.d to keep it)";
  }
  if (sysctl("kernel.apparmor_restrict_unprivileged_userns") === "1") {
    return (
      "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, " +
      "or give /usr/bin/bwrap an AppArmor profile with the rule `userns,`"
    );
  }
  if (inContainer()) return containerFix;
  return "allow unprivileged user namespaces for this user (kernel, LSM policy or container settings)";
}

/** Steps of the native program that fail for a reason of the machine's, and what to do there. */
const fixes: Readonly<Record<string, () => string>> = {
  "user-namespace": userNamespaceFix,
  "mount-overlay": () => "run with --backend copy",
  "no-new-privs": () => "use a kernel of version 5.13 or newer",
  seccomp: () => "use a kernel built with CONFIG_SECCOMP_FILTER",
  "seccomp-listen": () => "use a kernel of version 5.9 or newer with CONFIG_SECCOMP_FILTER",
  landlock: () => "boot with Landlock switched off (lsm=) or a newer kernel, and report this",
  pidfd: () => "use a kernel of version 5.3 or newer",
  "bwrap-missing": () => installFix("bubblewrap"),
};

/** Steps that fail for a reason of the command's, not of the machine's. */
const commandFixes: Readonly<Record<string, string>> = {
  "exec-agent": "check that the program is on PATH and that it can be seen in the sandbox",
  cwd: "start it in a directory of the workspace",
};

const namespaceWords =
  /namespace|uid map|setgroups|RTM_NEWADDR|loopback|Operation not permitted|pivot_root/i;

/** What a failed start means to a person: `refused` when the machine lacks a piece, `failed` when the command does. */
export function failureOf(told: FailedReport, nativePath: string): Failure {
  const message = told.reason === "" ? told.message : `${told.message}: ${told.reason}`;
  const commandFix = commandFixes[told.step];
  if (commandFix !== undefined) return new Failure("failed", told.step, message, commandFix);
  if (told.step === "spawn" || told.step === "supervise") {
    return new Failure("refused", "native-failed", `${nativePath}: ${message}`, nativeFix);
  }
  if (told.step === "bwrap") {
    const said = message === "" ? "bubblewrap ended without a word" : message;
    if (/Unknown option/i.test(said)) {
      const fix = `version 0.8 or newer is needed: ${installFix("bubblewrap")}`;
      return new Failure("refused", "bwrap-too-old", said, fix);
    }
    const fix = namespaceWords.test(said) ? userNamespaceFix() : "see `holdfast doctor`";
    return new Failure(
      "refused",
      "sandbox-unbuildable",
      `the sandbox cannot be built: ${said}`,
      fix,
    );
  }
  return new Failure(
    "refused",
    told.step,
    message,
    fixes[told.step]?.() ?? "see `holdfast doctor`",
  );
}
