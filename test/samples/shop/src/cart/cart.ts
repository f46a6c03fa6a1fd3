import { findProduct } from "../catalogue/productList.js";
import type { Product } from "../catalogue/product.js";
import type { Cents } from "../money.js";
import { discountFor } from "./discount.js";

export interface CartLine {
  readonly product: Product;
  readonly quantity: number;
}

export class Cart {
  readonly #lines = new Map<string, CartLine>();

  add(sku: string, quantity = 1): void {
    const product = findProduct(sku);
    if (product === undefined) throw new Error(`no such product: ${sku}`);
    const before = this.#lines.get(product.sku)?.quantity ?? 0;
    this.#lines.set(product.sku, { product, quantity: before + quantity });
  }

  get lines(): readonly CartLine[] {
    return [...this.#lines.values()];
  }

  /** Before tax, after discounts. */
  get total(): Cents {
    return this.lines.reduce((sum, line) => sum + lineTotal(line), 0);
  }
}

export function lineTotal(line: CartLine): Cents {
  return line.product.price * line.quantity - discountFor(line.product, line.quantity);
}
