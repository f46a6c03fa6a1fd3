import type { Duplex, Readable } from "node:stream";
import type { ClientGone } from "./clientGone.ts";
import type { Destination } from "./dial.ts";
import type { Header } from "./headers.ts";

/** The body of a call on its way out. A stream is piped as it comes, then its trailers follow. */
export type OutgoingBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | {
      readonly kind: "stream";
      readonly stream: Readable;
      readonly trailers: () => readonly Header[];
    };

/** One call as it goes out: `headers` are complete, framing and Host included. */
export interface OutgoingCall {
  readonly scheme: "http" | "https";
  readonly destination: Destination;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: OutgoingBody;
  /**
   * Never on a kept HTTP/1.1 connection: a call that changes something must not be lost in a closing one, where nobody can tell
   * whether it was taken. An HTTP/2 session that closes names the last call that it took, so calls share one.
   */
  readonly fresh: boolean;
  readonly http2: boolean;
  readonly gone: ClientGone;
}

/** The origin's answer. `body` is not decoded. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly Header[];
  readonly body: Readable;
  /** True when the last byte of the body has come in, read or not yet. */
  complete(): boolean;
  /** Whether the body ended because the origin broke off. */
  isCutOff(): boolean;
  trailers(): readonly Header[];
}

export interface Upstream {
  send(call: OutgoingCall): Promise<UpstreamAnswer>;
  /** A request whose answer may be a switch of protocols. */
  upgrade(call: OutgoingCall): Promise<UpstreamAnswer | Switched>;
  close(): void;
}

/** The origin agreed to another protocol on this connection. */
export interface Switched {
  readonly switched: true;
  readonly headers: readonly Header[];
  readonly socket: Duplex;
  readonly head: Buffer;
}
