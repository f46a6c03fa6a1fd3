/** Where things are inside the sandbox; adapters name them when they make configuration for an agent. */

/** HOME inside: a tmpfs. */
export const sandboxHome = "/home/agent";

/** The transaction's door directory: agent.sock, door.sock, CA files. */
export const doorInside = "/run/holdfast";

/** The native program, read-only. */
export const nativeInside = "/run/holdfast-native";

/** What an agent's hook runs: tells the agent socket what it gets on standard input. One word, so that an agent that can do
 * without a shell starts it directly. */
export const hookProgram = "/run/holdfast-hook";

/** Where the bridge listens inside, on 127.0.0.1: outside of the range that systems hand out on their own. */
export const bridgePort = 61080;
