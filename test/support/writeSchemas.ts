import { writeFileSync } from "node:fs";
import { agentsJsonSchema } from "../../src/core/agents/agentsFile.ts";
import { policyJsonSchema } from "../../src/core/policy/policyFile.ts";

const schemas = { policy: policyJsonSchema(), agents: agentsJsonSchema() };

for (const [name, schema] of Object.entries(schemas)) {
  const file = new URL(`../../media/${name}.schema.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(schema, undefined, 2)}\n`);
}
