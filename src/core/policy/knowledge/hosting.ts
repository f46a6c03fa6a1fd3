import { final, reads, type Service, undoable } from "./service.ts";

/** Railway: GraphQL. Deleting a volume deletes its backups with it. */
export const railway: Service = {
  id: "railway",
  name: "Railway",
  hosts: ["backboard.railway.app", "backboard.railway.com"],
  documentation: "https://docs.railway.com/integrations/api",
  graphql: "/graphql/v2",
  calls: [],
  mutations: [
    final("*", "volumeDelete", "deletes a volume and its backups", { floor: "delete" }),
    final("*", "projectDelete", "deletes a project", { floor: "delete" }),
    undoable(
      "*",
      "projectScheduleDelete",
      "schedules a project for deletion",
      "projectScheduleDeleteCancel until its time",
      { floor: "delete" },
    ),
    final("*", "environmentDelete", "deletes an environment", { floor: "delete" }),
    final("*", "serviceDelete", "deletes a service", { floor: "delete" }),
    final("*", "volumeInstanceBackupDelete", "deletes a backup", { floor: "delete" }),
    final("*", "*Delete", "deletes", { floor: "delete" }),
    undoable("*", "deploymentRedeploy", "deploys again", "deploymentRollback"),
    undoable(
      "*",
      "deploymentRestart",
      "restarts a deployment",
      "nothing is lost but the running time",
    ),
    undoable("*", "deploymentRollback", "goes back to an earlier deployment", "deploy again"),
    undoable("*", "projectCreate", "creates a project", "projectDelete"),
    undoable("*", "serviceCreate", "creates a service", "serviceDelete"),
    undoable("*", "volumeCreate", "creates a volume", "volumeDelete"),
    final("*", "variable*", "changes variables and deploys", { floor: "credential" }),
    final("*", "*Token*", "changes tokens", { floor: "credential" }),
  ],
};

/** Vercel. */
export const vercel: Service = {
  id: "vercel",
  name: "Vercel",
  hosts: ["api.vercel.com"],
  documentation: "https://vercel.com/docs/rest-api",
  calls: [
    undoable("POST", "/v*/deployments", "deploys", "roll back to the deployment before"),
    undoable(
      "POST",
      "/v*/projects/*/promote/*",
      "promotes a deployment to production",
      "roll back",
    ),
    undoable("PATCH", "/v*/deployments/*/cancel", "cancels a deployment", "deploy again"),
    final("DELETE", "/v*/deployments/*", "deletes a deployment", { floor: "delete" }),
    final("DELETE", "/v*/projects/*", "deletes a project", { floor: "delete" }),
    final("POST|PATCH|DELETE", "/v*/projects/*/env/**", "changes environment variables", {
      floor: "credential",
    }),
    undoable(
      "POST|PATCH|DELETE",
      "/v*/projects/*/domains/**",
      "changes domains",
      "change them back",
    ),
    undoable(
      "POST|PATCH|DELETE",
      "/v*/domains/*/records/**",
      "changes DNS records",
      "change them back",
    ),
    final("POST", "/v*/domains/buy", "buys a domain", { floor: "payment" }),
    final("POST|DELETE", "/v*/user/tokens/**", "changes tokens", { floor: "credential" }),
    undoable("POST", "/v2/files", "uploads a file of a deployment", "it is collected"),
  ],
};

/** Netlify. */
export const netlify: Service = {
  id: "netlify",
  name: "Netlify",
  hosts: ["api.netlify.com"],
  documentation: "https://open-api.netlify.com/",
  calls: [
    undoable("POST", "/api/v1/sites/*/deploys", "deploys", "restore the deploy before"),
    undoable(
      "POST",
      "/api/v1/sites/*/deploys/*/restore",
      "goes back to an earlier deploy",
      "restore the other one",
    ),
    undoable(
      "POST",
      "/api/v1/sites/*/rollback",
      "goes back to the deploy before",
      "restore the other one",
    ),
    undoable("PUT", "/api/v1/deploys/*/files/**", "uploads a file of a deploy", "it is collected"),
    undoable("POST", "/api/v1/sites", "creates a site", "delete the site"),
    final("DELETE", "/api/v1/sites/*", "deletes a site", { floor: "delete" }),
    final("DELETE", "/api/v1/deploys/*", "deletes a deploy", { floor: "delete" }),
    final("POST|PUT|PATCH|DELETE", "/api/v1/accounts/*/env/**", "changes environment variables", {
      floor: "credential",
    }),
    final("POST", "/build_hooks/*", "starts a build that deploys"),
  ],
};

/** Heroku's Platform API. */
export const heroku: Service = {
  id: "heroku",
  name: "Heroku",
  hosts: ["api.heroku.com"],
  documentation: "https://devcenter.heroku.com/articles/platform-api-reference",
  calls: [
    final("DELETE", "/apps/*", "deletes an app and its add-ons", { floor: "delete" }),
    final("DELETE", "/apps/*/addons/*", "deletes an add-on with its data", { floor: "delete" }),
    final("POST", "/apps/*/addons", "adds an add-on that may cost money", { floor: "payment" }),
    undoable("POST", "/apps/*/releases", "goes back to an earlier release", "roll back again"),
    undoable("POST", "/apps/*/builds", "builds and releases", "roll back to the release before"),
    final("PATCH", "/apps/*/config-vars", "changes configuration and restarts", {
      floor: "credential",
    }),
    undoable("PATCH", "/apps/*/formation/**", "scales", "scale back"),
    undoable("DELETE", "/apps/*/dynos/**", "restarts", "nothing is lost but the running time"),
    final("POST", "/apps/*/dynos", "runs a command in the app"),
    undoable("POST", "/apps", "creates an app", "delete the app"),
  ],
};

/** Cloudflare. */
export const cloudflare: Service = {
  id: "cloudflare",
  name: "Cloudflare",
  hosts: ["api.cloudflare.com"],
  documentation: "https://developers.cloudflare.com/api/",
  exactSegments: 5,
  calls: [
    reads("POST", "/client/v4/graphql", "reads analytics"),
    undoable(
      "POST|PUT|PATCH|DELETE",
      "/client/v4/zones/*/dns_records/**",
      "changes DNS records",
      "change them back",
    ),
    final("POST", "/client/v4/zones/*/purge_cache", "empties the cache"),
    final("DELETE", "/client/v4/zones/*", "deletes a zone", { floor: "delete" }),
    undoable(
      "PUT",
      "/client/v4/accounts/*/workers/scripts/*",
      "deploys a Worker",
      "roll back to the version before",
    ),
    final("DELETE", "/client/v4/accounts/*/workers/scripts/*", "deletes a Worker", {
      floor: "delete",
    }),
    final("PUT|DELETE", "/client/v4/accounts/*/workers/scripts/*/secrets/**", "changes a secret", {
      floor: "credential",
    }),
    undoable("POST", "/client/v4/accounts/*/pages/projects/*/deployments", "deploys", "roll back"),
    final("DELETE", "/client/v4/accounts/*/r2/buckets/*", "deletes a bucket", { floor: "delete" }),
    final("DELETE", "/client/v4/accounts/*/storage/kv/namespaces/**", "deletes keys", {
      floor: "delete",
    }),
    final("DELETE", "/client/v4/accounts/*/d1/database/*", "deletes a database", {
      floor: "delete",
    }),
    final("POST", "/client/v4/accounts/*/d1/database/*/query", "runs SQL"),
    final("POST|PUT|DELETE", "/client/v4/user/tokens/**", "changes tokens", {
      floor: "credential",
    }),
  ],
};

/** DigitalOcean. */
export const digitalOcean: Service = {
  id: "digitalocean",
  name: "DigitalOcean",
  hosts: ["api.digitalocean.com"],
  documentation: "https://docs.digitalocean.com/reference/api/",
  calls: [
    final("POST", "/v2/droplets", "creates a server that costs money", { floor: "payment" }),
    final("DELETE", "/v2/droplets/**", "destroys servers", { floor: "delete" }),
    final("DELETE", "/v2/volumes/**", "destroys a volume", { floor: "delete" }),
    final("DELETE", "/v2/databases/**", "destroys a database", { floor: "delete" }),
    undoable(
      "POST|PUT|PATCH|DELETE",
      "/v2/domains/*/records/**",
      "changes DNS records",
      "change them back",
    ),
    undoable("POST", "/v2/apps/*/deployments", "deploys", "roll back"),
  ],
};

/** Fly.io's Machines API. */
export const fly: Service = {
  id: "fly",
  name: "Fly.io",
  hosts: ["api.machines.dev", "api.fly.io"],
  documentation: "https://fly.io/docs/machines/api/",
  calls: [
    final("DELETE", "/v1/apps/*", "deletes an app", { floor: "delete" }),
    final("DELETE", "/v1/apps/*/machines/*", "destroys a machine", { floor: "delete" }),
    final("DELETE", "/v1/apps/*/volumes/*", "destroys a volume", { floor: "delete" }),
    undoable("POST", "/v1/apps/*/machines/*/start", "starts a machine", "stop it"),
    undoable("POST", "/v1/apps/*/machines/*/stop", "stops a machine", "start it"),
    undoable("POST", "/v1/apps/*/machines/*", "changes a machine", "set the image before"),
    final("POST", "/v1/apps/*/machines/*/exec", "runs a command in a machine"),
    undoable("POST", "/v1/apps", "creates an app", "delete the app"),
  ],
};

/** Supabase's management API; a project's own data API is on its own host. */
export const supabase: Service = {
  id: "supabase",
  name: "Supabase",
  hosts: ["api.supabase.com", "*.supabase.co"],
  documentation: "https://supabase.com/docs/reference/api/introduction",
  calls: [
    final("DELETE", "/v1/projects/*", "deletes a project with its database", { floor: "delete" }),
    final("POST", "/v1/projects/*/database/query", "runs SQL"),
    undoable("POST", "/v1/projects/*/pause", "pauses a project", "restore it within 90 days"),
    final("POST", "/v1/projects/*/restore", "restores a project"),
    final("POST|DELETE", "/v1/projects/*/secrets", "changes secrets", { floor: "credential" }),
    reads("HEAD", "/rest/v1/**", "reads rows"),
    final("DELETE", "/rest/v1/*", "deletes every row that the filter selects", { floor: "delete" }),
    final("PATCH", "/rest/v1/*", "changes every row that the filter selects"),
    final("POST", "/rest/v1/rpc/*", "calls a database function"),
    final("POST", "/rest/v1/*", "inserts rows", { count: { at: "", unit: "records" } }),
  ],
};
