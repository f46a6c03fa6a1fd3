import { comment, counted, final, reads, type Service, undoable } from "./service.ts";

/** Linear: GraphQL, and an MCP server. Deleting moves to the trash for 30 days. */
export const linear: Service = {
  id: "linear",
  name: "Linear",
  hosts: ["api.linear.app", "mcp.linear.app"],
  documentation: "https://linear.app/developers/graphql",
  graphql: "/graphql",
  calls: [],
  mutations: [
    undoable("*", "issueCreate", "creates an issue", "issueDelete"),
    undoable("*", "issueUpdate", "changes an issue", "change it back from its history"),
    undoable(
      "*",
      "issueBatchUpdate",
      "changes issues",
      "change them back",
      counted("variables.ids", "records"),
    ),
    undoable("*", "issueBatchCreate", "creates issues", "delete them"),
    undoable("*", "issueArchive", "archives an issue", "issueUnarchive"),
    undoable("*", "issueUnarchive", "restores an issue", "issueArchive"),
    undoable("*", "issueDelete", "moves an issue to the trash", "issueUnarchive within 30 days", {
      unless: ["permanentlyDelete"],
    }),
    undoable("*", "issueRelation*", "changes a relation", "change it back"),
    undoable("*", "issueAddLabel", "adds a label", "issueRemoveLabel"),
    undoable("*", "issueRemoveLabel", "removes a label", "issueAddLabel"),
    undoable("*", "projectCreate", "creates a project", "projectDelete"),
    undoable("*", "projectUpdate", "changes a project", "change it back"),
    undoable("*", "projectArchive", "archives a project", "projectUnarchive"),
    undoable(
      "*",
      "projectDelete",
      "moves a project to the trash",
      "projectUnarchive within 30 days",
    ),
    comment("*", "commentCreate", "posts a comment that people are notified of"),
    final("*", "webhook*", "changes webhooks", { floor: "credential" }),
    final("*", "organizationInvite*", "invites people", { floor: "credential" }),
    final("*", "teamDelete", "deletes a team", { floor: "delete" }),
  ],
  toolHosts: ["mcp.linear.app"],
  tools: [
    reads("*", "get_*", "reads"),
    reads("*", "list_*", "reads"),
    reads("*", "search_*", "searches"),
    undoable("*", "create_issue", "creates an issue", "delete the issue"),
    undoable("*", "update_issue", "changes an issue", "change it back"),
    undoable("*", "save_issue", "creates or changes an issue", "change it back"),
    comment("*", "create_comment", "posts a comment that people are notified of"),
  ],
};

/** Jira Cloud's REST API, versions 2 and 3, and Confluence's on the same host. */
export const jira: Service = {
  id: "jira",
  name: "Jira",
  hosts: ["*.atlassian.net", "api.atlassian.com"],
  documentation: "https://developer.atlassian.com/cloud/jira/platform/rest/v3/intro/",
  calls: [
    reads("POST", "/**/rest/api/*/search", "searches issues"),
    reads("POST", "/**/rest/api/*/search/jql", "searches issues"),
    reads("POST", "/**/rest/api/*/jql/*", "reads about queries"),
    reads("POST", "/**/rest/api/*/issue/bulkfetch", "reads issues"),
    undoable(
      "POST",
      "/**/rest/api/*/issue/bulk",
      "creates issues",
      "delete them",
      counted("issueUpdates", "records"),
    ),
    undoable("POST", "/**/rest/api/*/issue", "creates an issue", "delete the issue"),
    undoable("PUT", "/**/rest/api/*/issue/*", "edits an issue", "edit it back from its history"),
    undoable(
      "POST",
      "/**/rest/api/*/issue/*/transitions",
      "moves an issue",
      "move it back, where the workflow allows",
    ),
    undoable("PUT", "/**/rest/api/*/issue/*/assignee", "assigns an issue", "assign it back"),
    undoable(
      "PUT",
      "/**/rest/api/*/issue/archive",
      "archives issues",
      "unarchive them",
      counted("issueIdsOrKeys", "records"),
    ),
    undoable(
      "PUT",
      "/**/rest/api/*/issue/unarchive",
      "restores issues",
      "archive them",
      counted("issueIdsOrKeys", "records"),
    ),
    final("DELETE", "/**/rest/api/*/issue/*", "deletes an issue for good", { floor: "delete" }),
    final("POST", "/**/rest/api/*/bulk/issues/delete", "deletes issues for good", {
      floor: "delete",
      ...counted("selectedIssueIdsOrKeys", "records"),
    }),
    comment(
      "POST",
      "/**/rest/api/*/issue/*/comment",
      "posts a comment, mailed to watchers at once",
    ),
    final("POST", "/**/rest/api/*/issue/*/notify", "sends mail"),
    undoable(
      "DELETE",
      "/**/rest/api/*/project/*",
      "moves a project to the trash",
      "restore it within 60 days",
      { floor: "delete", unless: ["enableUndo=false"] },
    ),
    undoable("POST", "/**/rest/api/*/project/*/archive", "archives a project", "restore it"),
    undoable(
      "POST",
      "/**/rest/api/*/project/*/delete",
      "deletes a project",
      "restore it within 60 days",
      { floor: "delete" },
    ),
    undoable("POST|PUT", "/wiki/api/v2/pages/**", "changes a page", "restore the version before"),
    undoable(
      "DELETE",
      "/wiki/api/v2/pages/*",
      "moves a page to the trash",
      "restore it from the trash",
    ),
    comment("POST", "/wiki/api/v2/footer-comments", "posts a comment, mailed at once"),
  ],
};

/** Notion. Archiving is moving to the trash; it can be restored for 30 days. */
export const notion: Service = {
  id: "notion",
  name: "Notion",
  hosts: ["api.notion.com", "mcp.notion.com"],
  documentation: "https://developers.notion.com/reference/intro",
  calls: [
    reads("POST", "/v1/search", "searches"),
    reads("POST", "/v1/databases/*/query", "queries a database"),
    reads("POST", "/v1/data_sources/*/query", "queries a data source"),
    undoable("POST", "/v1/pages", "creates a page", "move it to the trash"),
    undoable(
      "PATCH",
      "/v1/pages/*",
      "changes a page or moves it to the trash",
      "restore it from the history or the trash within 30 days",
    ),
    undoable(
      "PATCH",
      "/v1/blocks/*/children",
      "adds blocks",
      "delete the blocks",
      counted("children", "records"),
    ),
    undoable("PATCH", "/v1/blocks/*", "changes a block", "restore the page's version before"),
    undoable("DELETE", "/v1/blocks/*", "moves a block to the trash", "restore it within 30 days"),
    undoable("POST|PATCH", "/v1/databases/**", "changes a database", "restore the version before"),
    comment("POST", "/v1/comments", "posts a comment that people are notified of"),
    final("POST", "/v1/oauth/token", "gets an access token", { floor: "credential" }),
  ],
  toolHosts: ["mcp.notion.com"],
  tools: [
    reads("*", "*search*", "searches"),
    reads("*", "*fetch*", "reads"),
    reads("*", "*get-*", "reads"),
    undoable("*", "*create-pages", "creates pages", "move them to the trash"),
    undoable("*", "*update-page", "changes a page", "restore the version before"),
    comment("*", "*create-comment", "posts a comment"),
  ],
};

/** Asana. A deleted task is in the trash for 30 days. */
export const asana: Service = {
  id: "asana",
  name: "Asana",
  hosts: ["app.asana.com"],
  documentation: "https://developers.asana.com/reference/rest-api-reference",
  calls: [
    undoable("POST", "/api/1.0/tasks", "creates a task", "delete the task"),
    undoable("PUT", "/api/1.0/tasks/*", "changes a task", "change it back"),
    undoable(
      "DELETE",
      "/api/1.0/tasks/*",
      "moves a task to the trash",
      "restore it within 30 days",
    ),
    comment("POST", "/api/1.0/tasks/*/stories", "posts a comment that followers are notified of"),
    undoable("POST", "/api/1.0/tasks/*/*", "changes a task", "change it back"),
    undoable("POST", "/api/1.0/projects", "creates a project", "delete the project"),
    final("DELETE", "/api/1.0/projects/*", "deletes a project", { floor: "delete" }),
  ],
};

/** Trello. An archived card (closed=true) can be sent back; a deleted one cannot. */
export const trello: Service = {
  id: "trello",
  name: "Trello",
  hosts: ["api.trello.com"],
  documentation: "https://developer.atlassian.com/cloud/trello/rest/",
  calls: [
    undoable("POST", "/1/cards", "creates a card", "archive the card"),
    undoable("PUT", "/1/cards/*", "changes or archives a card", "change it back: closed=false"),
    final("DELETE", "/1/cards/*", "deletes a card for good", { floor: "delete" }),
    comment("POST", "/1/cards/*/actions/comments", "posts a comment that people are notified of"),
    undoable("PUT", "/1/lists/*/closed", "archives a list", "value=false"),
    final("POST", "/1/lists/*/archiveAllCards", "archives every card of a list"),
    final("DELETE", "/1/boards/*", "deletes a board for good", { floor: "delete" }),
  ],
};
