import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium, type Browser, type Page } from "playwright-core";
import { fromWebview, type FromWebview, type ToWebview } from "../../src/protocol/webview.ts";
import { themes, type ThemeName } from "./themes.ts";

const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));

/** The webview alone in a headless browser, with a test as its host: every message goes over the real protocol. */
export interface WebviewPage {
  readonly page: Page;
  /** What the webview said, validated. */
  readonly said: FromWebview[];
  /** What broke: errors of the page and violations of its content security policy. */
  readonly problems: string[];
  readonly send: (message: ToWebview) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface WebviewPageOptions {
  readonly theme: ThemeName;
  readonly width?: number;
  readonly height?: number;
  readonly onMessage: (message: FromWebview, send: (message: ToWebview) => Promise<void>) => void;
}

/** Builds the webview's script and style sheet from source. */
async function buildWebview(): Promise<{ readonly script: string; readonly style: string }> {
  const made = await build({
    absWorkingDir: root,
    entryPoints: ["webview/timeline.ts"],
    outdir: "out/webview",
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: "es2022",
    logLevel: "silent",
  });
  const text = (suffix: string): string =>
    made.outputFiles.find((file) => file.path.endsWith(suffix))?.text ?? "";
  return { script: text(".js"), style: text(".css") };
}

let built: ReturnType<typeof buildWebview> | undefined;

/** Starts the browser; `HOLDFAST_CHROMIUM` names another one. */
export async function launchBrowser(): Promise<Browser> {
  const candidates = [
    process.env["HOLDFAST_CHROMIUM"],
    "/usr/bin/chromium",
    "/usr/bin/google-chrome",
  ];
  const executablePath = candidates.find((file) => file !== undefined && fs.existsSync(file));
  if (executablePath === undefined)
    throw new Error("no Chromium found: install the package chromium");
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

export async function openWebview(
  browser: Browser,
  options: WebviewPageOptions,
): Promise<WebviewPage> {
  const { width = 340, height = 900, theme } = options;
  const page = await browser.newPage({ viewport: { width, height } });
  let closing = false;
  const said: FromWebview[] = [];
  const problems: string[] = [];
  const send = async (message: ToWebview): Promise<void> => {
    try {
      await page.evaluate((value) => {
        postMessage(value, "*");
      }, message);
    } catch (error) {
      // An answer that comes while the test is over and its page goes.
      if (!closing && !page.isClosed()) throw error;
    }
  };
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.exposeFunction("said", (value: unknown) => {
    const message = fromWebview.parse(value);
    said.push(message);
    options.onMessage(message, send);
  });
  built ??= buildWebview();
  const { script, style } = await built;
  await page.route("http://webview.test/", (route) =>
    route.fulfill({ contentType: "text/html", body: document(script, style, theme) }),
  );
  await page.goto("http://webview.test/");
  const close = (): Promise<void> => {
    closing = true;
    return page.close();
  };
  return { page, said, problems, send, close };
}

function document(script: string, style: string, theme: ThemeName): string {
  const { bodyClass, colours } = themes[theme];
  const variables = Object.entries(colours)
    .map(([name, value]) => `--vscode-${name}: ${value};`)
    .join("");
  const policy =
    "default-src 'none'; style-src 'nonce-s'; script-src 'nonce-t'; img-src data:; font-src data:";
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Timeline</title>
<meta http-equiv="Content-Security-Policy" content="${policy}"><meta property="csp-nonce" content="s">
<style nonce="s">:root{${variables}} body{background:var(--vscode-sideBar-background)}</style>
<style nonce="s">${style}</style></head><body class="${bodyClass}">
<script nonce="t">globalThis.acquireVsCodeApi = () => ({ postMessage: (m) => globalThis.said(m) });</script>
<script nonce="t">${script.replaceAll("</script", "<\\/script")}</script></body></html>`;
}
