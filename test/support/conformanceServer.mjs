// An MCP server that has what the public conformance suite asks of a server, made with the official SDK: its tools,
// resources and prompts, as the descriptions of the suite's scenarios name them. As a program it speaks over standard input
// and output.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const text = (value) => ({ type: "text", text: value });
const image = { type: "image", data: pixel, mimeType: "image/png" };
const resource = (uri, mimeType, content) => ({
  type: "resource",
  resource: { uri, mimeType, text: content },
});
const user = (content) => ({ role: "user", content });

const nothing = { type: "object", properties: {} };
const one = (name) => ({
  type: "object",
  properties: { [name]: { type: "string" } },
  required: [name],
});
const titled = (names) => names.map(([value, title]) => ({ const: value, title }));

/** Asks the client for input; the answer becomes the result. */
const ask = async (server, prefix, message, properties, required = []) => {
  const requestedSchema = { type: "object", properties, required };
  const { action, content } = await server.elicitInput({ message, requestedSchema });
  return [text(`${prefix}: action=${action}, content=${JSON.stringify(content ?? {})}`)];
};

const tools = {
  test_simple_text: {
    run: () => [text("This is a simple text response for testing.")],
  },
  test_image_content: { run: () => [image] },
  test_audio_content: {
    run: () => [{ type: "audio", data: silence, mimeType: "audio/wav" }],
  },
  test_embedded_resource: {
    run: () => [
      resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
  },
  test_multiple_content_types: {
    run: () => [
      text("Multiple content types test:"),
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  },
  test_tool_with_logging: {
    run: async (_, { sendNotification }) => {
      const words = ["Tool execution started", "Tool processing data", "Tool execution completed"];
      for (const data of words) {
        await sendNotification({
          method: "notifications/message",
          params: { level: "info", data },
        });
        await wait(20);
      }
      return [text("logged")];
    },
  },
  test_tool_with_progress: {
    run: async (_, { sendNotification, _meta }) => {
      const progressToken = _meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        const params = { progressToken, progress, total: 100 };
        if (progressToken !== undefined)
          await sendNotification({ method: "notifications/progress", params });
        await wait(20);
      }
      return [text(String(progressToken))];
    },
  },
  test_error_handling: {
    run: () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  },
  test_sampling: {
    input: one("prompt"),
    run: async ({ prompt }, { server }) => {
      const messages = [user(text(prompt))];
      const { content } = await server.createMessage({ messages, maxTokens: 100 });
      return [text(`LLM response: ${content.text}`)];
    },
  },
  test_elicitation: {
    input: one("message"),
    run: ({ message }, { server }) =>
      ask(
        server,
        "User response",
        message,
        {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        },
        ["username", "email"],
      ),
  },
  test_elicitation_sep1034_defaults: {
    run: (_, { server }) =>
      ask(server, "Elicitation completed", "Please review the defaults", {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
  },
  test_elicitation_sep1330_enums: {
    run: (_, { server }) => {
      const options = ["option1", "option2", "option3"];
      const single = titled([
        ["value1", "First Option"],
        ["value2", "Second Option"],
      ]);
      const multiple = titled([
        ["value1", "First Choice"],
        ["value2", "Second Choice"],
      ]);
      return ask(server, "Elicitation completed", "Please choose", {
        untitledSingle: { type: "string", enum: options },
        titledSingle: { type: "string", oneOf: single },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", items: { type: "string", enum: options } },
        titledMulti: { type: "array", items: { anyOf: multiple } },
      });
    },
  },
  json_schema_2020_12_tool: {
    description: "Tool with JSON Schema 2020-12 features",
    input: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
      additionalProperties: false,
    },
    run: () => [text("done")],
  },
};

const resources = {
  "test://static-text": {
    mimeType: "text/plain",
    text: "This is the content of the static text resource.",
  },
  "test://static-binary": { mimeType: "image/png", blob: pixel },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched." },
};

function contentOf(uri) {
  const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return resources[uri];
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { mimeType: "application/json", text: JSON.stringify(data) };
}

const argument = (name) => ({ name, description: name, required: true });
const prompts = {
  test_simple_prompt: { messages: () => [user(text("This is a simple prompt for testing."))] },
  test_prompt_with_arguments: {
    arguments: [argument("arg1"), argument("arg2")],
    messages: ({ arg1, arg2 }) => [
      user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
    ],
  },
  test_prompt_with_embedded_resource: {
    arguments: [argument("resourceUri")],
    messages: ({ resourceUri }) => [
      user(resource(resourceUri, "text/plain", "Embedded resource content for testing.")),
      user(text("Please process the embedded resource above.")),
    ],
  },
  test_prompt_with_image: {
    messages: () => [user(image), user(text("Please analyze the image above."))],
  },
};

export function conformanceServer() {
  const server = new Server(
    { name: "conformance", version: "1.0.0" },
    {
      capabilities: {
        tools: {},
        resources: { subscribe: true },
        prompts: {},
        completions: {},
        logging: {},
      },
    },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(tools).map(([name, { description = name, input = nothing }]) => ({
      name,
      description,
      inputSchema: input,
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    try {
      const content = await tools[params.name].run(params.arguments ?? {}, { ...extra, server });
      return { content };
    } catch (error) {
      return { isError: true, content: [text(error.message)] };
    }
  });
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: Object.entries(resources).map(([uri, { mimeType }]) => ({
      uri,
      name: uri,
      description: uri,
      mimeType,
    })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => ({
    contents: [{ uri, ...contentOf(uri) }],
  }));
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: Object.entries(prompts).map(([name, prompt]) => ({
      name,
      description: name,
      arguments: prompt.arguments ?? [],
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => ({
    messages: prompts[params.name].messages(params.arguments ?? {}),
  }));
  server.setRequestHandler(CompleteRequestSchema, () => ({
    completion: { values: ["paris", "park"], total: 2, hasMore: false },
  }));
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await conformanceServer().connect(new StdioServerTransport());
