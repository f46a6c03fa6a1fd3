import { type Prediction, strictest } from "./effect.ts";
import { requestsIn } from "./predictCode.ts";
import { predictCommand, type ScriptContext } from "./predictScript.ts";

/**
 * PowerShell has no parser that runs here. Statements are split at separators outside quotes, and each is taken as a
 * program with its arguments; cmdlets stay on the machine but for the two that make requests.
 */
export function predictPowerShell(script: string, context: ScriptContext): Prediction {
  const commands = statementsOf(script).map((words) => predictCommand({ words }, context));
  return strictest([...commands, ...requestsIn(script)]);
}

function statementsOf(script: string): readonly (readonly string[])[] {
  const statements: string[][] = [];
  let words: string[] = [];
  const end = () => {
    const named = words.findIndex(
      (one) => !/^(?:&|\.|=|\$[\w:]+|if|else|return|try|do)$/.test(one),
    );
    // A text by itself is a value, unless & runs it.
    const isValue = /^["']/.test(words[named] ?? "") && words[named - 1] !== "&";
    if (named >= 0 && !isValue) statements.push(words.slice(named).map(unquoted));
    words = [];
  };
  const tokens = script.matchAll(/"(?:[^"`]|`.)*"|'[^']*'|`\n|[\n;|{}()]|&&|[^\s;|{}()"']+/g);
  for (const [token] of tokens) {
    if (/^(?:[\n;|{}()]|&&)$/.test(token)) end();
    else words.push(token);
  }
  end();
  return statements;
}

function unquoted(token: string): string {
  return token.replaceAll(/^["']|["']$/g, "");
}
