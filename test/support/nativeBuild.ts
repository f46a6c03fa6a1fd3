import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const native = path.resolve(import.meta.dirname, "../../native");

const defines = "-std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64";

/** Where sanitizers write what they find; undefined in an ordinary run. `HOLDFAST_TEST_SANITIZED=1` asks for them. */
const reports =
  process.env["HOLDFAST_TEST_SANITIZED"] === "1"
    ? mkdtempSync(path.join(tmpdir(), "holdfast-sanitizer-"))
    : undefined;

/** What the native program needs in its environment so that a finding is kept; a process that ends is no leak. */
export function sanitizerEnv(): Readonly<Record<string, string>> {
  if (reports === undefined) return {};
  const log = `log_path=${path.join(reports, "report")}`;
  return {
    ASAN_OPTIONS: `detect_leaks=0:${log}`,
    UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1:${log}`,
  };
}

/** Fails with what the sanitizers have found so far. */
export function assertNoSanitizerReports(): void {
  if (reports === undefined) return;
  const found = readdirSync(reports).map((name) => readFileSync(path.join(reports, name), "utf8"));
  assert.deepEqual(found, []);
}

/**
 * The native program: `plain` as it is shipped (built when it is not there), `faults` built so that it can be made to
 * fail at any of its calls (native/src/fault.h). With `HOLDFAST_TEST_SANITIZED=1` both have the address and
 * undefined-behaviour sanitizers in them; `sanitized` always has.
 */
export function nativeBuild(kind: "plain" | "faults" | "sanitized"): string {
  const make = (...words: readonly string[]): void =>
    void execFileSync("make", ["-s", "-C", native, ...words], { stdio: "pipe" });
  if (reports !== undefined || kind === "sanitized") {
    const build = kind === "faults" ? "build/san-faults" : "build/san";
    const faults = kind === "faults" ? " -DHOLDFAST_FAULTS" : "";
    make("SAN=1", `BUILD=${build}`, `DEFINES=${defines}${faults}`);
    return path.join(native, build, "holdfast-native");
  }
  if (kind === "faults") {
    make("BUILD=build/faults", "CFLAGS=-O1 -g -DHOLDFAST_FAULTS");
    return path.join(native, "build/faults/holdfast-native");
  }
  const built = process.env["HOLDFAST_TEST_NATIVE"] ?? path.join(native, "build/holdfast-native");
  if (!existsSync(built)) make();
  return built;
}
