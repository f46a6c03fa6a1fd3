import type { Readable } from "node:stream";
import type { ByteReplacer } from "../secrets/byteMatcher.ts";
import type { Vault } from "../secrets/vault.ts";
import { decoderFor } from "./contentDecoding.ts";
import { encodingOf, endToEnd, trailersOf, withoutHeaders, type Header } from "./headers.ts";
import type { IncomingCall } from "./incomingCall.ts";
import type { UpstreamAnswer } from "./outgoingCall.ts";

/** Passes the origin's answer on as it comes, values of secrets scrubbed when a vault is given. Resolves at the end with
 * what went wrong, if anything did. */
export async function relayAnswer(
  answer: UpstreamAnswer,
  call: IncomingCall,
  vault: Vault | undefined,
  count: (bytes: number) => void,
): Promise<string | undefined> {
  const scrubs = vault !== undefined && bodyAllowed(answer.status, call.method);
  const source = scrubs ? decoded(answer) : answer.body;
  const headers = answerHeaders(answer, vault, scrubs);
  return await new AnswerPump(answer, source, headers, call, count, vault, scrubs).run();
}

function bodyAllowed(status: number, method: string): boolean {
  return method !== "HEAD" && status !== 204 && status !== 304;
}

function answerHeaders(
  answer: UpstreamAnswer,
  vault: Vault | undefined,
  scrubs: boolean,
): readonly Header[] {
  const clean = scrubbed(endToEnd(answer.headers), vault);
  // Scrubbing decodes the body and may change its length.
  return scrubs ? withoutHeaders(clean, "content-length", "content-encoding") : clean;
}

function scrubbed(headers: readonly Header[], vault: Vault | undefined): readonly Header[] {
  return headers.length === 0 || vault === undefined ? headers : vault.scrubHeaders(headers);
}

function decoded(answer: UpstreamAnswer): Readable {
  const encoding = encodingOf(answer.headers);
  const decoder = decoderFor(encoding);
  if (decoder === "unknown") {
    answer.body.destroy();
    throw new Error(`the answer is encoded as ${encoding}, which cannot be searched for secrets`);
  }
  if (decoder === undefined) return answer.body;
  answer.body.once("error", (error) => decoder.destroy(error));
  return answer.body.pipe(decoder);
}

/** Moves the bytes of one answer with back-pressure and without delay, then the trailers. What comes with the end (the
 * whole of a small answer) goes out with it in one write. */
class AnswerPump {
  readonly #answer: UpstreamAnswer;
  readonly #source: Readable;
  readonly #headers: readonly Header[];
  readonly #call: IncomingCall;
  readonly #count: (bytes: number) => void;
  readonly #vault: Vault | undefined;
  readonly #scrubber: ByteReplacer | undefined;
  readonly #last: Buffer[] = [];
  #begun = false;
  #settled = false;
  #resolve!: (error: string | undefined) => void;
  #reject!: (error: unknown) => void;

  constructor(
    answer: UpstreamAnswer,
    source: Readable,
    headers: readonly Header[],
    call: IncomingCall,
    count: (bytes: number) => void,
    vault: Vault | undefined,
    scrubs: boolean,
  ) {
    this.#answer = answer;
    this.#source = source;
    this.#headers = headers;
    this.#call = call;
    this.#count = count;
    this.#vault = vault;
    this.#scrubber = scrubs ? vault?.scrubber() : undefined;
  }

  async run(): Promise<string | undefined> {
    const { body } = this.#answer;
    const { gone } = this.#call;
    const source = this.#source;
    const onGone = (): void => {
      body.destroy();
      this.#finish("the client broke off");
    };
    // A head without an immediate body (server-sent events) must not wait for the first byte.
    const flush = setImmediate(() => this.#guarded(() => this.#flush()));
    return await new Promise<string | undefined>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      source.on("data", (chunk: Buffer) => this.#guarded(() => this.#take(chunk)));
      source.once("end", () => this.#guarded(() => this.#end()));
      source.once("error", (failure) => this.#finish(failure.message));
      body.once("close", () => {
        if (!body.readableEnded) this.#finish("the origin broke the answer off");
      });
      gone.listen(onGone);
    }).finally(() => {
      clearImmediate(flush);
      gone.unlisten(onGone);
    });
  }

  /** A head that cannot be passed on (characters that no header may have) fails the call, not the process. */
  #guarded(step: () => void): void {
    if (this.#settled) return;
    try {
      step();
    } catch (error) {
      this.#settled = true;
      this.#answer.body.destroy();
      this.#reject(error);
    }
  }

  #take(chunk: Buffer): void {
    const bytes = this.#scrubber?.write(chunk) ?? chunk;
    this.#count(bytes.length);
    if (this.#source === this.#answer.body && this.#answer.complete()) {
      // Nothing more comes from the wire: the end follows at once.
      this.#last.push(bytes);
      return;
    }
    this.#begin(this.#headers);
    if (bytes.length === 0 || this.#call.reply.write(bytes)) return;
    this.#source.pause();
    this.#call.reply.onDrain(() => this.#source.resume());
  }

  #begin(headers: readonly Header[]): void {
    if (this.#begun) return;
    this.#begun = true;
    const { status, reason } = this.#answer;
    this.#call.reply.begin(status, this.#vault?.scrub(reason) ?? reason, headers);
  }

  #flush(): void {
    if (this.#begun) return;
    this.#begin(this.#headers);
    this.#call.reply.flush();
  }

  #end(): void {
    if (this.#answer.isCutOff()) {
      this.#finish("the origin broke the answer off");
      return;
    }
    if (this.#scrubber !== undefined) {
      const rest = this.#scrubber.end();
      this.#count(rest.length);
      this.#last.push(rest);
    }
    const last = this.#last.length === 1 ? this.#last[0] : Buffer.concat(this.#last);
    const trailers = scrubbed(trailersOf(this.#answer.trailers()), this.#vault);
    const whole = !this.#begun && this.#scrubber !== undefined && trailers.length === 0;
    const length: Header = ["Content-Length", String(last?.length ?? 0)];
    this.#begin(whole ? [...this.#headers, length] : this.#headers);
    this.#call.reply.end(trailers, last);
    this.#settle(undefined);
  }

  /** The answer broke off, on one side or the other. */
  #finish(error: string): void {
    if (this.#settled) return;
    this.#call.reply.abort();
    this.#settle(error);
  }

  #settle(error: string | undefined): void {
    this.#settled = true;
    this.#resolve(error);
  }
}
