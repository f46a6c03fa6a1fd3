import type { RowClass, RowIcon } from "../src/protocol/webview.ts";

const svg = "http://www.w3.org/2000/svg";

/** Every picture is a 16 × 16 path drawn with the text's colour; `fill` pictures are solid. */
interface Picture {
  readonly path: string;
  readonly fill?: true;
}

/** Each class has its own outline, so that colour is never needed to tell them apart. */
const marks: Readonly<Record<RowClass, Picture>> = {
  held: {
    path: "M4 1.5h8A2.5 2.5 0 0 1 14.5 4v8a2.5 2.5 0 0 1-2.5 2.5H4A2.5 2.5 0 0 1 1.5 12V4A2.5 2.5 0 0 1 4 1.5ZM5.250 4.750v6.5h1.750v-6.5zM9 4.750v6.5h1.750v-6.5z",
    fill: true,
  },
  irreversible: {
    path: "M5.2 1h5.600L15 5.200v5.600L10.8 15H5.200L1 10.800V5.200zM7.1 4v5h1.800V4zM7.1 10.300v1.800h1.800v-1.800z",
    fill: true,
  },
  recoverable: {
    path: "M8 .8 15.2 8 8 15.2.8 8zM8 3.100V12.900L12.9 8z",
    fill: true,
  },
  reversible: {
    path: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Zm0 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z",
    fill: true,
  },
};

const icons: Readonly<Record<RowIcon, Picture>> = {
  read: {
    path: "M2 8s2.3-4 6-4 6 4 6 4-2.3 4-6 4-6-4-6-4Zm6 1.800a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.600Z",
  },
  edit: { path: "m3 13 .6-2.7 7.7-7.7 2.1 2.1-7.7 7.700L3 13Zm6.7-8.8 2.1 2.1" },
  delete: { path: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.800l.6-8.5M6.8 7v3.800M9.2 7v3.8" },
  move: { path: "M2.5 8h9.5M9 4.8 12.2 8 9 11.200M2.5 4v8" },
  search: { path: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Zm3.3-1.200L14 14" },
  execute: { path: "M2 3.5h12v9H2zM4.5 6.5 6.5 8l-2 1.5M8 10h3" },
  think: {
    path: "M6 12.5h4M6.5 14h3M8 2a4 4 0 0 0-2.5 7.100c.4.4.6.8.6 1.400h3.800c0-.6.2-1 .6-1.400A4 4 0 0 0 8 2Z",
  },
  fetch: {
    path: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14c-2-2-2.5-4-2.5-6S6 4 8 2Z",
  },
  agent: { path: "M3 6h10v6.5H3zM8 6V3M8 3h.01M5.8 8.700v1M10.2 8.700v1M1.5 8.5v2M14.5 8.5v2" },
  other: { path: "M8 2.5 13 5.300v5.400l-5 2.8-5-2.800V5.300zM3 5.300l5 2.7 5-2.700M8 8v5.5" },
  process: { path: "M3 4.5 6.5 8 3 11.5M8 11.5h5" },
  file: { path: "M4 2h5l3 3v9H4zM9 2v3h3" },
  request: { path: "M3 12.5 12.5 3M6.5 3h6v6" },
  model: {
    path: "M8 2v3M8 11v3M2 8h3M11 8h3M4 4l1.8 1.800M10.2 10.2 12 12M12 4l-1.8 1.800M5.8 10.2 4 12",
  },
  secret: { path: "M5.5 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm2.2-5.200L13 2.5M10.8 4.700l1.7 1.7" },
  check: { path: "m3 8.5 3.5 3.5L13 4.5" },
  savepoint: { path: "M4 2.5h8V14l-4-3-4 3z" },
  alert: { path: "M8 2 14.5 13.5h-13zM8 6.5V9.5M8 11.200v.8" },
  transaction: { path: "M5 3v10M5 8c4 0 6-1 6-4M3.5 3h3M3.5 13h3M9.5 4h3" },
  message: { path: "M2.5 3h11v8H7l-3 2.5V11H2.5z" },
  group: { path: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11" },
};

const extras = {
  chevron: { path: "m6 3.5 4.5 4.5L6 12.5" },
  diff: { path: "M8 2.5v6M5 5.5h6M5 12.5h6" },
  open: { path: "M9 3h4v4M13 3 7.5 8.5M11.5 9.5V13H3V4.5h3.5" },
  copy: { path: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" },
  restore: { path: "M3 7a5 5 0 1 1 .5 3.5M3 3v4h4" },
  decide: { path: "M3 8h9M8.5 4.5 12 8l-3.5 3.5" },
  shield: { path: "M8 2 13 4v4c0 3-2 5-5 6-3-1-5-3-5-6V4zM5.8 8l1.6 1.600L10.3 6.5" },
  unshield: { path: "M8 2 13 4v4c0 3-2 5-5 6-3-1-5-3-5-6V4zM6 6l4 4M10 6l-4 4" },
  fork: {
    path: "M5 5.5v5M5 8c3.5 0 6-.5 6-2.5M5 2.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3ZM11 2.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3ZM5 10.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Z",
  },
  quiet: { path: "M4.5 11.5V7.5a3.5 3.5 0 0 1 7 0v4M3 11.5h10M7 13.5h2M2.5 2.5l11 11" },
  waterfall: { path: "M2 4h5M5 8h6M9 12h5" },
  filter: { path: "M2 4h12M4.5 8h7M6.5 12h3" },
  close: { path: "m4 4 8 8M12 4l-8 8" },
  clock: { path: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.5V8l2.5 1.5" },
} as const satisfies Readonly<Record<string, Picture>>;

export type PictureName = `icon-${RowIcon}` | `mark-${RowClass}` | keyof typeof extras;

const pictures = Object.fromEntries<Picture>([
  ...Object.entries(icons).map(([name, one]) => [`icon-${name}`, one] as const),
  ...Object.entries(marks).map(([name, one]) => [`mark-${name}`, one] as const),
  ...Object.entries(extras),
]) as Readonly<Record<PictureName, Picture>>;

/**
 * Makes a picture; it is decoration, so that its place must say the same in words. Its path is its own: a `<use>` of a shared
 * one is copied into a shadow tree whenever its target changes, which is what a list that is scrolled does most.
 */
export function picture(name: PictureName | undefined, className = ""): SVGSVGElement {
  const made = document.createElementNS(svg, "svg");
  made.setAttribute("class", `picture ${className}`.trim());
  made.setAttribute("viewBox", "0 0 16 16");
  made.setAttribute("aria-hidden", "true");
  made.append(document.createElementNS(svg, "path"));
  setPicture(made, name);
  return made;
}

/** Shows another picture in place of the one that is shown, or none, which takes no room. */
export function setPicture(target: SVGSVGElement, name: PictureName | undefined): void {
  target.toggleAttribute("hidden", name === undefined);
  if (name === undefined) return;
  const { path, fill } = pictures[name];
  const shown = target.firstElementChild;
  if (shown === null || shown.getAttribute("d") === path) return;
  shown.setAttribute("d", path);
  target.classList.toggle("solid", fill === true);
}
