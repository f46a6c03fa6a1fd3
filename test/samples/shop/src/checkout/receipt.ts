import { lineTotal, type Cart } from "../cart/cart.js";
import { formatPrice, type Cents } from "../money.js";
import { taxOn } from "./tax.js";

export function receiptFor(cart: Cart): string {
  let tax = 0;
  const rows = cart.lines.map((line) => {
    tax += taxOn(lineTotal(line), line.product.taxClass);
    return row(`${line.quantity} × ${line.product.name}`, lineTotal(line));
  });
  rows.push(row("tax", tax), row("total", cart.total + tax));
  return rows.join("\n");
}

function row(label: string, amount: Cents): string {
  return `${label} ${formatPrice(amount)}`;
}
