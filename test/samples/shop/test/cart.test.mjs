import assert from "node:assert/strict";
import test from "node:test";
import { Cart, receiptFor } from "../build/index.js";

test("a cart adds up", () => {
  const cart = new Cart();
  cart.add("apple", 2);
  cart.add("soap");
  assert.equal(cart.total, 289);
});

test("ten of one thing are cheaper", () => {
  const cart = new Cart();
  cart.add("apple", 10);
  assert.equal(cart.total, 405);
});

test("an unknown product is refused", () => {
  assert.throws(() => new Cart().add("nothing"), /no such product: nothing/);
});

test("the receipt shows lines, tax and total", () => {
  const cart = new Cart();
  cart.add("bread");
  assert.equal(receiptFor(cart), "1 × Bread €3.20\ntax €0.22\ntotal €3.42");
});
