import type { Product } from "./product.js";

const products: readonly Product[] = [
  { sku: "APPLE", name: "Apple", price: 45, taxClass: "food" },
  { sku: "BREAD", name: "Bread", price: 320, taxClass: "food" },
  { sku: "SOAP", name: "Soap", price: 199, taxClass: "standard" },
  { sku: "LAMP", name: "Lamp", price: 2450, taxClass: "standard" },
];

export function findProduct(sku: string): Product | undefined {
  return products.find((product) => product.sku === sku.toUpperCase());
}

export function allProducts(): readonly Product[] {
  return products;
}
