import type { Timeline } from "../../core/timeline/timeline.ts";
import type { NodeDetail } from "./nodeDetails.ts";
import type { SubRow } from "./rowLayout.ts";

/** A row below a root: a child node, or a detail of a node. */
export interface TreeRow extends SubRow {
  readonly node: number;
  readonly detail: NodeDetail | undefined;
  readonly level: number;
  readonly place: number;
  readonly siblings: number;
}

/** Row ids: `n<node>` for nodes, `d<node>:<key>` for details, `g:<key>` for groups. */
export const nodeRowId = (node: number): string => `n${String(node)}`;
export const detailRowId = (node: number, key: string): string => `d${String(node)}:${key}`;
export const groupRowId = (key: string): string => `g:${key}`;

/** What a row id names. */
export function parseRowId(
  id: string,
):
  | { readonly kind: "node"; readonly node: number }
  | { readonly kind: "detail"; readonly node: number; readonly key: string }
  | { readonly kind: "group"; readonly key: string }
  | undefined {
  if (id.startsWith("g:")) return { kind: "group", key: id.slice(2) };
  const match = /^([nd])(-?\d+)(?::(.*))?$/s.exec(id);
  if (match === null) return undefined;
  const node = Number(match[2]);
  return match[1] === "n" ? { kind: "node", node } : { kind: "detail", node, key: match[3] ?? "" };
}

/** The rows below an open node, depth first: details that come first, children, details that come after. */
export function rowsBelow(
  root: number,
  rootLevel: number,
  timeline: Timeline,
  detailsOf: (node: number) => readonly NodeDetail[],
  isOpen: (node: number) => boolean,
): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (node: number, level: number): void => {
    const details = detailsOf(node);
    const children = timeline.node(node)?.children ?? [];
    const siblings = details.length + children.length;
    let place = 0;
    const addDetail = (detail: NodeDetail): void => {
      place++;
      const id = detailRowId(node, detail.key);
      rows.push({ id, node, detail, level, place, siblings, lines: detail.lines });
    };
    details.filter((detail) => !detail.after).forEach(addDetail);
    for (const child of children) {
      place++;
      rows.push({
        id: nodeRowId(child),
        node: child,
        detail: undefined,
        level,
        place,
        siblings,
        lines: 0,
      });
      if (isOpen(child)) visit(child, level + 1);
    }
    details.filter((detail) => detail.after).forEach(addDetail);
  };
  visit(root, rootLevel + 1);
  return rows;
}
