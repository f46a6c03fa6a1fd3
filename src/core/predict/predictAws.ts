import type { Invocation } from "./commandTable.ts";
import { discloses, irreversible, local, type Prediction } from "./effect.ts";

const reading =
  /^(?:describe|list|get|head|lookup|batch-get|search|select|scan|query|wait|tail|filter|show|view|estimate|simulate|validate|check|test|ls|presign)(?:-|$)/;

/** `aws SERVICE VERB-NOUN`, `gcloud GROUP… VERB`, `az GROUP… VERB`: the verb tells. */
export function predictAws(call: Invocation): Prediction {
  const endpoint = call.args.find(
    (one, at) => one.startsWith("--endpoint-url") || call.args[at - 1] === "--endpoint-url",
  );
  const address = call.args.find((one) => /localhost|127\.0\.0\.1|localstack|0\.0\.0\.0/.test(one));
  if (endpoint !== undefined && address !== undefined)
    return local("asks a server on this machine");
  const [group = "", verb = ""] = call.operands;
  if (
    [
      "configure",
      "help",
      "config",
      "auth",
      "login",
      "logout",
      "version",
      "account",
      "info",
      "init",
      "components",
      "completion",
      "sso",
    ].includes(group) ||
    group === ""
  ) {
    return group === "login" || group === "sso" || group === "auth"
      ? discloses("logs in")
      : local("sets itself up");
  }
  if (call.program === "aws" && group === "s3") return predictS3(call, verb);
  const words = call.operands.slice(1, call.program === "aws" ? 2 : 6);
  return words.some((one) => reading.test(one))
    ? discloses(`reads from ${call.program}`)
    : irreversible(`changes something at ${call.program}`);
}

function predictS3(call: Invocation, verb: string): Prediction {
  if (verb === "ls" || verb === "presign") return discloses("reads a bucket");
  if (call.flags.has("--dryrun")) return discloses("tries a copy");
  const paths = call.operands.slice(2);
  const reads = (verb === "cp" || verb === "sync") && !(paths.at(-1) ?? "s3:").startsWith("s3:");
  return reads ? discloses("copies from a bucket") : irreversible("writes a bucket");
}
