import * as vscode from "vscode";
import { schemes } from "../contributions.ts";

/**
 * The base, the shadow as it is now or as a savepoint (`s12`) has it; for a conflict that is merged by hand, the workspace's
 * version when that began, and the result.
 */
export type Side = "base" | "shadow" | `s${number}` | "mine" | "merged";

/** Address of one side of one file: `holdfast-side:/<path>?<side>&<transaction>`. The path is the same on both sides, so
 * that the editor does not take a change for a rename. */
export function sideUri(transaction: string, side: Side, path: string): vscode.Uri {
  const query = `${side}&${transaction}`;
  return vscode.Uri.from({ scheme: schemes.side, path: `/${path}`, query });
}

/** What an address names; undefined when it is not one of ours. */
export function parseSideUri(
  uri: vscode.Uri,
): { readonly transaction: string; readonly side: Side; readonly path: string } | undefined {
  if (uri.scheme !== schemes.side) return undefined;
  const match = /^(base|shadow|mine|merged|s\d+)&([\w-]+)$/.exec(uri.query);
  if (match === null) return undefined;
  const [, side, transaction = ""] = match;
  return { transaction, side: side as Side, path: uri.path.slice(1) };
}
