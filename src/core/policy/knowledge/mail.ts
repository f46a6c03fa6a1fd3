import { counted, final, reads, type Service, undoable } from "./service.ts";

/** SendGrid's v3 Mail Send and Marketing API. */
export const sendgrid: Service = {
  id: "sendgrid",
  name: "SendGrid",
  hosts: ["api.sendgrid.com", "api.eu.sendgrid.com"],
  documentation: "https://www.twilio.com/docs/sendgrid/api-reference",
  calls: [
    final("POST", "/v3/mail/send", "sends mail", counted("personalizations.*.to", "recipients")),
    undoable(
      "POST",
      "/v3/user/scheduled_sends",
      "cancels or pauses a scheduled send",
      "delete the cancellation before its time",
    ),
    final("POST", "/v3/marketing/singlesends/*/schedule", "sends mail to a list"),
    undoable(
      "DELETE",
      "/v3/marketing/singlesends/*/schedule",
      "unschedules a mailing",
      "schedule it again",
    ),
    undoable(
      "PUT",
      "/v3/marketing/contacts",
      "adds contacts",
      "delete the contacts",
      counted("contacts", "records"),
    ),
    final("DELETE", "/v3/marketing/contacts", "deletes contacts", { floor: "delete" }),
    final("POST", "/v3/api_keys", "creates an API key", { floor: "credential" }),
    final("PUT|PATCH|DELETE", "/v3/api_keys/*", "changes an API key", { floor: "credential" }),
    reads("POST", "/v3/marketing/contacts/search", "searches contacts"),
  ],
};

/** Mailgun's Messages API. */
export const mailgun: Service = {
  id: "mailgun",
  name: "Mailgun",
  hosts: ["api.mailgun.net", "api.eu.mailgun.net"],
  documentation: "https://documentation.mailgun.com/docs/mailgun/api-reference",
  calls: [
    final("POST", "/v3/*/messages", "sends mail", counted("to", "recipients")),
    final("POST", "/v3/*/messages.mime", "sends mail", counted("to", "recipients")),
    final("DELETE", "/v3/domains/*", "deletes a domain", { floor: "delete" }),
    final("DELETE", "/v3/*/bounces/**", "deletes bounces", { floor: "delete" }),
  ],
};

/** Resend. */
export const resend: Service = {
  id: "resend",
  name: "Resend",
  hosts: ["api.resend.com"],
  documentation: "https://resend.com/docs/api-reference/introduction",
  calls: [
    final("POST", "/emails/batch", "sends mails", counted("", "recipients")),
    undoable("POST", "/emails/*/cancel", "cancels a scheduled mail", "send it again"),
    final("POST", "/emails", "sends mail", counted("to", "recipients")),
    final("POST", "/broadcasts/*/send", "sends mail to an audience"),
    final("POST|DELETE", "/api-keys/**", "changes API keys", { floor: "credential" }),
    final("DELETE", "/domains/*", "deletes a domain", { floor: "delete" }),
  ],
};

/** Twilio's messaging, voice and verification API. */
export const twilio: Service = {
  id: "twilio",
  name: "Twilio",
  hosts: [
    "api.twilio.com",
    "verify.twilio.com",
    "messaging.twilio.com",
    "conversations.twilio.com",
  ],
  documentation: "https://www.twilio.com/docs/usage/api",
  exactSegments: 4,
  calls: [
    final("POST", "/2010-04-01/Accounts/*/Messages.json", "sends a text message and costs money"),
    final("POST", "/2010-04-01/Accounts/*/Messages/*.json", "redacts or cancels a message"),
    final("DELETE", "/2010-04-01/Accounts/*/Messages/*.json", "deletes a message", {
      floor: "delete",
    }),
    final("POST", "/2010-04-01/Accounts/*/Calls.json", "makes a telephone call and costs money"),
    final("POST", "/2010-04-01/Accounts/*/IncomingPhoneNumbers.json", "buys a telephone number", {
      floor: "payment",
    }),
    undoable(
      "DELETE",
      "/2010-04-01/Accounts/*/IncomingPhoneNumbers/*.json",
      "releases a telephone number",
      "buy it back within 10 days, if it is still free",
      { floor: "delete" },
    ),
    final("POST", "/2010-04-01/Accounts/*/Keys.json", "creates an API key", {
      floor: "credential",
    }),
    final("POST", "/v2/Services/*/Verifications", "sends a verification code"),
  ],
};
