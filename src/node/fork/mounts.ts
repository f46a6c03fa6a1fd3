import { existsSync, readFileSync, realpathSync } from "node:fs";

/** One mount of this process. `device` is the filesystem's: the same for all subvolumes of one btrfs. */
export interface Mount {
  readonly point: string;
  readonly device: string;
}

/** All mounts, as /proc/self/mountinfo tells; none where there is no such file. */
export function listMounts(): readonly Mount[] {
  const file = "/proc/self/mountinfo";
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const fields = line.split(" ");
      const point = (fields[4] ?? "/").replaceAll(/\\([0-7]{3})/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 8)),
      );
      return { point, device: fields[2] ?? "" };
    });
}

function isBelow(file: string, directory: string): boolean {
  return file === directory || file.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/** The mount that holds an existing path. */
export function mountOf(file: string): Mount {
  const real = realpathSync(file);
  const holding = listMounts().filter((mount) => isBelow(real, mount.point));
  return holding.reduce<Mount>(
    (best, mount) => (mount.point.length >= best.point.length ? mount : best),
    { point: "/", device: "" },
  );
}

/** Mount points strictly below a directory. */
export function mountsBelow(directory: string): readonly string[] {
  const real = realpathSync(directory);
  return listMounts()
    .map((mount) => mount.point)
    .filter((point) => point !== real && isBelow(point, real));
}
