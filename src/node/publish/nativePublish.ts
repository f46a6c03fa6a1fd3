import { spawn } from "node:child_process";
import { Failure, messageOf } from "../../base/errors.ts";
import { encodePath } from "../fork/pathBytes.ts";
import type { Intent } from "./intent.ts";

/** Everything the native program told of one run, by the operation's index. */
export interface PublishReport {
  /** The last word: `done`, `takenBack`, `unfinished`, or `died` when there was none. */
  readonly end: "done" | "takenBack" | "unfinished" | "died";
  readonly changed: readonly number[];
  readonly edited: readonly number[];
  readonly leftAlone: readonly number[];
  readonly failed: readonly {
    readonly index: number;
    readonly errno: number;
    readonly reason: string;
  }[];
  /** The program's own words when it refused the plan or could not begin. */
  readonly error?: string;
}

export type PublishVerb = "prepare" | "apply" | "resume" | "edited" | "rollback";

/** How to run the native program. */
export interface NativeProgram {
  readonly path: string;
  /** For the crash tests: variables of the build that can fail on purpose. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs one verb of `holdfast-native publish` over a plan to its end. */
export async function runPublish(
  program: NativeProgram,
  verb: PublishVerb,
  intent: Omit<Intent, "note" | "left" | "madeDirectories" | "removedDirectories">,
): Promise<PublishReport> {
  const child = spawn(program.path, ["publish", "--report-fd", "3", verb], {
    stdio: ["pipe", "ignore", "pipe", "pipe"],
    env: { ...program.env },
  });
  const reports: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdio[3]?.on("data", (chunk: Buffer) => reports.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => errors.push(chunk));
  child.stdin?.on("error", () => undefined); // a program that died early tells by its exit, not by this pipe
  child.stdin?.end(encodePlan(intent));
  try {
    await new Promise<void>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", () => resolve());
    });
  } catch (error) {
    throw new Failure(
      "failed",
      "native-missing",
      `cannot run ${program.path}: ${messageOf(error)}`,
      "build it with `npm run build`",
      error,
    );
  }
  return parseReport(
    Buffer.concat(reports).toString("utf8"),
    Buffer.concat(errors).toString("utf8"),
  );
}

function encodePlan(
  intent: Pick<Intent, "root" | "rootIdentity" | "stages" | "operations">,
): Buffer {
  const nul = Buffer.from([0]);
  const fields: Buffer[] = [];
  const add = (text: string | Buffer): void => void fields.push(Buffer.from(text), nul);
  add("holdfast-publish-2");
  add(encodePath(intent.root));
  add(intent.rootIdentity);
  add(String(intent.stages.length));
  for (const stage of intent.stages) add(encodePath(stage.path));
  for (const { kind, stage, slot, path, expected, staged, parent } of intent.operations) {
    add(kind);
    add(String(stage));
    add(slot);
    add(encodePath(path));
    add(expected);
    add(staged);
    add(parent ?? "");
  }
  return Buffer.concat(fields);
}

interface ReportLine {
  readonly type: string;
  readonly index?: number;
  readonly errno?: number;
  readonly reason?: string;
  readonly message?: string;
}

function parseReport(text: string, stderr: string): PublishReport {
  const lines = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ReportLine);
  const indices = (type: string): number[] =>
    lines.filter((line) => line.type === type).map(({ index }) => index ?? 0);
  const last = lines.at(-1)?.type;
  const error = lines.find(({ type }) => type === "error");
  const end = last === "done" || last === "takenBack" || last === "unfinished" ? last : "died";
  const problems = lines.filter(({ type }) => type === "failed" || type === "stuck");
  return {
    end,
    changed: indices("changed"),
    edited: indices("edited"),
    leftAlone: indices("leftAlone"),
    failed: problems.map(({ index = 0, errno = 0, reason = "" }) => ({ index, errno, reason })),
    ...(end === "died" && {
      error:
        error === undefined
          ? stderr.trim()
          : [error.message ?? "", error.reason ?? ""].filter((part) => part !== "").join(": "),
    }),
  };
}
