/** The stretch of rows that the webview keeps and the host keeps fresh: positions `from` to `to`, `to` excluded. */
export interface RowWindow {
  readonly from: number;
  readonly to: number;
}

/** Largest window either side keeps: `window` asks for no more, and a splice never grows one beyond it. */
export const windowLimit = 500;

/**
 * Where a window is after a splice. Both ends compute it with this function, so that they agree on which rows the webview
 * holds without saying so. Rows inserted inside or at the end of the window belong to it.
 */
export function shiftWindow(
  window: RowWindow,
  splice: { readonly at: number; readonly removed: number; readonly inserted: number },
): RowWindow {
  const { at, removed, inserted } = splice;
  const shift = inserted - removed;
  if (at > window.to) return window;
  if (at + removed <= window.from && at < window.from) {
    return { from: window.from + shift, to: window.to + shift };
  }
  const from = Math.min(window.from, at);
  const to = Math.max(at + inserted, window.to + shift);
  return { from, to: Math.min(to, from + windowLimit) };
}
