import { Failure } from "../../base/errors.ts";
import type { Judge, Judgement } from "../../core/policy/judge.ts";
import { factsOfUrl } from "../broker/callFacts.ts";

/**
 * Judges a call that somebody writes down instead of making it. A body that starts like JSON is taken as JSON, anything
 * else as a form.
 *
 * @throws Failure `url-invalid`.
 */
export function explainCall(
  judge: Judge,
  method: string,
  url: string,
  body: Uint8Array = new Uint8Array(),
): Judgement {
  const type = /^\s*[[{]/.test(new TextDecoder().decode(body.subarray(0, 64)))
    ? "application/json"
    : "application/x-www-form-urlencoded";
  const headers = body.length === 0 ? [] : [["content-type", type] as const];
  const facts = factsOfUrl(method, url, headers, body);
  if (facts === undefined) {
    const fix = "write it with its scheme: https://api.example.com/path";
    throw new Failure("usage", "url-invalid", `${url} is not a URL that can be judged`, fix);
  }
  return judge(facts);
}
