import { discord, slack } from "./chat.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { gmail, googleCloud, googleDrive } from "./google.ts";
import {
  cloudflare,
  digitalOcean,
  fly,
  heroku,
  netlify,
  railway,
  supabase,
  vercel,
} from "./hosting.ts";
import { mailgun, resend, sendgrid, twilio } from "./mail.ts";
import { datadog, openai, pagerDuty, sentry } from "./operations.ts";
import { paypal, stripe } from "./payments.ts";
import { containers, crates, npmRegistry, otherRegistries, pypi, rubyGems } from "./registries.ts";
import { hubspot, intercom, salesforce, shopify } from "./sales.ts";
import type { Service } from "./service.ts";
import { asana, jira, linear, notion, trello } from "./trackers.ts";

/** Every API that the built-in policy knows; a host belongs to the first that names it. */
export const services: readonly Service[] = [
  github,
  gitlab,
  slack,
  discord,
  stripe,
  paypal,
  linear,
  jira,
  notion,
  asana,
  trello,
  hubspot,
  salesforce,
  intercom,
  shopify,
  sendgrid,
  mailgun,
  resend,
  twilio,
  railway,
  vercel,
  netlify,
  heroku,
  cloudflare,
  digitalOcean,
  fly,
  supabase,
  gmail,
  googleDrive,
  googleCloud,
  sentry,
  pagerDuty,
  datadog,
  openai,
  npmRegistry,
  pypi,
  crates,
  rubyGems,
  containers,
  otherRegistries,
];
