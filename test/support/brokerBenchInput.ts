/** What the processes of the broker bench tell each other. */
export type Role = "origin" | "connect" | "bare" | "holdfast" | "holdfast-journal" | "mockttp";

export interface Ready {
  readonly port: number;
  /** PEM that its clients must trust. */
  readonly ca?: string;
}

/** What a worker is started with. */
export interface WorkerInput {
  readonly role: Role;
  readonly originPort?: number;
  readonly originCa?: string;
  readonly mockttp?: string;
  readonly bridgePort?: number;
  readonly native?: string;
}

export const secretInBench = { name: "BENCH", value: "bench-value-0123456789" };
