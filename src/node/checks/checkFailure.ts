/** A check that ended without an answer: told as such, and never as "nothing introduced". */
export class CheckFailure extends Error {
  readonly status: "crashed" | "timedOut" | "skipped" | "notChecked";

  constructor(status: CheckFailure["status"], message: string) {
    super(message);
    this.name = "CheckFailure";
    this.status = status;
  }
}
