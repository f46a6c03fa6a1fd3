import type { DocumentedCall } from "./documentedCalls.ts";

/** The same for senders, hosting, operations and registries. */
export const documentedInfrastructure: Readonly<Record<string, readonly DocumentedCall[]>> = {
  sendgrid: [
    [
      "POST https://api.sendgrid.com/v3/mail/send",
      "final",
      { personalizations: [{ to: [{ email: "a@example.com" }] }] },
    ],
    ["POST https://api.sendgrid.com/v3/api_keys", "final!", { name: "My API Key" }],
  ],
  mailgun: [
    ["POST https://api.mailgun.net/v3/example.com/messages", "final", "to=a@example.com&text=x"],
    ["DELETE https://api.mailgun.net/v3/domains/example.com", "final!"],
  ],
  resend: [
    ["POST https://api.resend.com/emails", "final", { to: ["a@example.com"] }],
    ["POST https://api.resend.com/emails/49a3/cancel", "send it again"],
  ],
  twilio: [
    [
      "POST https://api.twilio.com/2010-04-01/Accounts/ACx/Messages.json",
      "final",
      "To=%2B15558675310&Body=Hi",
    ],
    [
      "DELETE https://api.twilio.com/2010-04-01/Accounts/ACx/IncomingPhoneNumbers/PNx.json",
      "buy it back within 10 days, if it is still free",
    ],
  ],
  railway: [
    ["POST https://backboard.railway.com/graphql/v2", "read", { query: "query { me { name } }" }],
    [
      "POST https://backboard.railway.com/graphql/v2",
      "final!",
      { query: 'mutation { volumeDelete(volumeId: "3d2c42fb") }' },
    ],
    [
      "POST https://backboard.railway.com/graphql/v2",
      "deploymentRollback",
      { query: 'mutation { deploymentRedeploy(id: "1") { id } }' },
    ],
  ],
  vercel: [
    [
      "POST https://api.vercel.com/v13/deployments",
      "roll back to the deployment before",
      { name: "my-app" },
    ],
    ["DELETE https://api.vercel.com/v9/projects/prj_12", "final!"],
  ],
  netlify: [
    ["POST https://api.netlify.com/api/v1/sites/s/deploys", "restore the deploy before", {}],
    ["DELETE https://api.netlify.com/api/v1/sites/s", "final!"],
  ],
  heroku: [
    ["DELETE https://api.heroku.com/apps/example", "final!"],
    [
      "POST https://api.heroku.com/apps/example/releases",
      "roll back again",
      { release: "01234567" },
    ],
    ["PATCH https://api.heroku.com/apps/example/formation/web", "scale back", { quantity: 1 }],
  ],
  cloudflare: [
    ["DELETE https://api.cloudflare.com/client/v4/zones/023e/dns_records/372e", "change them back"],
    ["DELETE https://api.cloudflare.com/client/v4/zones/023e", "final!"],
    [
      "POST https://api.cloudflare.com/client/v4/zones/023e/purge_cache",
      "final",
      { purge_everything: true },
    ],
  ],
  digitalocean: [
    ["DELETE https://api.digitalocean.com/v2/droplets/3164494", "final!"],
    [
      "POST https://api.digitalocean.com/v2/domains/example.com/records",
      "change them back",
      { type: "A" },
    ],
  ],
  fly: [
    ["POST https://api.machines.dev/v1/apps/my-app/machines/73d8/stop", "start it"],
    ["DELETE https://api.machines.dev/v1/apps/my-app/volumes/vol_1", "final!"],
  ],
  supabase: [
    ["GET https://abc.supabase.co/rest/v1/people?select=*", "read"],
    ["DELETE https://abc.supabase.co/rest/v1/people?age=lt.13", "final!"],
    ["POST https://api.supabase.com/v1/projects/abc/pause", "restore it within 90 days"],
  ],
  gmail: [
    [
      "POST https://gmail.googleapis.com/gmail/v1/users/me/messages/send",
      "final",
      { raw: "RnJvbTog" },
    ],
    [
      "POST https://gmail.googleapis.com/gmail/v1/users/me/messages/1/trash",
      "untrash within 30 days",
    ],
    [
      "POST https://gmail.googleapis.com/gmail/v1/users/me/messages/batchDelete",
      "final!",
      { ids: ["1"] },
    ],
  ],
  "google-drive": [
    ["DELETE https://www.googleapis.com/drive/v3/files/1a", "final!"],
    [
      "PATCH https://www.googleapis.com/drive/v3/files/1a",
      "take it out of the trash within 30 days",
      { trashed: true },
    ],
    ["POST https://www.googleapis.com/drive/v3/files/1a/permissions", "final!", { role: "reader" }],
    [
      "POST https://docs.googleapis.com/v1/documents/1a:batchUpdate",
      "restore it from the version history",
      { requests: [] },
    ],
  ],
  "google-cloud": [
    [
      "DELETE https://cloudresourcemanager.googleapis.com/v3/projects/415104041262",
      "restore it within 30 days",
    ],
    ["DELETE https://storage.googleapis.com/storage/v1/b/my-bucket", "final!"],
    [
      "GET https://secretmanager.googleapis.com/v1/projects/p/secrets/s/versions/1:access",
      "final!",
    ],
  ],
  sentry: [
    [
      "PUT https://sentry.io/api/0/organizations/acme/issues/123/",
      "change them back",
      { status: "resolved" },
    ],
    ["DELETE https://sentry.io/api/0/organizations/acme/issues/123/", "final!"],
  ],
  pagerduty: [
    ["POST https://events.pagerduty.com/v2/enqueue", "final", { event_action: "trigger" }],
    [
      "POST https://api.pagerduty.com/incidents/PT4/snooze",
      "acknowledge or trigger it again",
      { duration: 3600 },
    ],
  ],
  datadog: [
    ["POST https://api.datadoghq.com/api/v2/logs/events/search", "read", { filter: {} }],
    ["DELETE https://api.datadoghq.com/api/v1/monitor/91", "final!"],
  ],
  openai: [
    ["POST https://api.openai.com/v1/responses", "final", { model: "m", input: "x" }],
    ["POST https://api.openai.com/v1/fine_tuning/jobs", "final!", { model: "m" }],
  ],
  npm: [
    ["GET https://registry.npmjs.org/zod", "read"],
    [
      "POST https://registry.npmjs.org/-/npm/v1/security/advisories/bulk",
      "read",
      { zod: ["4.0.0"] },
    ],
    [
      "PUT https://registry.npmjs.org/demo",
      "final!",
      {
        _id: "demo",
        name: "demo",
        versions: { "1.0.0": {} },
        _attachments: { "demo-1.0.0.tgz": {} },
      },
    ],
    ["DELETE https://registry.npmjs.org/demo/-rev/1-a", "final!"],
  ],
  pypi: [
    ["GET https://pypi.org/simple/requests/", "read"],
    ["POST https://upload.pypi.org/legacy/", "final!", ":action=file_upload&name=demo"],
  ],
  crates: [
    ["GET https://crates.io/api/v1/crates/serde", "read"],
    ["PUT https://crates.io/api/v1/crates/new", "final!", "x"],
    ["DELETE https://crates.io/api/v1/crates/demo/1.0.0/yank", "cargo yank --undo"],
  ],
  rubygems: [
    ["POST https://rubygems.org/api/v1/gems", "final!", "x"],
    ["GET https://rubygems.org/api/v1/gems/rails.json", "read"],
  ],
  containers: [
    ["GET https://registry-1.docker.io/v2/library/debian/manifests/12", "read"],
    ["PUT https://ghcr.io/v2/acme/app/manifests/latest", "final!", { schemaVersion: 2 }],
    ["POST https://ghcr.io/v2/acme/app/blobs/uploads/", "final!"],
  ],
  registries: [
    ["PUT https://www.nuget.org/api/v2/package", "final!", "x"],
    [
      "POST https://marketplace.visualstudio.com/_apis/public/gallery/extensionquery",
      "read",
      { filters: [] },
    ],
  ],
};
