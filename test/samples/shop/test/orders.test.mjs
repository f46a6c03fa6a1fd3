import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { OrderBook } from "../build/index.js";

test("an order that was added is found", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "orders-"));
  const book = new OrderBook(path.join(folder, "orders.json"));
  book.add({ id: 7, customer: "Ada", total: 342 });
  assert.equal(book.find(7).customer, "Ada");
  fs.rmSync(folder, { recursive: true });
});
