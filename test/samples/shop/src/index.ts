export { Cart } from "./cart/cart.js";
export { allProducts, findProduct } from "./catalogue/productList.js";
export { receiptFor } from "./checkout/receipt.js";
export { formatPrice } from "./money.js";
export { OrderBook } from "./orders/orderBook.js";
