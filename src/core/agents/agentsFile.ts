import * as z from "zod";

/**
 * Agents of the person's own, as data: `$XDG_CONFIG_HOME/holdfast/agents.json`, JSON with comments. There is no such file
 * of a workspace: who defines an agent decides which hosts and secrets it gets.
 */

const host = z
  .string()
  .regex(
    /^(\*\.)?[a-z0-9_.-]+(:\d{1,5})?$/,
    "a host is written in lower case, with a port where it has one: api.example.com, or localhost:8080",
  )
  .refine((one) => Number(one.split(":")[1] ?? 1) <= 65_535, "a port is at most 65535");

const variable = z
  .string()
  .regex(/^[A-Z_][A-Z0-9_]*$/, "a variable is written in capitals, digits and underscores");

const file = z
  .strictObject({
    path: z
      .string()
      .regex(/^(~|\/etc)\/[^\0]+$/, "a file stands in the sandbox's home (~/…) or in its /etc/")
      .refine((path) => !path.split("/").includes(".."), "a path has no .. in it")
      .refine((path) => !/\/(\.?\/|\.?$)/.test(path), "a path names a file, each folder once")
      .describe("Where it stands in the sandbox."),
    content: z.string().describe("What it holds. Never a key: use `keys`, and its placeholder."),
  })
  .describe("A file to put into the sandbox.");

const key = z
  .strictObject({
    variable: variable.describe("The variable of your environment that holds it."),
    hosts: z.array(host).min(1).describe("The only hosts that it may go to, in a header."),
  })
  .describe("A key from your environment; the sandbox sees a placeholder.");

export const agentSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, "a name has small letters, digits and dashes")
    .describe("For --agent NAME."),
  title: z.string().min(1).optional().describe("For lists."),
  command: z.array(z.string().min(1)).min(1).describe("The program and its arguments."),
  promptArguments: z
    .array(z.string())
    .optional()
    .describe(
      "Added when there is a prompt; {prompt} stands for it. Left out: the prompt comes last.",
    ),
  environment: z
    .record(variable, z.string())
    .optional()
    .describe("Variables that it gets as they stand here."),
  passOn: z.array(variable).optional().describe("Variables of your environment that it gets."),
  modelHosts: z
    .array(host)
    .optional()
    .describe("Hosts of its model: calls there pass and are shown as model traffic."),
  hosts: z.array(host).optional().describe("Hosts that it may read from without asking."),
  keys: z.array(key).optional().describe("Keys of its model."),
  secrets: z
    .array(z.string().regex(/^[A-Z][A-Z0-9_]*$/, "a secret's name is written in capitals"))
    .optional()
    .describe("Secrets that `holdfast secret set` keeps, as --secret gives them."),
  files: z.array(file).optional().describe("Files that it finds in its home or in /etc."),
  readOnly: z
    .array(z.string().regex(/^\//, "a folder is named from the root"))
    .optional()
    .describe("Folders of this machine that it may read, beside its own program's."),
  hooks: z
    .enum(["none", "claude", "plain"])
    .optional()
    .describe(
      "What its hooks send to `$HOLDFAST_NATIVE hook`: events of Claude Code's form, or our plain form. none: it is watched alone.",
    ),
});

export type AgentDefinition = z.output<typeof agentSchema>;

export const agentsSchema = z
  .strictObject({
    $schema: z.string().optional(),
    agents: z.array(agentSchema).describe("Agents of your own."),
  })
  .describe("Agents of your own for Holdfast.");

/** The JSON Schema of the file, for completion in editors; published as media/agents.schema.json. */
export function agentsJsonSchema(): object {
  return {
    ...z.toJSONSchema(agentsSchema, { target: "draft-07" }),
    title: "Holdfast agents",
    allowComments: true,
    allowTrailingCommas: true,
  };
}
