import fs from "node:fs";
import type { Order } from "./order.js";

/** The orders of one shop, kept in one JSON file. */
export class OrderBook {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  all(): Order[] {
    if (!fs.existsSync(this.#file)) return [];
    return JSON.parse(fs.readFileSync(this.#file, "utf8")) as Order[];
  }

  add(order: Order): void {
    fs.writeFileSync(this.#file, JSON.stringify([...this.all(), order], null, 2));
  }

  find(id: number): Order {
    const found: Order = this.all().find((order) => order.id === id);
    return found;
  }
}
