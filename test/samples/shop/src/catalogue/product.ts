import type { Cents } from "../money.js";

export type TaxClass = "food" | "standard";

export interface Product {
  readonly sku: string;
  readonly name: string;
  readonly price: Cents;
  readonly taxClass: TaxClass;
}
