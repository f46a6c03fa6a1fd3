import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const native = path.resolve(import.meta.dirname, "../../native");

/** On PATH, or undefined. */
function found(...names: readonly string[]): string | undefined {
  const places = (process.env["PATH"] ?? "").split(":");
  return names
    .flatMap((name) => places.map((place) => path.join(place, name)))
    .find((file) => existsSync(file));
}

/** Runs `native/check/filter.c`: every line that it prints must say ok. */
function checkFilter(build: string, emulator: string | undefined, atLeast: number): void {
  const checked = path.join(native, build, "check/filter");
  let said: string;
  try {
    said = execFileSync(emulator ?? checked, emulator === undefined ? [] : [checked], {
      encoding: "utf8",
    });
  } catch (error) {
    said = String((error as { readonly stdout?: unknown }).stdout);
  }
  const lines = said.trim().split("\n");
  assert.deepEqual(
    lines.filter((line) => !line.startsWith("ok - ")),
    [],
  );
  assert.ok(lines.length >= atLeast, said);
}

const make = (...words: readonly string[]): void =>
  void execFileSync("make", ["-s", "-C", native, ...words], { stdio: "pipe" });

describe("filters of system calls", function () {
  this.timeout(120_000);

  it("answer each call as they should on this processor", () => {
    make("check");
    checkFilter("build", undefined, 59);
  });

  // Debian's gcc-aarch64-linux-gnu and qemu-user-static; elsewhere arm64 is built and tested where it is at home.
  const compiler = found("aarch64-linux-gnu-gcc");
  const emulator = found("qemu-aarch64-static", "qemu-aarch64");
  if (process.arch === "x64" && compiler !== undefined && emulator !== undefined) {
    it("and on arm64, for which the whole program compiles", () => {
      const cross = [`CC=${compiler}`, "BUILD=build/arm64", "CFLAGS=-O1", "LINK=-static"];
      make(...cross);
      make(...cross, "check");
      checkFilter("build/arm64", emulator, 59);
      const usage = (): unknown =>
        execFileSync(emulator, [path.join(native, "build/arm64/holdfast-native"), "nonesuch"], {
          stdio: "pipe",
        });
      assert.throws(usage, /usage: holdfast-native COMMAND/);
    });
  }
});
