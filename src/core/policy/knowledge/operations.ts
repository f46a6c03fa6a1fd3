import { final, reads, type Service, undoable } from "./service.ts";

/** Sentry: REST and an MCP server; error reports of a program go to its ingest hosts. */
export const sentry: Service = {
  id: "sentry",
  name: "Sentry",
  hosts: [
    "sentry.io",
    "us.sentry.io",
    "de.sentry.io",
    "mcp.sentry.dev",
    "*.ingest.sentry.io",
    "*.ingest.us.sentry.io",
    "*.ingest.de.sentry.io",
  ],
  documentation: "https://docs.sentry.io/api/",
  calls: [
    undoable(
      "PUT",
      "/api/0/projects/*/*/issues/**",
      "resolves or changes issues",
      "change them back",
    ),
    undoable(
      "PUT",
      "/api/0/organizations/*/issues/**",
      "resolves or changes issues",
      "change them back",
    ),
    final("DELETE", "/api/0/projects/*/*/issues/**", "deletes issues", { floor: "delete" }),
    final("DELETE", "/api/0/organizations/*/issues/**", "deletes issues", { floor: "delete" }),
    undoable(
      "DELETE",
      "/api/0/projects/*/*",
      "deletes a project",
      "an owner can restore it within 30 days through support",
      { floor: "delete" },
    ),
    final("POST", "/api/0/issues/*/comments", "posts a note"),
    undoable("POST", "/api/0/organizations/*/releases", "creates a release", "delete the release"),
    final("POST", "/api/*/envelope", "sends an error report"),
    final("POST", "/api/*/store", "sends an error report"),
  ],
  toolHosts: ["mcp.sentry.dev"],
  tools: [
    reads("*", "find_*", "searches"),
    reads("*", "get_*", "reads"),
    reads("*", "search_*", "searches"),
    reads("*", "whoami", "reads"),
    undoable("*", "update_issue", "changes an issue", "change it back"),
  ],
};

/** PagerDuty. */
export const pagerDuty: Service = {
  id: "pagerduty",
  name: "PagerDuty",
  hosts: ["api.pagerduty.com", "api.eu.pagerduty.com", "events.pagerduty.com"],
  documentation: "https://developer.pagerduty.com/api-reference/",
  calls: [
    final("POST", "/v2/enqueue", "raises an alert: people are called"),
    final("POST", "/incidents", "opens an incident: people are called"),
    final("PUT", "/incidents", "changes incidents", {
      count: { at: "incidents", unit: "records" },
    }),
    final("PUT", "/incidents/*", "changes an incident; a resolved one cannot be reopened"),
    final("POST", "/incidents/*/notes", "posts a note that responders are notified of"),
    final("PUT", "/incidents/*/merge", "merges incidents", { floor: "merge" }),
    undoable(
      "POST",
      "/incidents/*/snooze",
      "snoozes an incident",
      "acknowledge or trigger it again",
    ),
    undoable("POST", "/schedules/*/overrides", "overrides who is on call", "delete the override"),
    undoable("POST", "/maintenance_windows", "silences a service", "end the window"),
    final("DELETE", "/services/*", "deletes a service", { floor: "delete" }),
    final("DELETE", "/schedules/*", "deletes a schedule", { floor: "delete" }),
  ],
};

/** Datadog. */
export const datadog: Service = {
  id: "datadog",
  name: "Datadog",
  hosts: [
    "api.datadoghq.com",
    "api.datadoghq.eu",
    "api.us3.datadoghq.com",
    "api.us5.datadoghq.com",
  ],
  documentation: "https://docs.datadoghq.com/api/latest/",
  calls: [
    reads("POST", "/api/v2/logs/events/search", "searches logs"),
    reads("POST", "/api/v2/logs/analytics/aggregate", "aggregates logs"),
    reads("POST", "/api/v2/spans/events/search", "searches spans"),
    reads("POST", "/api/v2/query/*", "queries metrics"),
    undoable("POST", "/api/v1/monitor", "creates a monitor", "delete the monitor"),
    undoable("PUT", "/api/v1/monitor/*", "changes a monitor", "change it back"),
    final("DELETE", "/api/v1/monitor/*", "deletes a monitor", { floor: "delete" }),
    undoable("POST", "/api/v2/downtime", "silences monitors", "cancel the downtime"),
    undoable("DELETE", "/api/v1/dashboard/*", "deletes a dashboard", "restore it within 30 days"),
    final("POST", "/api/v1/events", "posts an event"),
    final("POST|DELETE", "/api/v2/api_keys/**", "changes API keys", { floor: "credential" }),
  ],
};

/** Models that are not the agent's own: text goes out, nothing changes there. */
export const openai: Service = {
  id: "openai",
  name: "OpenAI",
  hosts: ["api.openai.com"],
  documentation: "https://platform.openai.com/docs/api-reference",
  calls: [
    final("POST", "/v1/fine_tuning/jobs", "starts a training that costs money", {
      floor: "payment",
    }),
    final("DELETE", "/v1/models/*", "deletes a trained model", { floor: "delete" }),
    undoable("POST", "/v1/files", "uploads a file", "delete the file"),
    final("DELETE", "/v1/files/*", "deletes a file", { floor: "delete" }),
    final("POST", "/v1/organization/**", "administers the organisation", { floor: "credential" }),
    final("POST", "/v1/**", "sends text to a model and costs money"),
  ],
};
