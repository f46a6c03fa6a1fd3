/** A secret value in a text: half-open range of UTF-16 units, and what to call it. */
export interface SecretSpan {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/** Values that tell nobody anything: hiding them would only break the project. */
const harmless: readonly RegExp[] = [
  /^(true|false|yes|no|on|off|null|none|undefined)$/i,
  /^-?\d{1,6}(\.\d{1,3})?$/,
  /^(development|production|test|testing|staging|local|ci|debug|info|warn|warning|error|trace|silent|verbose)$/i,
  /^(localhost|127\.0\.0\.1|0\.0\.0\.0|::1)(:\d{1,5})?$/i,
  /^https?:\/\/(localhost|127\.0\.0\.1)(:\d{1,5})?(\/[\w./-]*)?$/i,
  /^\$\{?\w+\}?$/,
  /^(?=.{1,62}$)\.{0,2}(\/([A-Za-z][a-z0-9_.-]{0,30}|[0-9_.-][a-z0-9_.-]{0,30})?)+$/, // no Base64 reads like this
  /^<%=[^%]*%>$/,
];

export function isHarmless(value: string): boolean {
  return value === "" || harmless.some((pattern) => pattern.test(value));
}

export function isPlaceholder(value: string): boolean {
  return /^\$HOLDFAST_SECRET_[A-Z][A-Z0-9_]*$/.test(value);
}

/** Name of a secret after the key that it stands at. */
export function nameOfKey(key: string): string {
  const name = key
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/^[_0-9]+|_+$/g, "")
    .toUpperCase()
    .slice(0, 80);
  return name === "" ? "VALUE" : name;
}
