import { matchesHost } from "../policy/glob.ts";

/** What can be taken back on a platform, and until when. */
export interface UndoWindow {
  readonly what: string;
  readonly until: string;
}

/**
 * Where a credential of one platform is revoked, and what it lets one undo. Data only, from the platform's public
 * documentation (`sources`); a person reads it in the minutes after an emergency stop, so the links lead to the very page.
 */
export interface Platform {
  readonly name: string;
  /** Exact, or `*.example.com`. */
  readonly hosts: readonly string[];
  readonly revoke: readonly { readonly what: string; readonly url: string }[];
  readonly undo: readonly UndoWindow[];
  /** Where the platform itself tells what was done in one's name. */
  readonly audit?: string;
  readonly sources: readonly string[];
}

const never = "cannot be taken back";

export const platforms: readonly Platform[] = [
  {
    name: "GitHub",
    hosts: ["github.com", "*.github.com", "api.githubcopilot.com", "ghcr.io"],
    revoke: [
      { what: "personal access tokens", url: "https://github.com/settings/tokens" },
      { what: "authorized apps", url: "https://github.com/settings/applications" },
      { what: "SSH keys", url: "https://github.com/settings/keys" },
    ],
    undo: [
      { what: "a deleted repository", until: "90 days, unless it belongs to a fork network" },
      { what: "a deleted package version", until: "30 days" },
      { what: "a deleted branch", until: "from its pull request, or by pushing the commit again" },
      { what: "a force push", until: "as long as somebody has the old commit" },
      { what: "comments, mentions, reviews", until: never },
    ],
    audit: "https://github.com/settings/security-log",
    sources: [
      "https://docs.github.com/en/repositories/creating-and-managing-repositories/restoring-a-deleted-repository",
      "https://docs.github.com/en/packages/learn-github-packages/deleting-and-restoring-a-package",
      "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/reviewing-your-security-log",
    ],
  },
  {
    name: "GitLab",
    hosts: ["gitlab.com", "*.gitlab.com"],
    revoke: [
      {
        what: "personal access tokens",
        url: "https://gitlab.com/-/user_settings/personal_access_tokens",
      },
      { what: "SSH keys", url: "https://gitlab.com/-/user_settings/ssh_keys" },
    ],
    undo: [
      { what: "a deleted project or group", until: "30 days on GitLab.com; own servers decide" },
      { what: "comments and mails about them", until: never },
    ],
    audit: "https://gitlab.com/-/user_settings/authentication_log",
    sources: [
      "https://docs.gitlab.com/user/profile/personal_access_tokens/",
      "https://docs.gitlab.com/user/project/working_with_projects/",
    ],
  },
  {
    name: "npm",
    hosts: ["*.npmjs.org", "*.npmjs.com"],
    revoke: [
      {
        what: "access tokens (or `npm token revoke`)",
        url: "https://www.npmjs.com/settings/~/tokens",
      },
    ],
    undo: [
      { what: "a published version", until: "72 hours, while no other package depends on it" },
      { what: "its name and version", until: "never free again; deprecate it instead" },
    ],
    sources: [
      "https://docs.npmjs.com/policies/unpublish",
      "https://docs.npmjs.com/revoking-access-tokens",
    ],
  },
  {
    name: "PyPI",
    hosts: ["pypi.org", "upload.pypi.org", "test.pypi.org"],
    revoke: [{ what: "API tokens", url: "https://pypi.org/manage/account/#api-tokens" }],
    undo: [
      { what: "a release", until: "can be yanked at any time; a file's name is never free again" },
    ],
    sources: [
      "https://docs.pypi.org/project-management/yanking/",
      "https://pypi.org/help/#apitoken",
    ],
  },
  {
    name: "crates.io",
    hosts: ["crates.io", "*.crates.io"],
    revoke: [{ what: "API tokens", url: "https://crates.io/settings/tokens" }],
    undo: [{ what: "a version", until: "can be yanked at any time, not deleted" }],
    sources: ["https://doc.rust-lang.org/cargo/commands/cargo-yank.html"],
  },
  {
    name: "AWS",
    hosts: ["*.amazonaws.com", "*.aws.amazon.com", "*.api.aws"],
    revoke: [
      { what: "access keys", url: "https://console.aws.amazon.com/iam/home#/security_credentials" },
      {
        what: "sessions of a role",
        url: "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_revoke-sessions.html",
      },
    ],
    undo: [
      { what: "a deleted secret", until: "7 to 30 days, unless deleted without recovery" },
      { what: "a key scheduled for deletion", until: "7 to 30 days" },
      { what: "an overwritten or deleted object", until: "where the bucket keeps versions" },
      { what: "a terminated instance, a dropped database without a snapshot", until: never },
    ],
    audit: "https://console.aws.amazon.com/cloudtrail/home",
    sources: [
      "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys-admin-managed.html",
      "https://docs.aws.amazon.com/secretsmanager/latest/userguide/manage_delete-secret.html",
      "https://docs.aws.amazon.com/kms/latest/developerguide/deleting-keys.html",
    ],
  },
  {
    name: "Google Cloud and Workspace",
    hosts: ["*.googleapis.com", "accounts.google.com"],
    revoke: [
      {
        what: "API keys and service accounts",
        url: "https://console.cloud.google.com/apis/credentials",
      },
      { what: "apps with access to the account", url: "https://myaccount.google.com/connections" },
      { what: "Gemini API keys", url: "https://aistudio.google.com/app/apikey" },
    ],
    undo: [
      { what: "a deleted project", until: "30 days" },
      { what: "a deleted service account", until: "30 days" },
      { what: "a file in the Drive trash", until: "30 days" },
      { what: "sent mail", until: never },
    ],
    audit: "https://console.cloud.google.com/logs",
    sources: [
      "https://cloud.google.com/resource-manager/docs/creating-managing-projects",
      "https://cloud.google.com/iam/docs/service-accounts-delete-undelete",
      "https://support.google.com/drive/answer/2375102",
    ],
  },
  {
    name: "Stripe",
    hosts: ["*.stripe.com"],
    revoke: [{ what: "API keys (roll them)", url: "https://dashboard.stripe.com/apikeys" }],
    undo: [
      { what: "a payment", until: "can be refunded; the fee is not returned" },
      { what: "an uncaptured payment", until: "until it is captured, about 7 days" },
      { what: "a payout that is on its way", until: never },
    ],
    audit: "https://dashboard.stripe.com/logs",
    sources: ["https://docs.stripe.com/keys", "https://docs.stripe.com/refunds"],
  },
  {
    name: "Slack",
    hosts: ["slack.com", "*.slack.com"],
    revoke: [{ what: "tokens and webhooks of an app", url: "https://api.slack.com/apps" }],
    undo: [{ what: "a message", until: "can be deleted; who was notified has seen it" }],
    sources: ["https://docs.slack.dev/reference/methods/auth.revoke"],
  },
  {
    name: "OpenAI",
    hosts: ["*.openai.com"],
    revoke: [{ what: "API keys", url: "https://platform.openai.com/api-keys" }],
    undo: [{ what: "what was sent to the model", until: never }],
    audit: "https://platform.openai.com/usage",
    sources: ["https://platform.openai.com/docs/api-reference/authentication"],
  },
  {
    name: "Anthropic",
    hosts: ["*.anthropic.com", "*.claude.com"],
    revoke: [{ what: "API keys", url: "https://console.anthropic.com/settings/keys" }],
    undo: [{ what: "what was sent to the model", until: never }],
    audit: "https://console.anthropic.com/usage",
    sources: ["https://docs.anthropic.com/en/api/admin-api/apikeys/get-api-key"],
  },
  {
    name: "HubSpot",
    hosts: ["*.hubapi.com", "*.hubspot.com"],
    revoke: [
      { what: "access tokens of private apps", url: "https://app.hubspot.com/l/private-apps/" },
    ],
    undo: [
      { what: "deleted or archived records", until: "90 days, from the recycle bin" },
      { what: "permanent deletions", until: never },
    ],
    sources: ["https://knowledge.hubspot.com/records/restore-deleted-records"],
  },
  {
    name: "Salesforce",
    hosts: ["*.salesforce.com", "*.force.com"],
    revoke: [
      {
        what: "connected apps and their tokens",
        url: "https://login.salesforce.com/lightning/setup/ConnectedAppsUsage/home",
      },
    ],
    undo: [{ what: "deleted records", until: "15 days, from the recycle bin" }],
    sources: ["https://help.salesforce.com/s/articleView?id=sf.recycle_bin.htm"],
  },
  {
    name: "Atlassian (Jira, Trello)",
    hosts: ["*.atlassian.net", "*.atlassian.com", "api.trello.com"],
    revoke: [
      { what: "API tokens", url: "https://id.atlassian.com/manage-profile/security/api-tokens" },
    ],
    undo: [
      { what: "a deleted Jira issue", until: never },
      { what: "an archived card or issue", until: "can be restored" },
    ],
    sources: [
      "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/",
    ],
  },
  {
    name: "Linear",
    hosts: ["*.linear.app"],
    revoke: [{ what: "API keys", url: "https://linear.app/settings/account/security" }],
    undo: [{ what: "a deleted issue", until: "30 days" }],
    sources: ["https://linear.app/docs/delete-archive-issues"],
  },
  {
    name: "Cloudflare",
    hosts: ["*.cloudflare.com"],
    revoke: [{ what: "API tokens", url: "https://dash.cloudflare.com/profile/api-tokens" }],
    undo: [{ what: "DNS records, purged caches", until: "no undo; set them again" }],
    audit: "https://dash.cloudflare.com/?to=/:account/audit-log",
    sources: ["https://developers.cloudflare.com/fundamentals/api/get-started/create-token/"],
  },
  {
    name: "Vercel",
    hosts: ["*.vercel.com"],
    revoke: [{ what: "access tokens", url: "https://vercel.com/account/settings/tokens" }],
    undo: [{ what: "a deployment", until: "roll back to an earlier one at any time" }],
    sources: ["https://vercel.com/docs/instant-rollback"],
  },
  {
    name: "Railway",
    hosts: ["*.railway.app", "*.railway.com"],
    revoke: [{ what: "tokens", url: "https://railway.com/account/tokens" }],
    undo: [{ what: "a deleted volume", until: "48 hours, by the link in the mail about it" }],
    sources: ["https://docs.railway.com/reference/volumes"],
  },
  {
    name: "Docker Hub",
    hosts: ["*.docker.io", "*.docker.com"],
    revoke: [
      { what: "access tokens", url: "https://app.docker.com/settings/personal-access-tokens" },
    ],
    undo: [{ what: "an overwritten or deleted tag", until: "push it again" }],
    sources: ["https://docs.docker.com/security/access-tokens/"],
  },
  {
    name: "SendGrid",
    hosts: ["*.sendgrid.com"],
    revoke: [{ what: "API keys", url: "https://app.sendgrid.com/settings/api_keys" }],
    undo: [{ what: "sent mail", until: never }],
    sources: ["https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys"],
  },
  {
    name: "Twilio",
    hosts: ["*.twilio.com"],
    revoke: [
      { what: "API keys", url: "https://console.twilio.com/us1/account/keys-credentials/api-keys" },
    ],
    undo: [{ what: "sent messages and calls", until: never }],
    sources: ["https://www.twilio.com/docs/iam/api-keys"],
  },
  {
    name: "Hugging Face",
    hosts: ["huggingface.co", "*.huggingface.co"],
    revoke: [{ what: "access tokens", url: "https://huggingface.co/settings/tokens" }],
    undo: [{ what: "a deleted repository", until: never }],
    sources: ["https://huggingface.co/docs/hub/security-tokens"],
  },
];

/** The platform that a host belongs to, as far as it is known. */
export function platformOf(host: string): Platform | undefined {
  return platforms.find((one) => one.hosts.some((pattern) => matchesHost(pattern, host)));
}
