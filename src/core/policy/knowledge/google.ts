import { counted, final, reads, type Service, undoable } from "./service.ts";

/** Gmail. */
export const gmail: Service = {
  id: "gmail",
  name: "Gmail",
  hosts: ["gmail.googleapis.com"],
  documentation: "https://developers.google.com/workspace/gmail/api/reference/rest",
  exactSegments: 5,
  calls: [
    final("POST", "/gmail/v1/users/*/messages/send", "sends mail"),
    final("POST", "/upload/gmail/v1/users/*/messages/send", "sends mail"),
    final("POST", "/gmail/v1/users/*/drafts/send", "sends mail"),
    undoable("POST", "/gmail/v1/users/*/drafts", "saves a draft", "delete the draft"),
    undoable("PUT", "/gmail/v1/users/*/drafts/*", "changes a draft", "change it back"),
    final("DELETE", "/gmail/v1/users/*/drafts/*", "deletes a draft for good", { floor: "delete" }),
    undoable(
      "POST",
      "/gmail/v1/users/*/messages/*/trash",
      "moves mail to the trash",
      "untrash within 30 days",
    ),
    undoable(
      "POST",
      "/gmail/v1/users/*/threads/*/trash",
      "moves a thread to the trash",
      "untrash within 30 days",
    ),
    undoable(
      "POST",
      "/gmail/v1/users/*/messages/*/untrash",
      "takes mail out of the trash",
      "trash it again",
    ),
    undoable("POST", "/gmail/v1/users/*/messages/*/modify", "changes labels", "change them back"),
    undoable(
      "POST",
      "/gmail/v1/users/*/messages/batchModify",
      "changes labels",
      "change them back",
      counted("ids", "records"),
    ),
    final("POST", "/gmail/v1/users/*/messages/batchDelete", "deletes mail for good", {
      floor: "delete",
      ...counted("ids", "records"),
    }),
    final("DELETE", "/gmail/v1/users/*/messages/*", "deletes mail for good", { floor: "delete" }),
    final("DELETE", "/gmail/v1/users/*/threads/*", "deletes a thread for good", {
      floor: "delete",
    }),
    final(
      "POST|PUT|DELETE",
      "/gmail/v1/users/*/settings/**",
      "changes forwarding, filters or who may send",
      { floor: "credential" },
    ),
  ],
};

/** Google Drive, Docs and Sheets. */
export const googleDrive: Service = {
  id: "google-drive",
  name: "Google Drive",
  hosts: [
    "www.googleapis.com",
    "drive.googleapis.com",
    "docs.googleapis.com",
    "sheets.googleapis.com",
  ],
  documentation: "https://developers.google.com/workspace/drive/api/reference/rest/v3",
  calls: [
    final("DELETE", "/drive/v3/files/trash", "empties the trash", { floor: "delete" }),
    final("DELETE", "/drive/v3/files/*", "deletes a file for good, past the trash", {
      floor: "delete",
    }),
    final(
      "POST|PATCH|DELETE",
      "/drive/v3/files/*/permissions/**",
      "changes who has access; may send mail",
      { floor: "credential" },
    ),
    final("POST", "/drive/v3/files/*/comments", "posts a comment that people are notified of"),
    undoable("POST", "/drive/v3/files/*/copy", "copies a file", "move the copy to the trash"),
    undoable(
      "PATCH",
      "/drive/v3/files/*",
      "changes or trashes a file",
      "take it out of the trash within 30 days",
    ),
    undoable("POST", "/drive/v3/files", "creates a file", "move it to the trash"),
    undoable(
      "POST|PATCH",
      "/upload/drive/v3/files/**",
      "uploads a file",
      "move it to the trash; keep the revision before",
    ),
    undoable(
      "POST",
      "/v1/documents/*",
      "changes a document",
      "restore it from the version history",
      counted("requests", "records"),
    ),
    undoable(
      "PUT|POST",
      "/v4/spreadsheets/**",
      "changes a spreadsheet",
      "restore it from the version history",
    ),
    final(
      "POST|PUT|PATCH",
      "/calendar/v3/calendars/*/events/**",
      "changes an event; may send invitations",
    ),
    undoable(
      "DELETE",
      "/calendar/v3/calendars/*/events/*",
      "deletes an event; may send cancellations",
      "restore it from the bin within 30 days",
    ),
    final("DELETE", "/calendar/v3/calendars/*", "deletes a calendar", { floor: "delete" }),
  ],
};

/** Google Cloud's own APIs. */
export const googleCloud: Service = {
  id: "google-cloud",
  name: "Google Cloud",
  hosts: [
    "storage.googleapis.com",
    "compute.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "run.googleapis.com",
    "bigquery.googleapis.com",
    "iam.googleapis.com",
    "secretmanager.googleapis.com",
    "sqladmin.googleapis.com",
    "firestore.googleapis.com",
    "oauth2.googleapis.com",
    "sts.googleapis.com",
  ],
  documentation: "https://cloud.google.com/apis/docs/overview",
  calls: [
    undoable("DELETE", "/v*/projects/*", "shuts a project down", "restore it within 30 days", {
      floor: "delete",
    }),
    undoable(
      "DELETE",
      "/storage/v1/b/*/o/**",
      "deletes an object",
      "soft delete keeps it 7 days, unless it is off",
      { floor: "delete" },
    ),
    final("DELETE", "/storage/v1/b/*", "deletes a bucket", { floor: "delete" }),
    undoable(
      "DELETE",
      "/bigquery/v2/projects/*/datasets/*/tables/*",
      "deletes a table",
      "time travel within 7 days",
      { floor: "delete" },
    ),
    reads("POST", "/v1/projects/*/databases/*/documents:runQuery", "queries documents"),
    final("GET", "/v1/projects/*/secrets/*/versions/*:access", "reads the value of a secret", {
      floor: "credential",
    }),
    final("POST", "/v1/projects/*/serviceAccounts/*/keys", "creates a key", {
      floor: "credential",
    }),
    final("POST", "/token", "gets an access token", { floor: "credential" }),
    final("DELETE", "/**", "deletes a cloud resource", { floor: "delete" }),
  ],
};
