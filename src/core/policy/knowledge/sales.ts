import { counted, final, reads, type Service, undoable } from "./service.ts";

/** HubSpot's CRM API. Archived records are in the recycling bin for 90 days; a GDPR delete is for good. */
export const hubspot: Service = {
  id: "hubspot",
  name: "HubSpot",
  hosts: ["api.hubapi.com", "api.hubspot.com"],
  documentation: "https://developers.hubspot.com/docs/api-reference/overview",
  exactSegments: 5,
  calls: [
    reads("POST", "/crm/*/objects/*/search", "searches records"),
    reads("POST", "/crm/*/objects/*/batch/read", "reads records"),
    final("POST", "/crm/*/objects/*/gdpr-delete", "deletes a record for good", { floor: "delete" }),
    final("POST", "/crm/*/objects/*/batch/gdpr-delete", "deletes records for good", {
      floor: "delete",
      ...counted("inputs", "records"),
    }),
    undoable(
      "POST",
      "/crm/*/objects/*/batch/archive",
      "archives records",
      "restore them from the recycling bin within 90 days",
      counted("inputs", "records"),
    ),
    undoable(
      "DELETE",
      "/crm/*/objects/*/*",
      "archives a record",
      "restore it from the recycling bin within 90 days",
    ),
    undoable(
      "POST",
      "/crm/*/objects/*/batch/create",
      "creates records",
      "archive them",
      counted("inputs", "records"),
    ),
    undoable(
      "POST",
      "/crm/*/objects/*/batch/update",
      "changes records",
      "set them back from the property history",
      counted("inputs", "records"),
    ),
    undoable(
      "POST",
      "/crm/*/objects/*/batch/upsert",
      "creates or changes records",
      "set them back from the property history",
      counted("inputs", "records"),
    ),
    final("POST", "/crm/*/objects/*/merge", "merges two records for good", { floor: "merge" }),
    undoable("POST", "/crm/*/objects/*", "creates a record", "archive it"),
    undoable(
      "PATCH",
      "/crm/*/objects/*/*",
      "changes a record",
      "set it back from the property history",
    ),
    undoable(
      "PUT|DELETE",
      "/crm/*/objects/*/*/associations/**",
      "changes an association",
      "change it back",
    ),
    final("POST", "/marketing/*/transactional/single-email/send", "sends mail"),
    final("POST", "/marketing/*/emails/*/publish", "sends a mailing"),
  ],
};

/** Salesforce's REST API. Deleted records are in the recycle bin for 15 days. */
export const salesforce: Service = {
  id: "salesforce",
  name: "Salesforce",
  hosts: ["*.my.salesforce.com", "*.salesforce.com", "*.force.com"],
  documentation: "https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/",
  exactSegments: 6,
  calls: [
    final("POST", "/services/data/*/composite/batch", "runs several calls that may write"),
    undoable(
      "DELETE",
      "/services/data/*/composite/sobjects",
      "deletes records",
      "restore them from the recycle bin within 15 days",
      counted("?ids", "records"),
    ),
    undoable(
      "POST|PATCH",
      "/services/data/*/composite/sobjects/**",
      "writes records",
      "set them back from the field history, where it is on",
      counted("records", "records"),
    ),
    undoable(
      "DELETE",
      "/services/data/*/sobjects/*/**",
      "deletes a record",
      "restore it from the recycle bin within 15 days",
    ),
    undoable("POST", "/services/data/*/sobjects/*", "creates a record", "delete it"),
    undoable(
      "PATCH",
      "/services/data/*/sobjects/*/**",
      "changes a record",
      "set it back from the field history, where it is on",
    ),
    final("POST", "/services/data/*/actions/standard/emailSimple", "sends mail"),
    final("POST", "/services/data/*/jobs/ingest/**", "starts a bulk write"),
    final("PUT|PATCH", "/services/data/*/jobs/ingest/**", "feeds a bulk write"),
    final("POST", "/services/data/*/tooling/**", "changes or runs code of the organisation"),
    final("GET", "/services/data/*/tooling/executeAnonymous", "runs code in the organisation"),
    final("POST", "/services/apexrest/**", "calls code of the organisation"),
    final("POST", "/services/oauth2/**", "gets or revokes an access token", {
      floor: "credential",
    }),
  ],
};

/** Intercom. */
export const intercom: Service = {
  id: "intercom",
  name: "Intercom",
  hosts: ["api.intercom.io", "api.eu.intercom.io", "api.au.intercom.io"],
  documentation: "https://developers.intercom.com/docs/references/rest-api/api.intercom.io",
  calls: [
    reads("POST", "/contacts/search", "searches contacts"),
    reads("POST", "/conversations/search", "searches conversations"),
    reads("POST", "/tickets/search", "searches tickets"),
    final("POST", "/messages", "sends a message to a customer"),
    final("POST", "/conversations/*/reply", "replies to a customer"),
    undoable(
      "POST",
      "/conversations/*/parts",
      "closes, opens or assigns a conversation",
      "do the opposite",
    ),
    undoable("POST", "/contacts/*/archive", "archives a contact", "unarchive it"),
    undoable("POST", "/contacts/*/unarchive", "restores a contact", "archive it"),
    undoable("POST", "/contacts", "creates a contact", "archive it"),
    undoable("PUT", "/contacts/*", "changes a contact", "change it back"),
    final("DELETE", "/contacts/*", "deletes a contact for good", { floor: "delete" }),
  ],
};

/** Shopify's Admin API (REST and GraphQL). */
export const shopify: Service = {
  id: "shopify",
  name: "Shopify",
  hosts: ["*.myshopify.com"],
  documentation: "https://shopify.dev/docs/api/admin",
  graphql: "/admin/api/*/graphql.json",
  calls: [
    final("POST", "/admin/api/*/orders/*/refunds.json", "refunds a customer", { floor: "payment" }),
    final("POST", "/admin/api/*/orders/*/cancel.json", "cancels an order", { floor: "payment" }),
    final("POST", "/admin/api/*/orders/*/transactions.json", "takes a payment", {
      floor: "payment",
    }),
    undoable("POST", "/admin/api/*/products.json", "creates a product", "archive the product"),
    undoable("PUT", "/admin/api/*/products/*.json", "changes a product", "change it back"),
    final("DELETE", "/admin/api/*/products/*.json", "deletes a product for good", {
      floor: "delete",
    }),
    final("DELETE", "/admin/api/*/customers/*.json", "deletes a customer for good", {
      floor: "delete",
    }),
  ],
  mutations: [
    undoable("*", "productCreate", "creates a product", "archive the product"),
    undoable("*", "productUpdate", "changes a product", "change it back"),
    final("*", "refundCreate", "refunds a customer", { floor: "payment" }),
    final("*", "orderCancel", "cancels an order", { floor: "payment" }),
    final("*", "*Delete", "deletes", { floor: "delete" }),
  ],
};
