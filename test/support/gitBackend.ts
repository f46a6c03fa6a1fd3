import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Serves bare repositories under `root` with git's own CGI program, pushes allowed. */
export function gitBackend(
  root: string,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const url = new URL(request.url ?? "/", "http://origin");
    const header = (name: string): string => String(request.headers[name] ?? "");
    const child = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
        REMOTE_USER: "somebody",
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? "GET",
        CONTENT_TYPE: header("content-type"),
        HTTP_CONTENT_ENCODING: header("content-encoding"),
        GIT_PROTOCOL: header("git-protocol"),
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.on("error", () => undefined);
    request.pipe(child.stdin);
    let head = Buffer.alloc(0);
    const onHead = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      child.stdout.off("data", onHead);
      for (const line of head.subarray(0, end).toString().split("\r\n")) {
        const [name = "", value = ""] = line.split(/:\s*/, 2);
        if (name === "Status") response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.write(head.subarray(end + 4));
      child.stdout.pipe(response);
    };
    child.stdout.on("data", onHead);
  };
}
