/** Whole cents. */
export type Cents = number;

export function formatPrice(cents: Cents): string {
  return `€${(cents / 100).toFixed(2)}`;
}

/** Rounds half up; every amount that a customer sees went through here once. */
export function roundCents(amount: number): Cents {
  return Math.floor(amount + 0.5);
}
