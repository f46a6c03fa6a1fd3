import path from "node:path";

/** The native program of this platform in the built files. */
export function nativeProgram(dist: string): string {
  return path.join(dist, "native", `${process.platform}-${process.arch}`, "holdfast-native");
}

/** Our version, replaced when the bundle is built. */
export const version = process.env["HOLDFAST_VERSION"] ?? "0.1.0";
