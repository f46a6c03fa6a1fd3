import {
  sendEvents,
  sendJson,
  type ModelDialect,
  type ModelQuestion,
  type ModelTurn,
} from "./scriptedModelWire.ts";

interface Content {
  readonly role?: string;
  readonly parts?: readonly { readonly text?: string; readonly functionCall?: unknown }[];
}

/** Gemini: `…:generateContent`, `…:streamGenerateContent` and the token counter. */
export const answerGemini: ModelDialect = (question, response) => {
  const { pathname } = new URL(question.path, "http://model.invalid");
  if (pathname.endsWith(":countTokens")) {
    sendJson(response, 200, { totalTokens: 100 });
    return true;
  }
  const streams = pathname.endsWith(":streamGenerateContent");
  if (!streams && !pathname.endsWith(":generateContent")) return false;
  const { text, calls = [] } = turnOf(question);
  const parts = [
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ name, input }) => ({
      functionCall: { id: question.newId("call"), name, args: input },
    })),
  ];
  const answer = {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
    modelVersion: "scripted",
    responseId: question.newId("resp"),
  };
  if (streams) sendEvents(response, [{ data: answer }]);
  else sendJson(response, 200, answer);
  return true;
};

function turnOf(question: ModelQuestion): ModelTurn {
  const { body } = question;
  const contents = (body["contents"] ?? []) as readonly Content[];
  const tools = (body["tools"] ?? []) as readonly { functionDeclarations?: readonly unknown[] }[];
  // The agent also asks which model to use and who speaks next, as JSON and without tools.
  if (!tools.some(({ functionDeclarations = [] }) => functionDeclarations.length > 0))
    return { text: '{"reasoning":"scripted","model_choice":"flash","next_speaker":"user"}' };
  const words = contents
    .filter(({ role }) => role === "user")
    .flatMap(({ parts = [] }) => parts.map(({ text = "" }) => text))
    .join("\n");
  const turnsSoFar = contents.filter(
    ({ role, parts = [] }) =>
      role === "model" && parts.some(({ functionCall }) => functionCall !== undefined),
  ).length;
  return question.turn(words, turnsSoFar);
}
