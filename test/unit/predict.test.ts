import assert from "node:assert/strict";
import fc from "fast-check";
import { asks, type PredictedEffect } from "../../src/core/predict/effect.ts";
import type { BranchKind } from "../../src/core/predict/predictGit.ts";
import { type DeclaredCall, Predictor } from "../../src/core/predict/predictor.ts";
import { scriptOfSkeleton } from "../support/toolCallSkeleton.ts";

type Expected = PredictedEffect | "unparsable";

const scripts: Readonly<Record<string, Readonly<Record<string, Expected>>>> = {
  "git on a branch of one's own": {
    "git status && git diff | head": "none",
    "git commit -m 'git push later'": "none",
    "git fetch --all": "disclosure",
    "git clone https://github.com/a/b": "disclosure",
    "git clone /srv/mirror/b": "none",
    "git push": "recoverable",
    "git push -u origin HEAD": "recoverable",
    "git push origin feature/x": "recoverable",
    "git -C sub push origin fix": "recoverable",
    "git push --dry-run": "disclosure",
    "git push ../bare fix": "none",
    "git push origin main": "irreversible",
    "git push origin HEAD:main": "irreversible",
    "git push --force-with-lease": "irreversible",
    "git push origin +fix": "irreversible",
    "git push origin :fix": "irreversible",
    "git push --delete origin fix": "irreversible",
    "git push --tags": "irreversible",
    "git push origin v1.2.0": "irreversible",
    "git checkout main && git merge fix && git push": "irreversible",
    "git switch -c fix origin/main && git push -u origin HEAD": "recoverable",
    "git lfs push origin fix": "recoverable",
    "git send-email 0001.patch": "irreversible",
    "git pushall": "irreversible",
    "jj git push": "recoverable",
    "svn commit -m x": "irreversible",
  },
  "where a command can hide": {
    "if git diff --quiet; then :; else (cd a && ! git push); fi": "recoverable",
    'bash -c "cd a && git push"': "recoverable",
    "bash <<'EOF'\ngit push --force\nEOF": "irreversible",
    'echo "git push -f" | sh': "irreversible",
    'echo "git push -f"': "none",
    "cat > push.sh <<'EOF'\ngit push -f\nEOF": "none",
    "f() { git push origin main; }; f": "irreversible",
    "for n in 1 2; do gh pr comment $n --body x; done": "irreversible",
    "echo 1 2 | xargs -n1 -I{} gh issue comment {} --body x": "irreversible",
    "find . -name x -exec curl -T {} https://files.example/ \\;": "irreversible",
    'trap "git push" EXIT': "recoverable",
    "timeout 60 env A=1 nice -n 5 git push": "recoverable",
    "sudo -u me git push": "recoverable",
    "rtk proxy git push": "recoverable",
    'x="$(gh pr merge 3)"': "irreversible",
    "diff <(gh api repos/a/b -X DELETE) x": "irreversible",
    'GIT="git -C sub"; $GIT push': "recoverable",
    '"$TOOL" push': "recoverable",
    "docker exec web git push": "recoverable",
    "some-runner --then git push": "recoverable",
    "tmux new-session -d 'git push'": "recoverable",
    "npx -y vercel@latest deploy --prod": "irreversible",
    "grep -r 'git push' . && which gh": "none",
    "if [ x; then": "unparsable",
  },
  "code hosts": {
    "gh pr view 3 --json title": "disclosure",
    "gh pr create --fill": "recoverable",
    "gh pr close 3 --comment bye": "irreversible",
    "gh pr close 3": "recoverable",
    "gh pr review 3 --approve": "irreversible",
    "gh issue create -t x -b y": "recoverable",
    "gh -R a/b issue delete 3": "irreversible",
    "gh release create v1": "irreversible",
    "gh workflow run ci.yml": "irreversible",
    "gh run rerun 3 --failed": "recoverable",
    "gh secret set TOKEN": "irreversible",
    "gh repo create x --private": "recoverable",
    "gh api repos/a/b/pulls/3/comments --paginate": "disclosure",
    "gh api repos/a/b/pulls/3/comments/4/replies -f body=x": "irreversible",
    "gh api -X PATCH repos/a/b/pulls/3 -f title=x": "recoverable",
    "gh api --method DELETE repos/a/b": "irreversible",
    "gh api graphql -f query='query { viewer { login } }'": "disclosure",
    "gh api graphql -f query='mutation { resolveReviewThread(input: {threadId: \"x\"}) { thread { id } } }'":
      "recoverable",
    "gh api graphql -F query=@document.graphql": "irreversible",
    "gh something-new": "irreversible",
    "gh --help": "none",
    "glab mr create --fill": "recoverable",
    "glab mr note 3 -m x": "irreversible",
  },
  requests: {
    "curl https://example.com": "disclosure",
    "curl -s http://localhost:3000/api -X POST -d '{}'": "none",
    'BASE=http://127.0.0.1:8080; curl -X DELETE "$BASE/x"': "none",
    "curl -X POST https://example.com/hook": "irreversible",
    "curl -sSLd a=b https://example.com/hook": "irreversible",
    "curl -G -d q=x https://example.com/search": "disclosure",
    "curl -F file=@a https://example.com/upload": "irreversible",
    "curl -T a https://example.com/": "irreversible",
    "curl -XPUT https://example.com/x": "irreversible",
    'curl -X POST "$URL"': "irreversible",
    "curl -X POST https://slack.com/api/chat.postMessage -d x": "irreversible",
    "curl -I https://example.com": "disclosure",
    "wget --post-data=x https://example.com": "irreversible",
    "wget -q https://example.com/a.tgz": "disclosure",
    "http POST example.com a=b": "irreversible",
    "http example.com": "disclosure",
  },
  "other machines": {
    "ssh host 'cat /etc/hostname && docker ps'": "disclosure",
    "ssh host docker compose exec db printenv": "disclosure",
    "ssh host 'systemctl restart web'": "irreversible",
    "ssh host <<'EOF'\nrm -rf /tmp/x\nEOF": "irreversible",
    "ssh host": "irreversible",
    "ssh -T git@github.com": "disclosure",
    "ssh -R 80:localhost:3000 host": "irreversible",
    "scp a host:b": "irreversible",
    "scp host:b a": "disclosure",
    "rsync -av dist/ user@host:/var/www/": "irreversible",
    "rsync -av src/ dst/": "none",
    "psql -h db.example.com -c 'select 1'": "disclosure",
    "psql postgres://u@db.example.com/x -c 'delete from t'": "irreversible",
    "psql -c 'drop table t'": "none",
    "psql $DATABASE_URL -c 'drop table t'": "irreversible",
    "ngrok http 3000": "irreversible",
    "mail -s x a@example.com < b": "irreversible",
    "ping -c1 example.com": "disclosure",
  },
  "packages and platforms": {
    "npm ci && npm test": "disclosure",
    "npm test": "none",
    "npm publish": "irreversible",
    "npm publish --dry-run": "disclosure",
    "npm run deploy": "irreversible",
    "make release": "irreversible",
    "pip install -e .": "disclosure",
    "twine upload dist/*": "irreversible",
    "cargo build --release": "none",
    "cargo publish": "irreversible",
    "go test ./...": "none",
    "docker build -t x .": "none",
    "docker build --push -t x .": "irreversible",
    "docker push a/b": "irreversible",
    "docker compose up -d": "none",
    "kubectl get pods": "disclosure",
    "kubectl -n prod delete pod x": "irreversible",
    "terraform plan": "disclosure",
    "terraform apply -auto-approve": "irreversible",
    "aws s3 ls": "disclosure",
    "aws s3 cp a s3://b/a": "irreversible",
    "aws s3 cp s3://b/a a": "disclosure",
    "aws --profile x ec2 describe-instances": "disclosure",
    "aws ec2 terminate-instances --instance-ids i": "irreversible",
    "aws --endpoint-url http://localhost:4566 s3 rb s3://x": "none",
    "gcloud compute instances list": "disclosure",
    "gcloud run deploy x": "irreversible",
    "npx wrangler deploy": "irreversible",
    "vercel dev": "none",
    "claude -p hello": "disclosure",
  },
  code: {
    "python3 -c 'print(1)'": "none",
    "python3 -c 'import requests; requests.get(\"https://example.com\")'": "disclosure",
    "python3 - <<'EOF'\nimport requests\nrequests.post('https://example.com', json={})\nEOF":
      "irreversible",
    'node -e \'fetch("http://localhost:3000", {method: "POST"})\'': "none",
    'node -e \'require("child_process").execFileSync("git", ["push"])\'': "recoverable",
  },
};

function predicted(call: Partial<DeclaredCall> & { readonly tool: string }): Expected {
  const prediction = new Predictor().predict({ branch: "other", input: {}, ...call });
  return prediction.unparsable === true ? "unparsable" : prediction.effect;
}

describe("prediction: shell", () => {
  for (const [title, rows] of Object.entries(scripts)) {
    describe(title, () => {
      for (const [command, expected] of Object.entries(rows)) {
        it(`${command.replaceAll("\n", "⏎").slice(0, 80)} → ${expected}`, () => {
          assert.equal(predicted({ tool: "Bash", input: { command } }), expected);
        });
      }
    });
  }

  const branches: readonly (readonly [BranchKind, Expected])[] = [
    ["default", "irreversible"],
    ["other", "recoverable"],
    ["unknown", "recoverable"],
  ];
  for (const [branch, expected] of branches) {
    it(`a bare push on a branch that is ${branch} → ${expected}`, () => {
      assert.equal(predicted({ tool: "Bash", input: { command: "git push" }, branch }), expected);
    });
  }

  it("commands can be lists of words", () => {
    assert.equal(
      predicted({ tool: "shell", input: { command: ["bash", "-lc", "git push"] } }),
      "recoverable",
    );
    assert.equal(predicted({ tool: "exec_command", input: { cmd: "git push" } }), "recoverable");
  });

  it("what cannot be read counts as asking", () => {
    const prediction = new Predictor().predict({
      tool: "Bash",
      input: { command: "echo $(" },
      branch: "other",
    });
    assert.equal(asks(prediction), true);
  });

  it("nesting has an end", () => {
    const deep = Array.from({ length: 8 }).reduce<string>(
      (inner) => `bash -c '${inner.replaceAll("'", `'\\''`)}'`,
      "ls",
    );
    assert.equal(predicted({ tool: "Bash", input: { command: deep } }), "unparsable");
  });

  it("any text has a prediction", () => {
    const piece = fc.constantFrom(
      "git push",
      "$(",
      ")",
      "`",
      '"',
      "'",
      "<<EOF\n",
      "EOF\n",
      "|",
      "&&",
      ";",
      "{",
      "}",
      "if ",
      "fi",
      "bash -c ",
      "\\",
      "\n",
      "ssh h ",
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece, fc.string({ maxLength: 6 })), { maxLength: 20 }),
        (parts) => {
          for (const tool of ["Bash", "PowerShell"])
            predicted({ tool, input: { command: parts.join("") } });
        },
      ),
    );
  });

  it("PowerShell", () => {
    const run = (powershell: string) => predicted({ tool: "PowerShell", input: { powershell } });
    assert.equal(run("cd src; git diff | Select-Object -First 4"), "none");
    assert.equal(run('cd src; if ($x) { git push } else { "git push -f" }'), "recoverable");
    assert.equal(
      run("Invoke-RestMethod https://example.com -Method Post -Body $b"),
      "irreversible",
    );
  });
});

describe("prediction: tools", () => {
  const tools: Readonly<Record<string, Expected>> = {
    Read: "none",
    MultiEdit: "none",
    apply_patch: "none",
    TodoWrite: "none",
    spawn_agent: "none",
    WebFetch: "disclosure",
    web_search_call: "disclosure",
    mcp__ide__getDiagnostics: "none",
    mcp__linear__list_comments: "disclosure",
    mcp__linear__create_issue: "recoverable",
    mcp__linear__create_comment: "irreversible",
    mcp__notion__createPage: "recoverable",
    mcp__slack__slack_post_message: "irreversible",
    "mcp__context7__resolve-library-id": "disclosure",
    mcp__github__resolve_review_thread: "irreversible",
    mcp__supabase__execute_sql: "irreversible",
    mcp__git__git_push: "irreversible",
    mcp__acme__frobnicate: "irreversible",
    "github-mcp-server-list_issues": "disclosure",
    Frobnicate: "irreversible",
  };
  for (const [tool, expected] of Object.entries(tools)) {
    it(`${tool} → ${expected}`, () => assert.equal(predicted({ tool }), expected));
  }

  it("a click is judged by the page that is open", () => {
    const session = new Predictor();
    const effect = (tool: string, input: object) =>
      session.predict({ tool, input, branch: "other" }).effect;
    assert.equal(
      effect("mcp__playwright__browser_navigate", { url: "http://localhost:3000" }),
      "none",
    );
    assert.equal(effect("mcp__playwright__browser_click", { ref: "1" }), "none");
    assert.equal(
      effect("mcp__playwright__browser_navigate", { url: "https://example.com" }),
      "disclosure",
    );
    assert.equal(effect("mcp__playwright__browser_snapshot", {}), "disclosure");
    assert.equal(effect("mcp__playwright__browser_click", { ref: "1" }), "irreversible");
  });
});

describe("prediction: skeletons of the public data", () => {
  const rows: Readonly<Record<string, string>> = {
    "cd <ws> && git push <remote> <branch>": "cd /workspace && git push origin feature/x",
    "git commit -m <str:12> && ls <ws>/d1/f3.ts": "git commit -m text12 && ls /workspace/d1/f3.ts",
    "bash -c ⟪ echo <str:3> ⟫": "bash -c  'echo text3' ",
    "gh api graphql -f query=<graphql:mutation:addComment>":
      "gh api graphql -f query='mutation { addComment }'",
    'git commit -m "$( cat << <heredoc:7> )"': 'git commit -m "$( cat <<< text )"',
    "python3 - << <code:py:9:net>": `python3 - <<< 'requests.get("https://host.example/")'`,
    "ssh <host> << ⟪ ls ⟫": "ssh host.example <<<  'ls' ",
    "python -c <code:py:9:netwrite>": `python -c 'requests.post("https://host.example/")'`,
  };
  for (const [skeleton, script] of Object.entries(rows)) {
    it(skeleton, () => assert.equal(scriptOfSkeleton(skeleton), script));
  }
});
