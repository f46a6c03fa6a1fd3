import { spawn, execFileSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createSocket } from "node:dgram";
import type { Socket as Datagram } from "node:dgram";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import type { Server } from "node:net";
import path from "node:path";
import { randomBytes } from "node:crypto";
import { closeServer } from "./servers.ts";

/** Files of the person's home and of other projects, each with a secret of its own; all of it canaries. */
const canaries: Readonly<Record<string, string>> = {
  "home/.ssh/id_ed25519": "ssh",
  "home/.aws/credentials": "aws",
  "home/.netrc": "netrc",
  "home/.npmrc": "npmrc",
  "home/.config/gh/hosts.yml": "gh",
  "home/.docker/config.json": "docker",
  "home/.kube/config": "kube",
  "home/.git-credentials": "git",
  "home/.bash_history": "history",
  "home/.gnupg/private.key": "gnupg",
  "home/.mozilla/cookies.sqlite": "cookies",
  "home/.claude/.credentials.json": "claude",
  "other/.env": "other",
  "etc/shadow-like": "shadow",
  "damage/precious": "precious",
  "damage/linked": "linked",
  "damage/renamed": "renamed",
  "damage/truncated": "truncated",
  "damage/hardlinked": "hardlinked",
  "damage/chmodded": "chmodded",
  "damage/proc": "proc",
  "damage/descriptor": "descriptor",
  "damage/bashrc": "bashrc",
  "damage/crontab": "crontab",
  "damage/published": "published",
};

/**
 * A machine in small: a home with credentials, another project, listeners and a process of the person's, a git workspace
 * with a secret, and a state directory of Holdfast. Everything lies in one folder and is removed with it.
 */
export class AttackWorld {
  readonly root = mkdtempSync("/tmp/holdfast-attack-");
  readonly workspace = path.join(this.root, "work/project");
  readonly home = path.join(this.root, "home");
  readonly state = path.join(this.root, "state");
  readonly #secrets = new Map<string, string>();
  readonly #heard: string[] = [];
  readonly #servers: Server[] = [];
  #datagrams: Datagram | undefined;
  #victim: ChildProcess | undefined;
  #listener: ChildProcess | undefined;
  readonly #user: number | undefined;
  readonly #abstract = `holdfast-attack-${randomBytes(6).toString("hex")}`;

  /** Whose everything is: this user when none is given; only root can give another. */
  constructor(user?: number) {
    this.#user = user;
  }

  /** How processes of the person's are started. */
  get identity(): { readonly uid?: number; readonly gid?: number } {
    return this.#user === undefined ? {} : { uid: this.#user, gid: this.#user };
  }

  /** The canary value of that name. */
  secret(name: string): string {
    const value = this.#secrets.get(name) ?? `canary-${name}-${randomBytes(8).toString("hex")}`;
    this.#secrets.set(name, value);
    return value;
  }

  spoilt(file: string): boolean {
    const name = canaries[file] ?? "";
    const at = path.join(this.root, file);
    if (!existsSync(at)) return true;
    const stat = lstatSync(at);
    return readFileSync(at, "utf8") !== `${this.secret(name)}\n` || (stat.mode & 0o777) !== 0o600;
  }

  heard(word: string): boolean {
    return this.#heard.some((said) => said.includes(word));
  }

  present(file: string): boolean {
    return lstatSync(path.join(this.workspace, file), { throwIfNoEntry: false }) !== undefined;
  }

  /** Content of a file in the workspace; empty when there is none. */
  read(file: string): string {
    const at = path.join(this.workspace, file);
    return existsSync(at) ? readFileSync(at, "utf8") : "";
  }

  /** The twelve mode bits of a file in the workspace; 0 when there is none. */
  modeOf(file: string): number {
    const stat = lstatSync(path.join(this.workspace, file), { throwIfNoEntry: false });
    return stat === undefined ? 0 : stat.mode & 0o7777;
  }

  /** Whether the host process that attacks aim at still lives. */
  get victimLives(): boolean {
    return (
      this.#victim !== undefined &&
      this.#victim.exitCode === null &&
      this.#victim.signalCode === null
    );
  }

  async build(attackProgram: string): Promise<void> {
    for (const [file, name] of Object.entries(canaries))
      this.#write(file, `${this.secret(name)}\n`, 0o600);
    mkdirSync(this.state, { recursive: true, mode: 0o700 });
    this.#makeWorkspace(attackProgram);
    this.#victim = spawn("sleep", ["1000"], {
      ...this.identity,
      stdio: "ignore",
      env: { PATH: process.env["PATH"], VICTIM_SECRET: this.secret("victim") },
    });
    const port = await this.#listen("127.0.0.1");
    const socket = path.join(this.root, "docker.sock");
    await this.#listen(socket);
    await this.#listenAbstract(attackProgram);
    const datagramPort = await this.#listenDatagrams();
    this.#write(
      "work/project/.attack/context.sh",
      [
        `export ROOT=${this.root} VICTIM=${this.#victim.pid ?? 0} PORT=${port} UDP=${datagramPort}`,
        `export SOCKET=${socket} ABSTRACT=@${this.#abstract} REAL_WORKSPACE=${this.workspace}`,
        `export STATE=${this.state} ATTACK=$PWD/.attack/attack`,
        // Without a sandbox there is no bridge at that port, and programs go straight out.
        "(exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:}) 2>/dev/null ||",
        "  unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY",
        "",
      ].join("\n"),
      0o644,
    );
    this.own();
  }

  /** Gives everything to the user whose it is. */
  own(): void {
    if (this.#user === undefined) return;
    execFileSync("chown", ["-R", "-h", `${this.#user}:${this.#user}`, this.root]);
  }

  async remove(): Promise<void> {
    this.#victim?.kill("SIGKILL");
    this.#listener?.kill("SIGKILL");
    this.#datagrams?.close();
    await Promise.all(this.#servers.map(closeServer));
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  #write(file: string, content: string, mode: number): void {
    const at = path.join(this.root, file);
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, content, { mode });
  }

  #makeWorkspace(attackProgram: string): void {
    const files: Readonly<Record<string, string>> = {
      "src/index.ts": "export const one = 1;\n",
      "package.json": '{ "name": "project", "version": "1.0.0", "scripts": { "test": "true" } }\n',
      ".gitignore": ".env\n.attack\n",
    };
    for (const [file, content] of Object.entries(files)) {
      this.#write(`work/project/${file}`, content, 0o644);
    }
    this.#write("work/project/.env", `API_KEY=${this.secret("env")}\nDEBUG=1\n`, 0o600);
    mkdirSync(path.join(this.workspace, ".attack/cases"), { recursive: true });
    execFileSync("cp", [attackProgram, path.join(this.workspace, ".attack/attack")]);
    const git = (...words: string[]): void => {
      const identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
      execFileSync("git", [...identity, ...words], { cwd: this.workspace, stdio: "ignore" });
    };
    git("init", "-q");
    git("add", "-A");
    git("commit", "-q", "-m", "first");
  }

  #listen(where: string): Promise<number> {
    const server = createServer((socket) => {
      socket.on("data", (bytes) => {
        this.#heard.push(bytes.toString("latin1"));
        // Not before: a peer that goes with our answer unread takes what it said with it.
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
      });
      socket.on("error", () => socket.destroy());
    });
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      const ready = (): void => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      };
      if (where === "127.0.0.1") server.listen(0, where, ready);
      else server.listen(where, ready);
    });
  }

  /** Node cannot listen on an abstract socket. */
  async #listenAbstract(attackProgram: string): Promise<void> {
    const listener = spawn(attackProgram, ["listen", `@${this.#abstract}`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#listener = listener;
    listener.stdout.on("data", (bytes: Buffer) => this.#heard.push(bytes.toString("latin1")));
    await once(listener.stdout, "data");
  }

  #listenDatagrams(): Promise<number> {
    const socket = createSocket("udp4", (bytes) => this.#heard.push(bytes.toString("latin1")));
    this.#datagrams = socket;
    return new Promise((resolve) =>
      socket.bind(0, "127.0.0.1", () => resolve(socket.address().port)),
    );
  }
}
