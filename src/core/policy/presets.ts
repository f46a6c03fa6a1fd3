/**
 * Lists that a user policy switches on by name. A preset of hosts allows *reading* there and nothing else: fetching a
 * package or a page sends little more than its own name. Hosts where anybody can receive what others ask for (paste
 * sites, request bins, object stores, general web search) are left out.
 */
export interface Preset {
  readonly id: PresetId;
  readonly title: string;
  readonly reason: string;
  /** Hosts whose reads are allowed: exact, or `*.example.com`. */
  readonly reads: readonly string[];
  /** Crossings that are allowed without asking, floors excepted. */
  readonly allows?: "recoverable" | "comments";
  /** On when a policy names no presets. */
  readonly byDefault: boolean;
}

export const presetIds = [
  "registries",
  "system-packages",
  "code-hosts",
  "documentation",
  "recoverable",
  "comments",
] as const;

export type PresetId = (typeof presetIds)[number];

export const presets: readonly Preset[] = [
  {
    id: "registries",
    title: "Package registries",
    reason: "fetching packages is how projects are built; names and versions are all that leaves",
    byDefault: true,
    reads: [
      "registry.npmjs.org",
      "registry.yarnpkg.com",
      "repo.yarnpkg.com",
      "npm.jsr.io",
      "jsr.io",
      "deno.land",
      "pypi.org",
      "files.pythonhosted.org",
      "index.crates.io",
      "static.crates.io",
      "crates.io",
      "static.rust-lang.org",
      "proxy.golang.org",
      "sum.golang.org",
      "go.dev",
      "dl.google.com",
      "rubygems.org",
      "index.rubygems.org",
      "repo.maven.apache.org",
      "repo1.maven.org",
      "maven.google.com",
      "plugins.gradle.org",
      "services.gradle.org",
      "api.nuget.org",
      "repo.packagist.org",
      "packagist.org",
      "repo.hex.pm",
      "hex.pm",
      "pub.dev",
      "conda.anaconda.org",
      "repo.anaconda.com",
      "hackage.haskell.org",
      "cpan.metacpan.org",
      "cdn.playwright.dev",
      "nodejs.org",
    ],
  },
  {
    id: "system-packages",
    title: "Packages of operating systems",
    reason: "signed archives that are mirrored in public",
    byDefault: true,
    reads: [
      "deb.debian.org",
      "security.debian.org",
      "archive.ubuntu.com",
      "security.ubuntu.com",
      "ports.ubuntu.com",
      "dl-cdn.alpinelinux.org",
      "mirrors.fedoraproject.org",
      "dl.fedoraproject.org",
      "formulae.brew.sh",
      "cache.nixos.org",
    ],
  },
  {
    id: "code-hosts",
    title: "Code hosts",
    reason: "cloning and reading repositories, issues and pull requests",
    byDefault: true,
    reads: [
      "github.com",
      "api.github.com",
      "codeload.github.com",
      "raw.githubusercontent.com",
      "objects.githubusercontent.com",
      "release-assets.githubusercontent.com",
      "gitlab.com",
      "bitbucket.org",
      "api.bitbucket.org",
      "codeberg.org",
      "git.sr.ht",
    ],
  },
  {
    id: "documentation",
    title: "Documentation",
    reason: "reading the manuals of languages and tools",
    byDefault: true,
    reads: [
      "developer.mozilla.org",
      "docs.python.org",
      "doc.rust-lang.org",
      "docs.rs",
      "pkg.go.dev",
      "www.typescriptlang.org",
      "react.dev",
      "nextjs.org",
      "vuejs.org",
      "svelte.dev",
      "angular.dev",
      "vite.dev",
      "vitest.dev",
      "docs.npmjs.com",
      "docs.github.com",
      "docs.gitlab.com",
      "git-scm.com",
      "code.visualstudio.com",
      "learn.microsoft.com",
      "docs.oracle.com",
      "kotlinlang.org",
      "www.postgresql.org",
      "www.sqlite.org",
      "docs.docker.com",
      "kubernetes.io",
      "docs.aws.amazon.com",
      "cloud.google.com",
      "developer.hashicorp.com",
      "readthedocs.org",
      "www.rfc-editor.org",
      "www.w3.org",
      "modelcontextprotocol.io",
    ],
  },
  {
    id: "recoverable",
    title: "What the platform can take back",
    reason: "new branches, pull requests, issues: undone on the platform when they were wrong",
    byDefault: false,
    reads: [],
    allows: "recoverable",
  },
  {
    id: "comments",
    title: "Comments on code hosts",
    reason: "comments and replies are mailed at once and cannot be called back, but do little harm",
    byDefault: false,
    reads: [],
    allows: "comments",
  },
];

/** Programs that report about themselves: refused without asking, unless a rule of the user allows it. */
export const telemetryHosts: readonly string[] = [
  "statsig.anthropic.com",
  "statsig.com",
  "api.statsig.com",
  "featureassets.org",
  "prodregistryv2.org",
  "http-intake.logs.datadoghq.com",
  "http-intake.logs.us5.datadoghq.com",
  "browser-intake-us5-datadoghq.com",
  "play.googleapis.com",
  "telemetry.nextjs.org",
  "telemetry.vercel.com",
  "api.segment.io",
  "us.i.posthog.com",
  "eu.i.posthog.com",
  "www.google-analytics.com",
];
