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
}
