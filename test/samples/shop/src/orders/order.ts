import type { Cents } from "../money.js";

export interface Order {
  readonly id: number;
  readonly customer: string;
  readonly total: Cents;
}
