import { Failure } from "../../base/errors.ts";

/** Bounds of a run, from `--limit KEY=VALUE`. Seconds, bytes, numbers. One that is passed ends the agent; of `processes`,
 * `openFiles` and `fileBytes` the kernel tells the program that goes beyond, which goes on. */
export interface ResourceLimits {
  readonly seconds?: number;
  readonly cpuSeconds?: number;
  readonly memoryBytes?: number;
  readonly processes?: number;
  readonly growthBytes?: number;
  readonly journalBytes?: number;
  /** Of each process. */
  readonly openFiles?: number;
  readonly fileBytes?: number;
}

interface Resource {
  readonly member: keyof ResourceLimits;
  readonly unit: "duration" | "bytes" | "count";
  readonly words: string;
}

/** By the key that a person writes. */
const resources: Readonly<Record<string, Resource>> = {
  time: { member: "seconds", unit: "duration", words: "time" },
  cpu: { member: "cpuSeconds", unit: "duration", words: "processor time" },
  memory: { member: "memoryBytes", unit: "bytes", words: "memory" },
  processes: { member: "processes", unit: "count", words: "processes" },
  disk: { member: "growthBytes", unit: "bytes", words: "disk growth" },
  journal: { member: "journalBytes", unit: "bytes", words: "journal growth" },
  "open-files": { member: "openFiles", unit: "count", words: "open files" },
  "file-size": { member: "fileBytes", unit: "bytes", words: "size of a file" },
};

const factors: Readonly<Record<Resource["unit"], Readonly<Record<string, number>>>> = {
  duration: { "": 1, s: 1, m: 60, h: 3600 },
  bytes: { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 },
  count: { "": 1 },
};

const examples: Readonly<Record<Resource["unit"], string>> = {
  duration: "90, 30m or 2h",
  bytes: "500M or 2G",
  count: "200",
};

/** Whether a limit is one of the run rather than of the task. */
export function isResource(key: string): boolean {
  return Object.hasOwn(resources, key);
}

/** The limits of the run among all that were given. Throws a Failure `bad-limit` for a value that is none. */
export function resourceLimits(given: Readonly<Record<string, string>>): ResourceLimits {
  const limits: Record<string, number> = {};
  for (const [key, text] of Object.entries(given)) {
    const resource = isResource(key) ? resources[key] : undefined;
    if (resource === undefined) continue;
    const [, digits = "", suffix = ""] = /^(\d{1,12})([a-z]?)$/i.exec(text.trim()) ?? [];
    const factor = factors[resource.unit][suffix.toLowerCase()];
    if (digits === "" || factor === undefined || Number(digits) === 0) {
      const message = `--limit ${key}=${text} is no ${resource.unit}`;
      throw new Failure("usage", "bad-limit", message, `for example ${examples[resource.unit]}`);
    }
    limits[resource.member] = Number(digits) * factor;
  }
  return limits;
}

/** What was passed, in words: "memory: 286 MiB, the limit is 191 MiB". */
export function limitWords(member: string, used: number, limit: number): string {
  const resource = Object.values(resources).find((one) => one.member === member);
  const amount = (value: number): string => {
    if (resource?.unit === "bytes") return `${Math.ceil(value / 1024 ** 2)} MiB`;
    return resource?.unit === "duration" ? `${value} s` : String(value);
  };
  return `${resource?.words ?? member}: ${amount(used)}, the limit is ${amount(limit)}`;
}
