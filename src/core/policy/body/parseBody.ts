import { deepestNesting, isNestedDeeper } from "../../../base/nesting.ts";
import type { JsonValue } from "../../journal/entry.ts";
import { awsFacts } from "./awsCall.ts";
import type { BodyFacts, BodyInput } from "./bodyFacts.ts";
import { formValue, parseForm } from "./form.ts";
import { gitFacts } from "./gitRequest.ts";
import { graphqlOf, isGraphqlEndpoint } from "./graphql.ts";
import { mcpFacts } from "./mcpMessage.ts";
import { latin1, multipartValue, parseMultipart } from "./multipart.ts";
import { npmFacts } from "./npmRequest.ts";
import { repeatedKey } from "./repeatedKey.ts";

/** Understands a body as far as it can be understood; never throws. What is malformed, cut off or of an unknown kind
 * becomes `opaque` with a reason, so that the policy can hold it. */
export function parseBody(input: BodyInput): BodyFacts {
  const git = gitFacts(input);
  if (git !== undefined) return git;
  const content = contentOf(input);
  const aws = awsFacts(input, content.body);
  const npm = npmFacts(input, content.body);
  const mcp = mcpFacts(input, content.body);
  const kind =
    content.graphql !== undefined
      ? "graphql"
      : mcp !== undefined
        ? "mcp"
        : npm !== undefined
          ? "npm"
          : aws !== undefined
            ? "aws"
            : "http";
  if (kind === "http") return Object.assign(content, { kind } as const);
  return {
    ...content,
    kind,
    ...(aws === undefined ? {} : { aws }),
    ...(npm === undefined ? {} : { npm }),
    ...(mcp === undefined ? {} : { mcp }),
  };
}

const twice = "a key stands twice in one JSON object";
const tooDeep = `JSON nested more than ${deepestNesting} levels deep`;

type Content = Omit<BodyFacts, "kind">;

function opaque(bodyProblem: string): Content {
  return { bodyType: "opaque", body: undefined, bodyProblem };
}

function contentOf(input: BodyInput): Content {
  const type = mediaType(input);
  if (input.bytes.length === 0 && input.complete) return emptyContent(input);
  if (!input.complete) {
    const unread = opaque("larger or slower than what is inspected");
    return isUnderstood(input, type) ? unread : { ...unread, streams: true };
  }
  const charset = foreignCharset(input);
  if (charset !== undefined) return opaque(`written in the character set ${charset}`);
  if (type === "multipart/form-data") return multipartContent(input);
  if (input.text === undefined) {
    return isTextual(type) ? opaque("not valid UTF-8") : { bodyType: "binary", body: undefined };
  }
  // What looks like JSON is read as JSON, whatever it is called: some servers do not ask.
  if (isJson(type) || /^\s*[[{]/.test(input.text)) {
    const content = jsonContent(input);
    if (isJson(type) || type === "" || content.bodyType !== "opaque") return content;
    if (content.bodyProblem === twice || content.bodyProblem === tooDeep) return content;
  }
  if (type === "application/x-www-form-urlencoded") return formContent(input, input.text);
  if (type === "application/graphql") return graphqlContent(input, { query: input.text });
  return isTextual(type) || type === ""
    ? { bodyType: "text", body: input.text }
    : { bodyType: "binary", body: undefined };
}

/** Whether a body, from what is known of it, is one whose content the policy would see: to be long must not hide it. */
function isUnderstood(input: BodyInput, type: string): boolean {
  const begins = latin1(input.bytes.subarray(0, beginningBytes));
  const first = /[^\s\u00EF\u00BB\u00BF]/.exec(begins)?.[0];
  const isBlank = first === undefined && begins !== "";
  const isNamed = isJson(type) || /^multipart\/|urlencoded|graphql/.test(type);
  return isNamed || isBlank || first === "{" || first === "[" || isGraphqlEndpoint(input.path);
}

/** Nobody begins with more space than this. */
const beginningBytes = 4096;

/** Character sets in which what is plain here is plain there. */
const plainCharsets: ReadonlySet<string> = new Set([
  "ascii",
  "iso-8859-1",
  "latin1",
  "us-ascii",
  "utf-8",
  "utf8",
  "windows-1252",
]);

/** The character set of a text that is said to be written in another than it is read in here. */
function foreignCharset(input: BodyInput): string | undefined {
  const said = contentType(input).matchAll(/;\s*charset\s*=\s*["']?([^"';,\s]*)/gi);
  const names = [...said].map(([, name = ""]) => name.toLowerCase());
  return names.find((name) => !plainCharsets.has(name));
}

function formContent(input: BodyInput, text: string): Content {
  const pairs = parseForm(text);
  if (pairs === undefined) return opaque("malformed form");
  const body = formValue(pairs);
  return isGraphqlEndpoint(input.path) && "query" in body
    ? graphqlContent(input, body)
    : { bodyType: "form", body };
}

function emptyContent(input: BodyInput): Content {
  const graphql = graphqlOf(input.path, input.query, undefined);
  if (graphql === "malformed") return opaque("malformed GraphQL document");
  if (graphql === undefined) return { bodyType: "none", body: undefined };
  const query = input.query.find(([name]) => name === "query")?.[1] ?? "";
  return { bodyType: "graphql", body: { query }, graphql };
}

function jsonContent(input: BodyInput): Content {
  const text = input.text ?? "";
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return jsonLines(text) ?? opaque("malformed JSON");
  }
  if (isNestedDeeper(value)) return opaque(tooDeep);
  return repeatedKey(text) === undefined ? graphqlContent(input, value) : opaque(twice);
}

/** Newline-delimited JSON (bulk endpoints) becomes a list. */
function jsonLines(text: string): Content | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length < 2) return undefined;
  try {
    const body = lines.map((line) => JSON.parse(line) as JsonValue);
    if (isNestedDeeper(body)) return opaque(tooDeep);
    const repeats = lines.some((line) => repeatedKey(line) !== undefined);
    return repeats ? opaque(twice) : { bodyType: "json", body };
  } catch {
    return undefined;
  }
}

function graphqlContent(input: BodyInput, value: JsonValue): Content {
  const graphql = graphqlOf(input.path, input.query, value);
  if (graphql === "malformed") return opaque("malformed GraphQL document");
  if (graphql === undefined) return { bodyType: "json", body: value };
  return { bodyType: "graphql", body: value, graphql };
}

function multipartContent(input: BodyInput): Content {
  const found = contentType(input).matchAll(/;\s*boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/gi);
  const [boundary, ...others] = found;
  const parts =
    others.length > 0
      ? undefined
      : parseMultipart(input.bytes, boundary?.[1] ?? boundary?.[2] ?? "");
  if (parts === undefined) return opaque("malformed multipart form");
  const body = multipartValue(parts);
  const content: Content = { bodyType: "multipart", body, multipart: parts };
  if (!isGraphqlEndpoint(input.path)) return content;
  // https://github.com/jaydenseric/graphql-multipart-request-spec
  const { operations } = body;
  if (typeof operations !== "string") {
    return "query" in body ? { ...graphqlContent(input, body), multipart: parts } : content;
  }
  return { ...jsonContent({ ...input, text: operations }), multipart: parts };
}

function contentType(input: BodyInput): string {
  return input.headers.find(([name]) => name === "content-type")?.[1] ?? "";
}

function mediaType(input: BodyInput): string {
  return (contentType(input).split(";")[0] ?? "").trim().toLowerCase();
}

function isJson(type: string): boolean {
  return /^application\/(?:[\w.+-]+\+)?(?:json|x-amz-json-1\.[01]|x-ndjson|jsonl|csp-report)$/.test(
    type,
  );
}

function isTextual(type: string): boolean {
  return type.startsWith("text/") || /xml|javascript|yaml|graphql|sql|urlencoded|json/.test(type);
}
