type Child = Node | string | undefined;

interface Attributes {
  readonly class?: string;
  readonly title?: string;
  readonly on?: Readonly<Record<string, (event: Event) => void>>;
  readonly [name: `aria-${string}`]: string;
  readonly [name: `data-${string}`]: string;
  readonly role?: string;
  readonly tabindex?: string;
  readonly for?: string;
  readonly id?: string;
}

/** Makes an element; strings become text, never markup. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(attributes.on ?? {}))
        made.addEventListener(event, listener);
    } else if (typeof value === "string") {
      made.setAttribute(name, value);
    }
  }
  for (const child of children) if (child !== undefined) made.append(child);
  return made;
}

/** Sets or removes an attribute, touching the document only when something differs. */
export function setAttribute(target: Element, name: string, value: string | undefined): void {
  if (value === undefined) {
    if (target.hasAttribute(name)) target.removeAttribute(name);
  } else if (target.getAttribute(name) !== value) {
    target.setAttribute(name, value);
  }
}

/** Sets text, touching the document only when it differs; a text that is there takes the new one. */
export function setText(target: Node, text: string): void {
  const only = target.firstChild;
  if (only instanceof Text && only.nextSibling === null) {
    if (only.data !== text) only.data = text;
  } else if (only !== null || text !== "") {
    target.textContent = text;
  }
}
