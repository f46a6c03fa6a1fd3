import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** The programs of the browser editor: its own Node and the server script. */
export interface EditorPrograms {
  readonly node: string;
  readonly server: string;
}

export interface EditorOptions {
  readonly programs: EditorPrograms;
  /** Holds everything of this run: HOME, user data, extensions, log. The caller removes it. */
  readonly home: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly env: NodeJS.ProcessEnv;
  /** Extension packages to install before the start. */
  readonly install: readonly string[];
}

export interface Editor {
  readonly url: string;
  stop(): Promise<void>;
}

/** Nothing but what a test looks at: no tips, no telemetry, no look-ups of other extensions. */
const quietSettings = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "chat.disableAIFeatures": true,
  "git.openRepositoryInParentFolders": "never",
  "files.hotExit": "off",
};

const noGallery = JSON.stringify({
  serviceUrl: "",
  itemUrl: "",
  resourceUrlTemplate: "",
  controlUrl: "",
});

/** Starts the browser editor on a free port of loopback and waits until it answers. */
export async function startEditor(options: EditorOptions): Promise<Editor> {
  const { programs, home } = options;
  const settingsFile = path.join(home, "user", "User", "settings.json");
  fs.mkdirSync(path.dirname(settingsFile), { recursive: true });
  fs.mkdirSync(path.join(home, "extensions"), { recursive: true });
  fs.writeFileSync(settingsFile, JSON.stringify({ ...quietSettings, ...options.settings }));
  fs.writeFileSync(path.join(home, "config.yaml"), "");
  const log = path.join(home, "server.log");
  const run = (args: readonly string[]): ChildProcess => {
    const output = fs.openSync(log, "a");
    const common = [
      programs.server,
      ...["--config", path.join(home, "config.yaml")],
      ...["--user-data-dir", path.join(home, "user")],
      ...["--extensions-dir", path.join(home, "extensions")],
    ];
    const child = spawn(programs.node, [...common, ...args], {
      env: cleanEnvironment(home, options.env),
      stdio: ["ignore", output, output],
      // Its own process group: the server, the extension hosts and the watchers end together.
      detached: true,
    });
    fs.closeSync(output);
    return child;
  };
  for (const file of options.install) {
    const [code] = (await once(run(["--install-extension", file]), "exit")) as [number | null];
    if (code !== 0) throw new Error(`${file} did not install:\n${fs.readFileSync(log, "utf8")}`);
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = run([
    ...["--bind-addr", `127.0.0.1:${port}`, "--auth", "none"],
    ...["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"],
    ...["--disable-getting-started-override", "--disable-proxy"],
    // Without this the editor drops the request for a test run in silence.
    ...["--vscode-option", "enable-smoke-test-driver"],
  ]);
  const endNow = (): void => signalGroup(server, "SIGKILL");
  process.once("exit", endNow);
  await untilHealthy(server, url, log);
  return {
    url,
    stop: async () => {
      const gone = server.exitCode === null ? once(server, "exit") : Promise.resolve();
      signalGroup(server, "SIGTERM");
      await Promise.race([gone, pause(3000)]);
      endNow();
      process.off("exit", endNow);
    },
  };
}

function cleanEnvironment(home: string, extra: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("VSCODE_") && name !== "ELECTRON_RUN_AS_NODE" && name !== "PORT",
  );
  return {
    ...Object.fromEntries(inherited),
    EXTENSIONS_GALLERY: noGallery,
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, "config"),
    XDG_DATA_HOME: path.join(home, "data"),
    XDG_STATE_HOME: path.join(home, "state"),
    ...extra,
  };
}

async function untilHealthy(server: ChildProcess, url: string, log: string): Promise<void> {
  const deadline = Date.now() + 90_000;
  while (Date.now() < deadline) {
    if (server.exitCode !== null)
      throw new Error(`the editor ended at once:\n${fs.readFileSync(log, "utf8")}`);
    const healthy = await fetch(`${url}/healthz`).then(
      (answer) => answer.ok,
      // Refused while the port is not open yet.
      () => false,
    );
    if (healthy) return;
    await pause(100);
  }
  throw new Error(`the editor did not answer in 90 seconds:\n${fs.readFileSync(log, "utf8")}`);
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as net.AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
