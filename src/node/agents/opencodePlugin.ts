/**
 * The plugin by which OpenCode tells its steps, as it stands in the sandbox's own /etc. It writes to the agent socket in
 * the form of the hook program, over one connection, so that order is kept. A call waits until its beginning is written:
 * what it does comes after what it said. It never throws into the agent.
 */
export const opencodePlugin = `import net from "node:net";

const place = process.env.HOLDFAST_AGENT_SOCK ?? "/run/holdfast/agent.sock";
const told = new Set(["session.created", "session.error", "session.compacted", "file.edited", "permission.updated"]);
let socket;

function connection() {
  if (socket === undefined || socket.destroyed) {
    socket = net.createConnection(place);
    socket.on("error", () => {});
    socket.unref();
  }
  return socket;
}

function tell(event, data) {
  return new Promise((resolve) => {
    const patience = setTimeout(resolve, 1000);
    const done = () => {
      clearTimeout(patience);
      resolve();
    };
    try {
      connection().write(JSON.stringify({ at: Date.now(), event, data }) + "\\n", done);
    } catch {
      done();
    }
  });
}

/** Of the many updates of a message only those of tool calls, without the output that grows. */
function isToolPart(event) {
  const part = event.properties?.part;
  return event.type === "message.part.updated" && part?.type === "tool";
}

const lastState = new Map();

function isNews({ properties: { part } }) {
  const child = part.state?.metadata?.sessionId ?? "";
  const state = part.state?.status + " " + child;
  if (lastState.get(part.callID) === state) return false;
  lastState.set(part.callID, state);
  return true;
}

export const Holdfast = async ({ directory }) => {
  await tell("plugin.started", { directory });
  return {
    event: async ({ event }) => {
      if (isToolPart(event)) {
        if (isNews(event)) await tell("tool.part", { part: event.properties.part });
      } else if (told.has(event.type)) await tell(event.type, event.properties);
    },
    "chat.message": async (input, output) => {
      await tell("chat.message", { ...input, parts: output.parts });
    },
    "tool.execute.before": async (input, output) => {
      await tell("tool.execute.before", { ...input, args: output.args });
    },
    "tool.execute.after": async (input, output) => {
      await tell("tool.execute.after", { ...input, output });
    },
  };
};
`;
