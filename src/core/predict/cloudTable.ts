import { compileTable } from "./commandTable.ts";

/** Clouds, clusters, images, deployments, tunnels, mail: what changes there is final unless a line says otherwise. */
export const cloudTable = compileTable([
  ["docker|podman|nerdctl|buildah push", "irreversible", "publishes an image"],
  ["docker|podman|nerdctl image|manifest|compose push", "irreversible", "publishes an image"],
  [
    "docker|podman|nerdctl|buildah build|buildx|bake|compose|bud --push",
    "irreversible",
    "publishes an image",
  ],
  ["docker|podman login|logout", "disclosure", "logs in to a registry"],
  ["docker|podman|nerdctl pull|search", "disclosure", "fetches an image"],
  ["docker|podman image|compose pull", "disclosure", "fetches images"],
  ["docker|podman|nerdctl manifest|buildx inspect|imagetools", "disclosure", "reads an image"],
  [
    "skopeo|crane|oras|regctl|cosign|ko inspect|list-tags|ls|manifest|digest|config|pull|discover|verify",
    "disclosure",
    "reads an image",
  ],
  [
    "skopeo|crane|oras|regctl|cosign|ko copy|push|append|tag|delete|attach|sign|attest|publish|apply|cp|sync",
    "irreversible",
    "publishes an image",
  ],

  [
    "kubectl|oc|k9s|stern|istioctl|argocd|flux config|version|completion|kustomize|api-resources|explain|help",
    "none",
    "looks at its own configuration",
  ],
  [
    "kubectl|oc|argocd|flux get|describe|logs|top|events|cluster-info|auth|diff|wait|rollout|list|check|export|trace|port-forward|app --dry-run",
    "disclosure",
    "reads a cluster",
  ],
  ["kubectl|oc rollout status|history", "disclosure", "reads a cluster"],
  [
    "kubectl|oc|argocd|flux get|describe|logs|top|events|cluster-info|auth|diff|wait|list|check|export|trace",
    "disclosure",
    "reads a cluster",
  ],
  ["stern|k9s **", "disclosure", "reads a cluster"],
  ["kubectl|oc|argocd|flux **", "irreversible", "changes a cluster"],
  [
    "helm template|lint|create|package|version|env|completion|show|plugin",
    "none",
    "works on charts",
  ],
  [
    "helm repo|search|pull|dependency|dep|list|ls|status|history|get",
    "disclosure",
    "reads charts or releases",
  ],
  ["helm **", "irreversible", "changes a cluster"],
  [
    "terraform|tofu|terragrunt fmt|validate|version|console|graph|output|providers",
    "none",
    "works on configuration",
  ],
  [
    "terraform|tofu|terragrunt init|plan|show|get|state|refresh|workspace",
    "disclosure",
    "reads infrastructure",
  ],
  [
    "terraform|tofu|terragrunt apply|destroy|import|taint|untaint|force-unlock|run-all|login",
    "irreversible",
    "changes infrastructure",
  ],
  [
    "pulumi|cdk|cdktf|sst|sls|serverless|sam|copilot|amplify|eb|chalice|zappa up|deploy|destroy|remove|rm|update|push|publish|rollback|invoke|cancel|delete|terminate|create",
    "irreversible",
    "changes infrastructure",
  ],
  [
    "pulumi|cdk|sst|sls|serverless|sam|eb preview|diff|logs|status|list|ls|info|stack",
    "disclosure",
    "reads infrastructure",
  ],
  [
    "ansible-playbook --check|-C|--syntax-check|--list-tasks|--list-hosts",
    "disclosure",
    "tries a playbook",
  ],
  ["ansible|ansible-playbook **", "irreversible", "changes other machines"],
  ["capistrano|cap|kamal|fab|dokku|mrsk **", "irreversible", "deploys"],

  [
    "vercel|vc|netlify|ntl|fly|flyctl|heroku|railway|wrangler|firebase|supabase|render|doctl|convex|pscale|neonctl|turso|surge|now|aptible|scalingo|clever|gh-pages|amplify|deployctl|modal|replicate --help|-h|--version|help|version",
    "none",
    "prints its manual",
  ],
  [
    "vercel|vc|netlify|ntl|railway|wrangler|firebase|supabase|convex|turso|amplify|modal dev|build|init|start|test|gen|types|link|unlink|serve|emulators:*|emulators|functions:serve|status|stop|completion|login|telemetry|settings",
    "none",
    "works locally",
  ],
  ["wrangler d1|kv|r2|deploy|pages|secret --local|--dry-run", "none", "works locally"],
  [
    "vercel|vc|netlify|ntl|fly|flyctl|heroku|railway|wrangler|firebase|supabase|render|doctl|convex|pscale|neonctl|turso|deployctl|modal ls|list|inspect|logs|log|tail|whoami|status|info|ps|apps|open|releases|config|variables|get|projects|regions|watch|auth:whoami|projects:list|whoami|volume|app|image|env|deployments|environment",
    "disclosure",
    "reads from the platform",
  ],
  [
    "vercel|vc|netlify|ntl|fly|flyctl|heroku|railway|wrangler|firebase|supabase|render|doctl|convex|pscale|neonctl|turso|surge|now|gh-pages|deployctl|eas|expo-cli|modal|wasp|amplify **",
    "irreversible",
    "changes or deploys on the platform",
  ],
  [
    "gcloud|az|oci|ibmcloud|linode-cli|hcloud|scw|aliyun|bq|gsutil|doctl config|auth|init|login|logout|version|info|configure|completion|components|help|account|interactive|feedback",
    "disclosure",
    "sets itself up",
  ],
  [
    "rclone|mc|s3cmd|b2|azcopy ls|lsd|lsl|lsf|list|size|check|cat|about|config|version|du|tree",
    "disclosure",
    "reads remote files",
  ],
  ["rclone|mc|s3cmd|b2|azcopy|megaput|transfer **", "irreversible", "writes remote files"],
  [
    "vault|op|doppler|infisical|bw|lpass|chamber|berglas status|version|list|ls|account|whoami|read|get|run|secrets|item|document|kv",
    "disclosure",
    "reads secrets",
  ],
  ["vault|op|doppler|infisical|bw **", "irreversible", "changes secrets"],
  [
    "stripe listen|logs|version|help|status|config|samples|open",
    "disclosure",
    "listens to a payment provider",
  ],
  ["twilio|slack|pd|opsgenie|lark --help|-h|--version|help|version", "none", "prints its manual"],
  ["twilio|slack|pd|opsgenie|lark **", "irreversible", "acts at a messaging provider"],
  ["stripe **", "irreversible", "acts at a payment provider"],
  ["sentry-cli info|--version|releases|projects|organizations list|info", "disclosure", "reads"],
  [
    "sentry-cli|datadog-ci|codecov|coveralls|snyk|sonar-scanner|percy|chromatic|lhci|buildkite-agent upload|releases|sourcemaps|debug-files|send-event|deploys|monitor|junit|autorun|do_upload|report|meta-data|artifact",
    "irreversible",
    "uploads a report",
  ],
  [
    "codecov|chromatic|percy|sonar-scanner|coveralls !--version !--help !--dry-run",
    "irreversible",
    "uploads a report",
  ],
  ["gsutil|bq ls|cat|stat|du|show|head|query", "disclosure", "reads from the cloud"],
  ["gsutil|bq **", "irreversible", "changes the cloud"],

  [
    "ngrok|lt|localtunnel|bore|frpc|zrok|pagekite|cloudflared|serveo|sshuttle --version|version|help|--help",
    "none",
    "prints its version",
  ],
  [
    "ngrok|lt|localtunnel|bore|frpc|zrok|pagekite|sshuttle|chisel **",
    "irreversible",
    "opens a tunnel",
  ],
  ["cloudflared tunnel|access", "irreversible", "opens a tunnel"],
  ["tailscale up|funnel|serve|set|ssh|file|logout|login", "irreversible", "opens a tunnel"],
  ["tailscale status|ping|ip|netcheck", "disclosure", "reads a network"],

  ["mail|mailx|sendmail|mutt|neomutt|msmtp|swaks|ssmtp|s-nail **", "irreversible", "sends mail"],
  ["ftp|sftp|lftp|tftp|ncftp|ncftpput **", "irreversible", "moves files to another machine"],
  [
    "ping|ping6|dig|nslookup|host|whois|traceroute|tracepath|mtr|nmap|nc|ncat|netcat|telnet|arp-scan|speedtest|fping|drill|kdig|ssh-keyscan **",
    "disclosure",
    "asks the network",
  ],
  ["openssl s_client|ocsp", "disclosure", "asks a server"],
  ["xdg-open|open|start|wslview|explorer http*", "disclosure", "opens a page"],
  [
    "lynx|w3m|links|elinks|aria2c|axel|yt-dlp|youtube-dl|gallery-dl|httrack **",
    "disclosure",
    "fetches a page",
  ],

  [
    "claude|gemini|codex|opencode|aider|llm|cursor-agent|copilot|amp|goose|qwen|crush --version|--help|-h|-V",
    "none",
    "prints its version",
  ],
  [
    "claude|gemini|codex|opencode|cursor-agent|copilot|amp|goose|qwen|crush mcp|config|doctor|update|models|auth|login|plugin",
    "none",
    "sets itself up",
  ],
  ["claude|gemini|copilot|cursor-agent|amp|qwen -p|--print|--prompt", "disclosure", "asks a model"],
  [
    "claude|gemini|codex|opencode|aider|llm|cursor-agent|copilot|amp|goose|qwen|crush **",
    "disclosure",
    "asks a model",
  ],
  [
    "huggingface-cli|hf upload|upload-large-folder|delete-cache|repo|repo-files",
    "irreversible",
    "uploads to a hub",
  ],
  [
    "huggingface-cli|hf download|whoami|scan-cache|env|models|datasets",
    "disclosure",
    "fetches from a hub",
  ],
  ["ollama pull|push|run", "disclosure", "fetches a model"],
  [
    "kaggle competitions|datasets|kernels submit|create|version|push",
    "irreversible",
    "uploads to a hub",
  ],
  ["wandb|mlflow sync|artifact|server", "irreversible", "uploads to a hub"],
]);
