/** The command line of the public MCP conformance suite: the program first, its arguments are added. */
export function setupConformance(): Promise<readonly [program: string, script: string]>;
