/**
 * Names of files that take effect by themselves: something on the developer's machine reads them at the next ordinary
 * event (opening the folder, a commit, an install, a build, a push) and runs what they say. Data only.
 *
 * A name with `/` matches that run of whole segments anywhere in a path; one that ends in `/` matches a folder with all
 * that is in it; any other matches the last segment. `*` stands for any characters but `/`. Matching is on the folded
 * path (see pathRules), so every name here is lower case.
 */
export interface NameRule {
  readonly why: string;
  readonly names: readonly string[];
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

export const nameRules: readonly NameRule[] = [
  {
    why: "git reads it: attributes, submodules and filters act at the next checkout, diff or fetch",
    names: words(
      ".gitattributes .gitmodules .gitconfig .lfsconfig .gitreview .git-crypt/ .gitallowed",
    ),
  },
  {
    why: "git hooks or their tool: runs at the next commit, checkout or push",
    names: words(`
      .husky/ .githooks/ .git-hooks/ .git_hooks/ githooks/ git-hooks/ .hooks/ .huskyrc .huskyrc.* husky.config.*
      lefthook.y*ml .lefthook.y*ml lefthook.toml .lefthook.toml lefthook.json .lefthook.json lefthook-local.*
      .lefthook-local.* .lefthook/ .lefthook-local/ .pre-commit-config.y*ml .pre-commit-hooks.y*ml pre-commit.toml
      prek.toml .overcommit.yml .overcommit/ .git-hooks.* .simple-git-hooks.* simple-git-hooks.* captainhook.json
      grumphp.yml grumphp.yml.dist .grumphp/ rusty-hook.toml .rusty-hook.toml .lintstagedrc .lintstagedrc.*
      lint-staged.config.* commitlint.config.* .commitlintrc .commitlintrc.* .czrc .cz.* .cz-config.js hk.pkl
      .cargo-husky/ .hookman.yml .talismanrc .yorkie/ .ghooks/ nano-staged.* .nano-staged.* .nanostagedrc`),
  },
  {
    why: "editor configuration: tasks, settings or debuggers act when the folder is opened",
    names: words(`
      .vscode/ .vscode-test.* .vscode-insiders/ *.code-workspace .code-workspace .idea/ *.iml *.ipr *.iws .run/
      .fleet/ .zed/ .vs/ *.suo *.user .settings/ .project .classpath .factorypath .cproject nbproject/ .nova/ .helix/
      .kakrc .kak/ .nvim.lua .nvimrc .nvim/ .exrc .vimrc .gvimrc .vim/ .lvimrc .local.vimrc .lnvimrc *.sublime-project
      *.sublime-workspace *.sublime-settings .dir-locals.el .dir-locals-2.el .projectile .emacs .emacs.d/
      .emacs.desktop .theia/ .lapce/ .lite_project.lua .lite/ .geany .kateproject .kateconfig .dap.json launch.json
      .devcontainer/ .devcontainer.json devcontainer.json .gitpod.y*ml .gitpod/ .gitpod.dockerfile .replit .idx/
      .codesandbox/ .stackblitzrc .jupyter/ .ipython/ .bloop/ .metals/ *.xcworkspace/ *.xcodeproj/ *.xcscheme
      .swiftpm/ .buildserver.json .ccls .clangd .nvim-dap.* .vimspector.json coc-settings.json .neoconf.json`),
  },
  {
    why: "instructions or tools for coding agents: the next agent on this machine follows them",
    names: words(`
      claude.md claude.local.md .claude/ .claude.json .claude-plugin/ agents.md agents.override.md agent.md .agents/
      .agent/ gemini.md .gemini/ .geminiignore qwen.md .qwen/ .codex/ codex.md .mcp.json mcp.json .mcp/ mcp.y*ml
      mcp_config.json mcp-config.json .cursor/ .cursorrules .cursorignore .windsurf/ .windsurfrules .codeium/
      .clinerules .clinerules/ .cline/ .clineignore .roo/ .roomodes .roorules .roorules-* .rooignore .kilocode/
      .kilocodemodes .kilocoderules .continue/ .continuerc.json .continuerules .aider* .opencode/ opencode.json
      opencode.jsonc .amp/ .ampcode/ .augment/ .augment-guidelines .junie/ .kiro/ .trae/ .goose/ .goosehints
      .openhands/ .openhands_instructions .factory/ .crush.json crush.json .crush/ crush.md .rules .cody/ .sourcegraph/
      .tabnine/ warp.md .warp/ .qodo/ .grok/ .devin/ .pi/ .sweep.y*ml sweep.y*ml .plandex/ .plandex-v2/ .void/
      .antigravity/ .firebender/ firebender.json .bolt/ .lovable/ .github/copilot-instructions.md
      .github/instructions/ .github/prompts/ .github/chatmodes/ .github/agents/ .github/skills/ .github/hooks/
      .github/mcp.json copilot-instructions.md *.instructions.md *.prompt.md *.chatmode.md *.agent.md skill.md
      .holdfast/ llms.txt .cursorindexingignore .prompts/ .ai/ .aiassistant/ .aiignore .smithery/ smithery.y*ml`),
  },
  {
    why: "continuous integration or deployment: runs on other machines after the next push",
    names: words(`
      .github/workflows/ .github/actions/ .github/dependabot.y*ml .github/codeowners codeowners action.y*ml
      renovate.json renovate.json5 .renovaterc .renovaterc.json .renovaterc.json5 .github/renovate.json
      .github/renovate.json5 dependabot.y*ml .gitlab-ci.y*ml *.gitlab-ci.y*ml .gitlab/ .circleci/ azure-pipelines*.y*ml
      .azure-pipelines/ .azuredevops/ .travis.y*ml jenkinsfile jenkinsfile.* *.jenkinsfile .jenkins/
      bitbucket-pipelines.y*ml .drone.y*ml .drone.star .drone.jsonnet .woodpecker.y*ml .woodpecker/ .buildkite/
      appveyor.y*ml .appveyor.y*ml .cirrus.y*ml .cirrus.star .teamcity/ cloudbuild.y*ml cloudbuild.json buildspec.y*ml
      appspec.y*ml .semaphore/ .forgejo/ .gitea/ .builds/ .build.y*ml codemagic.y*ml bitrise.y*ml netlify.toml
      vercel.json now.json fly.toml procfile app.json .tekton/ wercker.y*ml .harness/ earthfile dagger.json .dagger/
      .zuul.y*ml zuul.y*ml .zuul.d/ .prow.y*ml .ci/ .concourse/ render.y*ml railway.json railway.toml .platform/
      .platform.app.y*ml .upsun/ .ebextensions/ .elasticbeanstalk/ .goreleaser.y*ml .releaserc .releaserc.* release.config.*
      .release-it.* .semaphoreci/ codeship-*.y*ml .scrutinizer.y*ml .sourcehut/ .werft/ mergify.y*ml .mergify.y*ml
      .mergify/ .kokoro/ .changeset/config.json skaffold.y*ml tiltfile garden.y*ml werf.y*ml .copr/`),
  },
  {
    why: "environment of a directory: the shell, version manager or builder acts on entering it",
    names: words(`
      .envrc .envrc.* .direnv/ .direnvrc .autoenv .autoenv.zsh .autoenv_leave.zsh .env.zsh .env.leave
      mise.toml .mise.toml mise.*.toml .mise.*.toml .mise/ mise/ .config/mise.toml .config/mise/ .rtx.toml .rtx/
      .tool-versions .asdfrc .nvmrc .node-version .python-version .ruby-version .ruby-gemset .rvmrc .java-version
      .jvmrc .sdkmanrc .terraform-version .go-version .swift-version .php-version .perl-version .crystal-version
      flake.nix flake.lock shell.nix default.nix devbox.json devbox.lock devenv.nix devenv.y*ml devenv.lock .envrc.nix
      .flox/ pixi.toml pixi.lock .pkgx.y*ml .hermit/ .volta/ .proto/ .prototools proto.toml .shadowenv.d/ .bashrc
      .bash_profile .bash_login .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .inputrc .screenrc .tmux.conf
      .tmuxinator.y*ml .tmuxinator/ .smug.y*ml .sesh.toml .gdbinit .gdbinit.* .lldbinit .lldbinit-* .curlrc .wgetrc
      .netrc .flaskenv .psqlrc .sqliterc .my.cnf .irbrc .pryrc .rdbgrc .rdbgrc.rb .rspec .byebugrc .pythonstartup
      .pythonrc .pdbrc .ssh/ .gnupg/ .aws/ .docker/ .kube/ kubeconfig`),
  },
  {
    why: "package manager configuration: decides where packages come from and what installs run",
    names: words(`
      .npmrc .yarnrc .yarnrc.y*ml .yarn/ .pnpmfile.cjs .pnpmfile.mjs pnpmfile.cjs pnpmfile.js .pnpmrc pnpm-workspace.y*ml bunfig.toml
      .pnp.* .npmignore.js .pypirc pip.conf pip.ini setup.py setup.cfg pyproject.toml sitecustomize.py
      usercustomize.py *.pth requirements*.txt requirements*.in constraints*.txt pipfile environment.y*ml condarc .condarc uv.toml poetry.toml
      pdm.toml .pdm.toml hatch.toml gemfile *.gemspec gems.rb .bundle/ cargo.toml .cargo/ rust-toolchain rust-toolchain.toml go.mod go.work
      composer.json auth.json nuget.config paket.dependencies packages.config directory.packages.props dotnet-tools.json global.json
      pom.xml settings.xml deno.json deno.jsonc jsr.json import_map.json bower.json .bowerrc cpanfile mix.exs rebar.config
      rebar.config.script stack.y*ml *.cabal cabal.project package.swift podfile cartfile cartfile.private pubspec.y*ml
      conanfile.py conanfile.txt vcpkg.json vcpkg-configuration.json .rprofile .renviron renv/activate.r
      project.clj deps.edn bb.edn build.zig.zon shard.yml elm.json spago.yaml dune-project *.opam lerna.json nx.json
      turbo.json rush.json common/config/rush/`),
  },
  {
    why: "build or task file: its commands run at the next build",
    names: words(`
      makefile gnumakefile bsdmakefile makefile.am makefile.in makefile.inc makefile.win makefile.common makefile.local *.mk *.mak cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json
      configure configure.ac configure.in autogen.sh bootstrap.sh meson.build meson.options meson_options.txt sconstruct
      sconscript wscript justfile .justfile *.just taskfile.y*ml taskfile.dist.y*ml .taskrc.y*ml build.bazel build.buck buck
      build workspace workspace.bazel module.bazel *.bzl .bazelrc .bazelversion .bazeliskrc .buckconfig pants.toml please.build .plzconfig
      gruntfile.* gulpfile.* jakefile.* cakefile rakefile *.rake thorfile capfile fastfile fastlane/ dangerfile dangerfile.* guardfile
      vagrantfile brewfile build.rs build.zig build.sbt project/build.properties project/*.sbt project/*.scala build.sc
      build.mill build.xml ivy.xml build.gradle build.gradle.kts *.gradle *.gradle.kts settings.gradle settings.gradle.kts
      gradle.properties gradle/ gradlew gradlew.bat init.gradle .mvn/ mvnw mvnw.cmd sbt millw build.cake build.fsx build.ps1
      directory.build.props directory.build.targets *.targets *.props *.rsp nuke/ .nuke/ dockerfile dockerfile.* *.dockerfile
      containerfile containerfile.* docker-compose*.y*ml docker-bake.* compose.y*ml compose.*.y*ml .dockerignore.sh
      tox.ini noxfile.py tasks.py fabfile.py dodo.py conftest.py pytest.ini manage.sh invoke.y*ml wercker.sh magefile.go
      .air.toml air.toml nodemon.json .nodemonrc .foreverignore.js ecosystem.config.* binding.gyp *.gyp *.gypi build.psake.ps1
      helmfile.y*ml terragrunt.hcl .terraformrc terraform.rc ansible.cfg pulumi.y*ml serverless.y*ml samconfig.toml cdk.json`),
  },
  {
    why: "tool configuration that is program code or loads plugins: the editor's checker runs it on opening a file",
    names: words(`
      eslint.config.* .eslintrc .eslintrc.* .eslintplugin.* prettier.config.* .prettierrc.*js .prettierrc.ts .prettierrc.mts .prettierrc.cts stylelint.config.* .stylelintrc.*js
      .stylelintrc babel.config.* .babelrc .babelrc.* .swcrc postcss.config.* .postcssrc.* tailwind.config.* vite.config.* vitest.config.*
      vitest.workspace.* jest.config.* .mocharc.* karma.conf.* cypress.config.* playwright.config.* webpack.config.* rollup.config.*
      esbuild.config.* next.config.* nuxt.config.* astro.config.* svelte.config.* vue.config.* metro.config.* app.config.* biome.json
      biome.jsonc .biome.json* .remarkrc.* .textlintrc.* .markdownlint-cli2.* .markdownlint.c* .markdownlint.m* tslint.json
      .graphqlrc.* graphql.config.* codegen.ts codegen.y*ml .golangci.y*ml .golangci.toml .golangci.json .rubocop.y*ml .standard.y*ml
      .solargraph.y*ml .credo.exs .formatter.exs .php-cs-fixer.* phpstan.neon* psalm.xml* rector.php .pylintrc pylintrc mypy.ini .mypy.ini
      ruff.toml .ruff.toml .flake8 .bandit .clang-tidy .clangformat.py compile_flags.txt compile_commands.json .scalafix.conf rustfmt.toml .rustfmt.toml
      clippy.toml .clippy.toml dprint.json .dprint.json trunk.y*ml .trunk/ .mega-linter.y*ml .snyk .semgrep.y*ml .semgrep/ analysis_options.y*ml
      ember-cli-build.js .ember-cli .angular-cli.json angular.json .ng* project.json .yo-rc.json plopfile.* .storybook/ .nycrc .nycrc.* nyc.config.*`),
  },
];

/** Lock files: they decide which bytes the next install fetches and runs. */
export const lockFiles: readonly string[] = words(`
  package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.y*ml bun.lock bun.lockb deno.lock cargo.lock go.sum go.work.sum
  gemfile.lock gems.locked poetry.lock pipfile.lock pdm.lock uv.lock conda-lock.y*ml composer.lock mix.lock rebar.lock
  packages.lock.json paket.lock project.assets.json podfile.lock cartfile.resolved package.resolved pubspec.lock
  gradle.lockfile *.lockfile buildscript-gradle.lockfile verification-metadata.xml stack.y*ml.lock cabal.project.freeze
  renv.lock flake.lock pixi.lock shard.lock .terraform.lock.hcl module.bazel.lock jsr.lock chart.lock conan.lock
  manifest.toml spago.lock npm-packages-offline-cache/`);
