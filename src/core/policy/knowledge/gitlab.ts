import { comment, final, type Service, undoable } from "./service.ts";

/** GitLab's REST API, version 4; a project is its number or its escaped path. */
export const gitlab: Service = {
  id: "gitlab",
  name: "GitLab",
  hosts: ["gitlab.com"],
  documentation: "https://docs.gitlab.com/api/rest/",
  exactSegments: 5,
  graphql: "/api/graphql",
  calls: [
    undoable("POST", "/api/v4/projects/*/merge_requests", "opens a merge request", "close it"),
    final("PUT", "/api/v4/projects/*/merge_requests/*/merge", "merges a merge request", {
      floor: "merge",
    }),
    undoable("PUT", "/api/v4/projects/*/merge_requests/*", "edits a merge request", "edit it back"),
    undoable("PUT", "/api/v4/projects/*/merge_requests/*/rebase", "rebases its branch", "reset it"),
    undoable("POST", "/api/v4/projects/*/issues", "creates an issue", "close or delete the issue"),
    undoable("PUT", "/api/v4/projects/*/issues/*", "edits an issue", "edit it back; reopen it"),
    final("DELETE", "/api/v4/projects/*/issues/*", "deletes an issue", { floor: "delete" }),
    comment("POST", "/api/v4/projects/*/*/*/notes", "posts a comment, mailed at once"),
    comment("POST", "/api/v4/projects/*/*/*/discussions/**", "posts a comment, mailed at once"),
    undoable("PUT", "/api/v4/projects/*/*/*/discussions/*", "resolves a thread", "unresolve it"),
    undoable("POST", "/api/v4/projects/*/repository/branches", "creates a branch", "delete it"),
    final("DELETE", "/api/v4/projects/*/repository/branches/*", "deletes a branch", {
      floor: "delete-branch",
    }),
    final("DELETE", "/api/v4/projects/*/repository/merged_branches", "deletes merged branches", {
      floor: "delete-branch",
    }),
    final("POST|DELETE", "/api/v4/projects/*/repository/tags/**", "changes tags", { floor: "tag" }),
    final("POST", "/api/v4/projects/*/repository/commits", "commits to a branch", {
      floor: "default-branch",
    }),
    final("POST|PUT|DELETE", "/api/v4/projects/*/repository/files/**", "commits to a branch", {
      floor: "default-branch",
    }),
    final("POST|PUT|DELETE", "/api/v4/projects/*/releases/**", "changes a release", {
      floor: "release",
    }),
    final("PUT", "/api/v4/projects/*/packages/**", "publishes a package", { floor: "publish" }),
    final("POST|PUT|DELETE", "/api/v4/projects/*/variables/**", "changes CI variables", {
      floor: "credential",
    }),
    final("POST|PUT|DELETE", "/api/v4/projects/*/deploy_keys/**", "changes deploy keys", {
      floor: "credential",
    }),
    final("POST|PUT|DELETE", "/api/v4/projects/*/members/**", "changes who has access", {
      floor: "credential",
    }),
    undoable("POST", "/api/v4/projects/*/pipelines/*/retry", "runs a pipeline again", "cancel it"),
    undoable("POST", "/api/v4/projects/*/pipelines/*/cancel", "cancels a pipeline", "retry it"),
    final("POST", "/api/v4/projects/*/pipeline", "starts a pipeline"),
    undoable(
      "DELETE",
      "/api/v4/projects/*",
      "marks a project for deletion",
      "restore it within 30 days",
      { floor: "delete", unless: ["permanently_remove"] },
    ),
    undoable("POST", "/api/v4/projects/*/archive", "archives a project", "unarchive it"),
    undoable("POST", "/api/v4/projects", "creates a project", "delete the project"),
    final("POST|PUT", "/api/v4/snippets/**", "publishes text as a snippet", { floor: "publish" }),
  ],
};
