import type { JsonValue } from "../../journal/entry.ts";
import type { AwsFacts } from "../judge.ts";
import type { BodyInput } from "./bodyFacts.ts";

/** Service, region and action of a call signed with AWS Signature Version 4 (or 4A), from the credential scope and from
 * where each protocol of AWS carries its action; `undefined` when the call is not signed so. */
export function awsFacts(input: BodyInput, body: JsonValue | undefined): AwsFacts | undefined {
  const scope = credentialScope(input);
  if (scope === undefined) return undefined;
  const action = actionOf(input, body, scope.service);
  return { ...scope, ...(action === undefined ? {} : { action }) };
}

function credentialScope(input: BodyInput): { service: string; region: string } | undefined {
  const authorization = header(input, "authorization") ?? "";
  const credential = /^AWS4-(?:HMAC|ECDSA-P256)-SHA256\s/.test(authorization)
    ? /Credential=([^,\s]+)/.exec(authorization)?.[1]
    : queryValue(input, "X-Amz-Credential");
  if (credential === undefined) return undefined;
  // KEY/DATE/REGION/SERVICE/aws4_request; version 4A leaves the region out. A key may hold slashes only when forged.
  const parts = credential.split("/");
  if (parts.at(-1) !== "aws4_request" || parts.length < 4) return { service: "", region: "" };
  const service = parts.at(-2) ?? "";
  const region =
    parts.length >= 5 ? (parts.at(-3) ?? "") : (header(input, "x-amz-region-set") ?? "");
  return { service: service.toLowerCase(), region };
}

function actionOf(
  input: BodyInput,
  body: JsonValue | undefined,
  service: string,
): string | undefined {
  const target = header(input, "x-amz-target");
  if (target !== undefined) return target.slice(target.lastIndexOf(".") + 1);
  const inQuery = queryValue(input, "Action");
  if (inQuery !== undefined) return inQuery;
  if (typeof body === "object" && body !== null && !Array.isArray(body)) {
    const action = (body as Readonly<Record<string, JsonValue>>)["Action"];
    if (typeof action === "string") return action;
  }
  return service === "s3" ? s3Action(input) : undefined;
}

/** Amazon S3 carries its action in method, depth of the path and sub-resource (API reference, "Actions"). */
function s3Action(input: BodyInput): string | undefined {
  const virtualHost = !/^s3[.-]/.test(input.host);
  const segments = input.path.split("/").filter((segment) => segment !== "");
  const hasObject = segments.length > (virtualHost ? 0 : 1);
  const hasBucket = virtualHost || segments.length > 0;
  const has = (name: string): boolean => input.query.some(([one]) => one === name);
  const noun = hasObject ? "Object" : "Bucket";
  for (const [parameter, suffix] of subResources) {
    if (has(parameter)) return `${verbs[input.method] ?? input.method}${noun}${suffix}`;
  }
  if (input.method === "POST" && has("delete")) return "DeleteObjects";
  if (input.method === "POST" && has("uploads")) return "CreateMultipartUpload";
  if (has("uploadId")) return uploadActions[input.method];
  if (!hasBucket) return "ListBuckets";
  if (input.method === "PUT") {
    if (!hasObject) return "CreateBucket";
    return header(input, "x-amz-copy-source") === undefined ? "PutObject" : "CopyObject";
  }
  if (input.method === "GET") return hasObject ? "GetObject" : "ListObjects";
  return { DELETE: `Delete${noun}`, HEAD: `Head${noun}`, POST: "PostObject" }[input.method];
}

const verbs: Readonly<Record<string, string>> = { GET: "Get", PUT: "Put", DELETE: "Delete" };

const subResources: readonly (readonly [string, string])[] = [
  ["policy", "Policy"],
  ["acl", "Acl"],
  ["tagging", "Tagging"],
  ["lifecycle", "Lifecycle"],
  ["versioning", "Versioning"],
  ["encryption", "Encryption"],
  ["retention", "Retention"],
  ["legal-hold", "LegalHold"],
  ["website", "Website"],
  ["cors", "Cors"],
  ["replication", "Replication"],
];

const uploadActions: Readonly<Record<string, string>> = {
  PUT: "UploadPart",
  POST: "CompleteMultipartUpload",
  DELETE: "AbortMultipartUpload",
  GET: "ListParts",
};

function header(input: BodyInput, name: string): string | undefined {
  return input.headers.find(([one]) => one === name)?.[1];
}

function queryValue(input: BodyInput, name: string): string | undefined {
  return input.query.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}
