/** Whether `inner` is `outer` or lies in it; both absolute. */
export function within(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith("/") ? outer : `${outer}/`);
}
