import {
  discloses,
  irreversible,
  local,
  type Prediction,
  recoverable,
  strictest,
} from "./effect.ts";
import { isLocalHost, splitUrl } from "./predictRequest.ts";

const writing =
  /\b(?:requests|httpx|session|client|axios|http|got|ky|superagent|needle|aiohttp|ureq|reqwest|RestClient|Faraday|HTTParty)\s*\.\s*(?:post|put|patch|delete)\b|\bmethod\s*[:=]\s*["'`](?:POST|PUT|PATCH|DELETE)|\burlopen\s*\([^)]*data\s*=|\bRequest\s*\([^)]*data\s*=|\b(?:smtplib|nodemailer|paramiko|fabric|ftplib|sendmail)\b|\bInvoke-(?:WebRequest|RestMethod)\b[^\n]*-Method\s+(?:POST|PUT|PATCH|DELETE)|\bHTTP::(?:Post|Put|Patch|Delete)\b|\bhttp\.(?:Post|PostForm)\s*\(/i;
const reading =
  /\b(?:requests|httpx|aiohttp|axios|got|ky|superagent|needle|urllib|urlopen|reqwest|ureq|LWP|HTTParty|Faraday)\b|\bfetch\s*\(|\bhttps?\.(?:get|Get|request)\s*\(|\bXMLHttpRequest\b|\bWebSocket\b|\bsocket\.(?:connect|create_connection)\b|\bcreateConnection\s*\(|\bInvoke-(?:WebRequest|RestMethod)\b|\bdns\.(?:resolve|lookup)|\bgethostbyname\b/;
const clouds =
  /\b(?:boto3|google\.cloud|azure\.(?:storage|identity|mgmt)|stripe|twilio|sendgrid|slack_sdk|@octokit|octokit|PyGithub)\b/;

/** What a piece of code in some other language would do, told from the calls that it names. */
export function predictCode(code: string): Prediction {
  return strictest([...requestsIn(code), ...commandsIn(code)]);
}

/** The requests that a piece of code makes by itself. */
export function requestsIn(code: string): readonly Prediction[] {
  const writes = writing.test(code);
  if (!writes && !reading.test(code) && !clouds.test(code)) return [];
  if (clouds.test(code)) return [irreversible("uses the library of an online API")];
  const hosts = Array.from(
    code.matchAll(/(?:https?|wss?):\/\/[^\s"'`\\)]+/g),
    ([url]) => splitUrl(url)?.host ?? "$",
  );
  const isLocal = hosts.length > 0 && hosts.every(isLocalHost);
  if (isLocal) return [local("asks a server on this machine")];
  if (writes) return [irreversible("sends data from code")];
  return [discloses("reads from the network in code")];
}

/** Commands that the code starts, as far as they stand in it. */
function commandsIn(code: string): readonly Prediction[] {
  const found: Prediction[] = [];
  if (/\bgit["'\s,[]+(?:-C["'\s,]+[^"'\s,]+["'\s,]+)?push\b/.test(code)) {
    found.push(
      /--force|["'\s]-f["'\s]|--delete|--tags/.test(code)
        ? irreversible("pushes by force or a tag")
        : recoverable("pushes a branch", "delete the branch, or reset it to the commit before"),
    );
  }
  if (/\bgh["'\s,[]+(?:pr|issue|release|api|repo|workflow|secret)["'\s,]+/.test(code)) {
    found.push(
      /["'\s](?:view|list|diff|checks|status)\b/.test(code) &&
        !/comment|create|merge|edit|close/.test(code)
        ? discloses("reads from GitHub in code")
        : irreversible("acts on GitHub in code"),
    );
  }
  if (/\b(?:npm|pnpm|cargo|twine)["'\s,[]+(?:publish|upload)\b/.test(code)) {
    found.push(irreversible("publishes a package"));
  }
  return found;
}
