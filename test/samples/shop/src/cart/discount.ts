import type { Product } from "../catalogue/product.js";
import { roundCents, type Cents } from "../money.js";

/** Ten or more of one thing: one tenth off. */
export function discountFor(product: Product, quantity: number): Cents {
  return quantity >= 10 ? roundCents((product.price * quantity) / 10) : 0;
}
