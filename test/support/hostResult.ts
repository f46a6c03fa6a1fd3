/** What a run inside the extension host leaves behind. Without it nothing passed, whatever the exit code says. */
export interface HostResult {
  readonly passed: number;
  readonly failed: number;
}

/** Environment that ties the extension host to the launcher; every value is an absolute path. */
export interface HostEnvironment {
  readonly HOLDFAST_HOST_RESULT: string;
  readonly HOLDFAST_HOST_OUTPUT: string;
  /** Folder whose bundled suites run. */
  readonly HOLDFAST_HOST_SUITES: string;
  readonly HOLDFAST_WINDOW_SOCK: string;
  /** Where a suite that measures leaves its samples: {@link HostSamples} as JSON. */
  readonly HOLDFAST_HOST_SAMPLES: string;
}

/** What was measured in the editor, by the name of the figure. */
export type HostSamples = readonly {
  readonly name: string;
  readonly unit: string;
  readonly samples: readonly number[];
  readonly note?: string;
}[];
