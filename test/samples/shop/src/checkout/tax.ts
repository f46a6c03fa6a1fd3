import type { TaxClass } from "../catalogue/product.js";
import { roundCents, type Cents } from "../money.js";

const rates: Readonly<Record<TaxClass, number>> = { food: 0.07, standard: 0.19 };

export function taxOn(amount: Cents, taxClass: TaxClass): Cents {
  return roundCents(amount * rates[taxClass]);
}
