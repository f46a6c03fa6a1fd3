/** Whether the editor that the host suites use is installed; `node .config/host.mjs` installs it. */
export function hasEditor(): boolean;
