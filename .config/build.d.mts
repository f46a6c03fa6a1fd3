export interface Bundle {
  /** Relative to `dist`. */
  readonly file: string;
  readonly text: string;
  readonly mode: number;
}

/** Every bundle whose source is there, made in memory. */
export function bundle(): Promise<readonly Bundle[]>;

/** One Node program as CommonJS, made in memory; `out` is relative to `dist`. */
export function bundleProgram(program: {
  readonly entry: string;
  readonly out: string;
}): Promise<{ readonly outputFiles: readonly { readonly text: string }[] }>;
