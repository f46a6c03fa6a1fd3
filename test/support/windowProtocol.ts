/**
 * What a suite in the extension host can ask of the window it runs in. Requests and answers are JSON Lines on the unix
 * socket `$HOLDFAST_WINDOW_SOCK`: `{"id","call","params"}` → `{"id","result"}` or `{"id","error"}`.
 * With `panel` true the call concerns the document inside the Holdfast webview instead of the workbench.
 */
export interface WindowCalls {
  /** Runs a command from the palette as a person would: opens it, types the title, presses Enter. */
  palette: { params: { title: string }; result: null };
  press: { params: { key: string }; result: null };
  type: { params: { text: string }; result: null };
  click: { params: Target; result: null };
  /** Puts the pointer over something. */
  hover: { params: Target; result: null };
  /** Presses the pointer at a place of the window and lets it go at another, in CSS pixels. */
  drag: { params: { from: Place; to: Place }; result: null };
  /** Waits until something is visible; times out after some minutes. */
  wait: { params: Target; result: null };
  /** Texts of everything that matches now. */
  texts: { params: Target; result: string[] };
  /** Evaluates an expression in the page; its value must be JSON. */
  evaluate: { params: { expression: string; panel?: boolean }; result: unknown };
  /** Bytes of the window's script heap after a collection: the workbench and every webview that shares its process. */
  heap: { params: Record<string, never>; result: number };
  /** Saves a picture of the window and gives the file. */
  screenshot: { params: { name: string }; result: string };
  resize: { params: { width: number; height: number }; result: null };
  /** Loads the window anew: the extension host ends and another one starts. Only for suites that expect it. */
  reload: { params: Record<string, never>; result: null };
}

export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Target {
  /** A CSS selector, or a Playwright selector such as `role=button[name="Commit"]`. */
  readonly selector: string;
  /** Only matches that contain this text. */
  readonly text?: string;
  readonly panel?: boolean;
}

export type WindowCall = keyof WindowCalls;

export interface WindowRequest {
  readonly id: number;
  readonly call: WindowCall;
  readonly params: unknown;
}

export interface WindowAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}
