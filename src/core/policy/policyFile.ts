import { z } from "zod";
import { presetIds } from "./presets.ts";

/**
 * A policy file, DESIGN §5: JSON with comments. `when` names what a rule matches: where a key is a list any of it
 * matches, and all keys must match. An empty list matches nothing.
 */

const oneOrMany = (one: z.ZodString) => z.union([one, z.array(one)]);

const host = z
  .string()
  .regex(
    /^(\*\.)?[a-z0-9_:.-]+$/,
    "a host is written in lower case and ASCII: example.com, or *.example.com for every name below it",
  )
  .describe("A host name or address, or *.example.com for every name below example.com.");

const kinds = ["http", "git", "graphql", "mcp", "npm", "aws", "tcp"] as const;

const port = z.int().min(1).max(65_535);

export const whenSchema = z
  .strictObject({
    host: oneOrMany(host).optional(),
    port: z
      .union([port, z.array(port)])
      .optional()
      .describe("A TCP port."),
    method: oneOrMany(z.string().regex(/^[A-Z]+$/, "a method is written in capitals: POST"))
      .optional()
      .describe("HTTP methods, in capitals."),
    path: oneOrMany(z.string().regex(/^\//, "a path starts with a slash"))
      .optional()
      .describe("A path: * stands for a part between slashes, ** for any number of parts."),
    kind: z
      .union([z.enum(kinds), z.array(z.enum(kinds))])
      .optional()
      .describe("The wire format."),
    ref: oneOrMany(z.string().min(1))
      .optional()
      .describe("Git refs of a push: main, refs/tags/*, agent/**."),
    server: oneOrMany(z.string().min(1)).optional().describe("The name of an MCP server."),
    tool: oneOrMany(z.string().min(1))
      .optional()
      .describe("An MCP tool or a GraphQL root field; * stands for any characters."),
    if: z
      .string()
      .min(1)
      .optional()
      .describe("A condition in CEL over method, host, port, path, query, headers, body, task, …"),
  })
  .describe("What the rule matches; all keys must match.");

export const ruleSchema = z.strictObject({
  id: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
      "an id has letters, digits, dots, dashes and underscores",
    )
    .describe("A name for the rule, shown with every verdict that it decides."),
  when: whenSchema,
  verdict: z.enum(["allow", "hold", "deny"]).describe("What happens; the strictest rule wins."),
  reversibility: z
    .enum(["reversible", "recoverable", "irreversible"])
    .optional()
    .describe("What undoing would take; it can raise what is known, not lower it."),
  wayBack: z.string().optional().describe("How to undo it on the platform, and until when."),
  reason: z.string().optional().describe("Shown to the person who decides."),
});

const limits = z
  .record(z.string(), z.union([z.int().min(0), z.string(), z.array(z.string())]))
  .describe(
    "Default limits of a task: records, refs, recipients, bytes (numbers), hosts (a list).",
  );

const waiting = z
  .strictObject({
    keepAliveSeconds: z
      .int()
      .min(0)
      .optional()
      .describe("How often a waiting client gets a sign of life, where it takes one; 0: never."),
    answerAfterSeconds: z
      .int()
      .min(1)
      .optional()
      .describe(
        "After how long a waiting client is told to come back; its call stays held. Left out: it waits.",
      ),
  })
  .describe("How clients wait while their call is held.");

export const policySchema = z
  .strictObject({
    $schema: z.string().optional(),
    version: z.literal(1),
    presets: z
      .array(z.enum(presetIds))
      .optional()
      .describe("Built-in lists that are switched on; left out: the default ones; []: none."),
    limits: limits.optional(),
    waiting: waiting.optional(),
    rules: z.array(ruleSchema).describe("The strictest of all rules that match wins."),
  })
  .describe("A Holdfast policy.");

export type PolicyFile = z.infer<typeof policySchema>;
export type PolicyRule = z.infer<typeof ruleSchema>;
export type When = z.infer<typeof whenSchema>;

/** The JSON Schema of a policy file, for completion in editors; published as media/policy.schema.json. */
export function policyJsonSchema(): object {
  return {
    ...z.toJSONSchema(policySchema, { target: "draft-07" }),
    title: "Holdfast policy",
    allowComments: true,
    allowTrailingCommas: true,
  };
}
