import { final, type Service, undoable } from "./service.ts";

/** Stripe. Anything that moves money is floored; test keys are judged like live ones. */
export const stripe: Service = {
  id: "stripe",
  name: "Stripe",
  hosts: ["api.stripe.com", "files.stripe.com"],
  documentation: "https://docs.stripe.com/api",
  calls: [
    undoable("POST", "/v1/customers", "creates a customer", "delete the customer"),
    undoable("POST", "/v1/customers/*", "changes a customer", "change it back"),
    final("DELETE", "/v1/customers/*", "deletes a customer and ends its subscriptions", {
      floor: "delete",
    }),
    final("POST", "/v1/payment_intents/*/confirm", "takes a payment", { floor: "payment" }),
    final("POST", "/v1/payment_intents/*/capture", "captures a payment", { floor: "payment" }),
    final("POST", "/v1/payment_intents/*/cancel", "cancels a payment", { floor: "payment" }),
    final("POST", "/v1/payment_intents/**", "starts a payment", { floor: "payment" }),
    final("POST", "/v1/charges/**", "takes a payment", { floor: "payment" }),
    final("POST", "/v1/refunds/**", "refunds a payment", { floor: "payment" }),
    final("POST", "/v1/transfers/**", "transfers money", { floor: "payment" }),
    final("POST", "/v1/payouts/**", "pays out money", { floor: "payment" }),
    final("POST", "/v1/topups/**", "tops up the balance", { floor: "payment" }),
    final("DELETE", "/v1/subscriptions/*", "cancels a subscription at once", { floor: "payment" }),
    final("POST", "/v1/subscriptions/**", "starts or changes a subscription", { floor: "payment" }),
    final("POST", "/v1/invoices/*/pay", "takes a payment", { floor: "payment" }),
    final("POST", "/v1/invoices/*/send", "mails an invoice", { floor: "payment" }),
    final("POST", "/v1/invoices/*/finalize", "finalises an invoice", { floor: "payment" }),
    undoable("POST", "/v1/invoices", "creates a draft invoice", "delete the draft"),
    undoable("DELETE", "/v1/invoices/*", "deletes a draft invoice", "create it again"),
    undoable("POST", "/v1/products/**", "creates or changes a product", "archive it: active=false"),
    undoable("POST", "/v1/prices/**", "creates or changes a price", "archive it: active=false"),
    undoable("POST", "/v1/coupons/**", "creates or changes a coupon", "delete the coupon"),
    undoable("POST", "/v1/checkout/sessions", "creates a payment page", "expire the session"),
    final("POST|DELETE", "/v1/webhook_endpoints/**", "changes webhooks", { floor: "credential" }),
    final("POST|DELETE", "/**", "changes a Stripe account", { floor: "payment" }),
  ],
};

/** PayPal's REST API. */
export const paypal: Service = {
  id: "paypal",
  name: "PayPal",
  hosts: ["api-m.paypal.com", "api-m.sandbox.paypal.com", "api.paypal.com"],
  documentation: "https://developer.paypal.com/api/rest/",
  calls: [
    final("POST", "/v1/oauth2/token", "gets an access token", { floor: "credential" }),
    undoable("POST", "/v2/checkout/orders", "creates an order", "it expires unless it is approved"),
    final("POST", "/v2/checkout/orders/*/capture", "takes a payment", { floor: "payment" }),
    final("POST", "/v2/payments/**", "moves money", { floor: "payment" }),
    final("POST", "/v1/payments/payouts", "pays out money", { floor: "payment" }),
    final("POST|PATCH|DELETE", "/**", "changes a PayPal account", { floor: "payment" }),
  ],
};
