/** How much may be there at once. What comes beyond it is refused or held, and the broker goes on. */
export interface DoorLimits {
  /** Connections; each may have one of ours to the outside. What is inside must not use up the descriptors with which a
   * person reaches the supervisor. */
  readonly connections: number;
  /** Calls on one HTTP/2 connection. */
  readonly streams: number;
  /** Bytes of bodies that are in memory because they are judged, or wait for a person after it. */
  readonly bodyBytes: number;
  /** Bytes on the disk of one body that waits for a person, and of all of them. */
  readonly heldBytes: number;
  readonly allHeldBytes: number;
}

export const doorLimits: DoorLimits = {
  connections: 2048,
  streams: 256,
  bodyBytes: 512 * 1024 * 1024,
  heldBytes: 2 * 1024 ** 3,
  allHeldBytes: 8 * 1024 ** 3,
};

/** Memory, or room on the disk, that all calls share: without it, calls at once times bytes of each is more than a machine
 * has. */
export class SharedBytes {
  readonly #most: number;
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get full(): boolean {
    return this.#used >= this.#most;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
