import { allProducts, Cart, formatPrice, receiptFor } from "./index.js";

const [verb = "list", ...skus] = process.argv.slice(2);
if (verb === "list") {
  for (const product of allProducts()) console.log(product.sku, formatPrice(product.price));
} else {
  const cart = new Cart();
  for (const sku of verb === "demo" ? ["apple", "bread"] : skus) cart.add(sku);
  console.log(receiptFor(cart));
}
