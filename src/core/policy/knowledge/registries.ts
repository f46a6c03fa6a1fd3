import { final, reads, type Service, undoable } from "./service.ts";

/** The npm registry; writes that are a publish, an unpublish or a tag are told apart by their body. */
export const npmRegistry: Service = {
  id: "npm",
  name: "npm",
  hosts: ["registry.npmjs.org", "registry.yarnpkg.com", "npm.pkg.github.com"],
  documentation: "https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md",
  calls: [
    reads(
      "POST",
      "/-/npm/v1/security/advisories/bulk",
      "asks for known weaknesses of the packages",
    ),
    reads("POST", "/-/npm/v1/security/audits/quick", "asks for known weaknesses of the packages"),
    reads("POST", "/-/npm/v1/security/audits", "asks for known weaknesses of the packages"),
    final("PUT", "/-/package/*/dist-tags/*", "moves a tag of a package", { floor: "publish" }),
    final("DELETE", "/-/package/*/dist-tags/*", "removes a tag of a package", { floor: "publish" }),
    final("POST|PUT|DELETE", "/-/npm/v1/tokens/**", "changes tokens", { floor: "credential" }),
    final("PUT", "/-/user/**", "logs in", { floor: "credential" }),
    final("POST", "/-/v1/login", "logs in", { floor: "credential" }),
    final("DELETE", "/**", "unpublishes", { floor: "publish" }),
    final("PUT|POST", "/**", "publishes", { floor: "publish" }),
  ],
};

/** PyPI: a version's file can never be replaced, and a deleted name may be taken. */
export const pypi: Service = {
  id: "pypi",
  name: "PyPI",
  hosts: ["upload.pypi.org", "test.pypi.org", "pypi.org"],
  documentation: "https://docs.pypi.org/api/upload/",
  calls: [
    final("POST", "/legacy", "publishes a package file", { floor: "publish" }),
    reads("POST", "/pypi", "asks the old index"),
    final("POST|PUT|DELETE", "/**", "changes a project", { floor: "publish" }),
  ],
};

/** crates.io: publishing is for good; a yank can be undone. */
export const crates: Service = {
  id: "crates",
  name: "crates.io",
  hosts: ["crates.io"],
  documentation: "https://doc.rust-lang.org/cargo/reference/registry-web-api.html",
  calls: [
    final("PUT", "/api/v1/crates/new", "publishes a crate for good", { floor: "publish" }),
    undoable("DELETE", "/api/v1/crates/*/*/yank", "yanks a version", "cargo yank --undo", {
      floor: "publish",
    }),
    undoable("PUT", "/api/v1/crates/*/*/unyank", "takes a yank back", "cargo yank", {
      floor: "publish",
    }),
    final("PUT|DELETE", "/api/v1/crates/*/owners", "changes owners", { floor: "credential" }),
    final("PUT|POST|DELETE", "/**", "changes crates.io", { floor: "publish" }),
  ],
};

/** RubyGems.org. */
export const rubyGems: Service = {
  id: "rubygems",
  name: "RubyGems",
  hosts: ["rubygems.org"],
  documentation: "https://guides.rubygems.org/rubygems-org-api/",
  calls: [
    final("POST", "/api/v1/gems", "publishes a gem", { floor: "publish" }),
    final("DELETE", "/api/v1/gems/yank", "yanks a version for good", { floor: "publish" }),
    final("POST|PUT|PATCH|DELETE", "/**", "changes RubyGems", { floor: "publish" }),
  ],
};

/** Registries of container images (the OCI distribution protocol). */
export const containers: Service = {
  id: "containers",
  name: "Container registry",
  hosts: [
    "registry-1.docker.io",
    "auth.docker.io",
    "hub.docker.com",
    "ghcr.io",
    "quay.io",
    "registry.gitlab.com",
    "*.pkg.dev",
    "public.ecr.aws",
    "*.azurecr.io",
  ],
  documentation: "https://github.com/opencontainers/distribution-spec/blob/main/spec.md",
  calls: [
    final("POST|PATCH|PUT", "/v2/**/blobs/uploads/**", "uploads a layer of an image", {
      floor: "publish",
    }),
    final("PUT", "/v2/**/manifests/*", "publishes an image tag", { floor: "publish" }),
    final("DELETE", "/v2/**", "deletes an image", { floor: "delete" }),
    final("POST", "/v2/users/login", "logs in", { floor: "credential" }),
    final("POST|PUT|PATCH|DELETE", "/v2/repositories/**", "changes a repository", {
      floor: "publish",
    }),
  ],
};

/** NuGet, Maven Central, Packagist, Hex, the VS Code marketplace and Open VSX: publishing only. */
export const otherRegistries: Service = {
  id: "registries",
  name: "Package registry",
  hosts: [
    "www.nuget.org",
    "api.nuget.org",
    "central.sonatype.com",
    "oss.sonatype.org",
    "s01.oss.sonatype.org",
    "packagist.org",
    "hex.pm",
    "marketplace.visualstudio.com",
    "open-vsx.org",
    "jsr.io",
    "api.jsr.io",
    "deno.land",
  ],
  documentation: "https://learn.microsoft.com/nuget/api/package-publish-resource",
  calls: [
    reads("POST", "/_apis/public/gallery/extensionquery", "searches extensions"),
    reads("POST", "/vscode/gallery/extensionquery", "searches extensions"),
    final("POST|PUT|PATCH|DELETE", "/**", "publishes or changes a package", { floor: "publish" }),
  ],
};
