import * as z from "zod/mini";
import { toWebview, type FromWebview, type ToWebview } from "../src/protocol/webview.ts";

interface EditorApi {
  postMessage(message: unknown): void;
}

declare function acquireVsCodeApi(): EditorApi;

export interface HostLink {
  send(message: FromWebview): void;
}

/** Connects to the extension host. What arrives is validated; what does not fit is reported, never acted on. */
export function connectHost(receive: (message: ToWebview) => void): HostLink {
  // The content security policy forbids `new Function`, which zod would try for speed.
  z.config({ jitless: true });
  const api = acquireVsCodeApi();
  const send = (message: FromWebview): void => api.postMessage(message);
  addEventListener("message", (event: MessageEvent<unknown>) => {
    const parsed = toWebview.safeParse(event.data);
    if (parsed.success) receive(parsed.data);
    else send({ type: "failed", message: z.prettifyError(parsed.error).slice(0, 2000) });
  });
  addEventListener("error", (event) => {
    send({ type: "failed", message: `${event.message} at ${String(event.lineno)}` });
  });
  return { send };
}
