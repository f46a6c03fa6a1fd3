// Plays the agent on a tree, and then looks at it with eyes of its own. Reads {"root","edits","exact"} as JSON from standard input,
// writes [[path, line], …] to standard output; exactly, also times, the names of an inode, FIFOs and sockets. An edit that the filesystem refuses is left out, as a program would.
//   node treeActor.mjs                                       on root as it is
//   node treeActor.mjs AT LOWER UPPER WORK [AT …]            in a mount namespace, with these overlays mounted first
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { dirname, resolve } from "node:path";

/** Lone surrogates U+DC80–U+DCFF stand for the bytes 0x80–0xFF. */
function bytesOf(text) {
  const parts = [...text].map((character) => {
    const unit = character.charCodeAt(0);
    const raw = character.length === 1 && unit >= 0xdc80 && unit <= 0xdcff;
    return raw ? Buffer.from([unit - 0xdc00]) : Buffer.from(character);
  });
  return Buffer.concat(parts);
}

function textOf(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((n) => {
      const part = bytes.subarray(at, at + n);
      return part.length === n && Buffer.from(part.toString("utf8")).equals(part);
    });
    text +=
      length === undefined
        ? String.fromCharCode(0xdc00 + bytes[at])
        : bytes.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return text;
}

const { root, edits, exact = false } = JSON.parse(fs.readFileSync(0, "utf8"));
const layers = process.argv.slice(2);
for (let i = 0; i < layers.length; i += 4) {
  const [at, lower, upper, work] = layers.slice(i, i + 4);
  const options = `lowerdir=${lower},upperdir=${upper},workdir=${work},userxattr`;
  execFileSync("mount", ["-t", "overlay", "-o", options, "overlay", at]);
}

const place = (path) => Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)]);

/** Who is not root could not look at what is in a directory without these bits. */
function lookable(at) {
  return process.getuid() !== 0 && fs.statSync(at).isDirectory() ? 0o700 : 0;
}

/** Where a file is written. Through a link that leads out of the tree nothing is: what is beside it is not the agent's. */
function target(path) {
  let at = place(path).toString("latin1");
  for (let links = 0; links < 40; links++) {
    const bytes = Buffer.from(at, "latin1");
    if (fs.lstatSync(bytes, { throwIfNoEntry: false })?.isSymbolicLink() !== true) break;
    at = resolve(dirname(at), fs.readlinkSync(bytes, "buffer").toString("latin1"));
    if (!at.startsWith(`${Buffer.from(root).toString("latin1")}/`))
      throw Object.assign(new Error("leads out"), { code: "EXDEV" });
  }
  if (fs.statSync(place(path), { throwIfNoEntry: false })?.isFIFO() === true)
    throw Object.assign(new Error("nobody reads it"), { code: "ENXIO" });
  return place(path);
}

const acts = {
  write: ({ path, content }) => fs.writeFileSync(target(path), content),
  append: ({ path, content }) => fs.appendFileSync(target(path), content),
  remove: ({ path }) => fs.rmSync(textOf(place(path)), { recursive: true }),
  mkdir: ({ path }) => fs.mkdirSync(place(path)),
  symlink: ({ path, target }) => fs.symlinkSync(target, place(path)),
  chmod: ({ path, mode }) => fs.chmodSync(place(path), mode | lookable(place(path))),
  rename: ({ path, to }) => fs.renameSync(place(path), place(to)),
  link: ({ path, to }) => fs.linkSync(place(path), place(to)),
  fifo: ({ path }) => {
    if (fs.lstatSync(place(path), { throwIfNoEntry: false }) !== undefined) return;
    if (!/[\uD800-\uDFFF]/u.test(path))
      execFileSync("mkfifo", ["--", path], { cwd: root, stdio: "ignore" });
  },
  touch: ({ path }) => fs.utimesSync(place(path), 1, 1),
};
for (const edit of edits) {
  try {
    acts[edit.act](edit);
  } catch (error) {
    if (typeof error.code !== "string" && typeof error.status !== "number") throw error;
  }
}

const found = [];
const inodes = new Map();
function tell(path, file, line) {
  found.push([path, line]);
  if (!exact) return;
  const stat = fs.lstatSync(file, { bigint: true });
  const inode = stat.isDirectory() ? path : `${stat.dev} ${stat.ino}`;
  inodes.set(inode, [...(inodes.get(inode) ?? []), found.length - 1]);
  found.at(-1)[1] += ` ${stat.mtimeNs}`;
}
function look(directory, prefix) {
  for (const name of fs.readdirSync(directory, { encoding: "buffer" })) {
    if (name.toString("latin1") === ".git") continue;
    const file = Buffer.concat([directory, Buffer.from("/"), name]);
    const path = prefix + textOf(name);
    const stat = fs.lstatSync(file);
    const mode = (stat.mode & 0o7777).toString(8);
    if (stat.isSymbolicLink()) tell(path, file, `l ${textOf(fs.readlinkSync(file, "buffer"))}`);
    else if (stat.isDirectory()) {
      const empty = fs.readdirSync(file).length === 0;
      tell(path, file, `d ${mode} ${empty ? "empty" : "full"}`);
      look(file, `${path}/`);
    } else if (stat.isFile()) {
      const hash = createHash("sha256").update(fs.readFileSync(file)).digest("hex");
      tell(path, file, `f ${mode} ${hash}`);
    } else if (exact)
      tell(path, file, `${stat.isFIFO() ? "p" : stat.isSocket() ? "s" : "o"} ${mode}`);
  }
}
if (exact) tell("", Buffer.from(root), "d");
look(Buffer.from(root), "");
for (const names of inodes.values()) {
  const group = names.map((index) => found[index][0]);
  if (names.length > 1) for (const index of names) found[index][1] += ` = ${group.join(" = ")}`;
}
process.stdout.write(JSON.stringify(found));
