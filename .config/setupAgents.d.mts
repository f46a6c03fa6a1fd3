export type RealAgent = "claude-code" | "codex" | "opencode" | "gemini";

/** Where the agent's program is once the test setup has run. */
export function agentProgram(name: RealAgent): string;
