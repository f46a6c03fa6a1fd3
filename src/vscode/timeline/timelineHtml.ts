import crypto from "node:crypto";
import * as vscode from "vscode";

/** The folder that the webview may load from. */
export function webviewRoot(extension: vscode.Uri): vscode.Uri {
  return vscode.Uri.joinPath(extension, "dist", "webview");
}

/**
 * The page of the timeline. Nothing may load or run but the two bundled files: no remote content, no inline script. The
 * toolkit makes one empty style element at run time and takes its nonce from the `csp-nonce` meta element.
 */
export function timelineHtml(webview: vscode.Webview, extension: vscode.Uri): string {
  const nonce = crypto.randomBytes(16).toString("base64");
  const styleNonce = crypto.randomBytes(16).toString("base64");
  const source = (name: string): string =>
    webview.asWebviewUri(vscode.Uri.joinPath(webviewRoot(extension), name)).toString();
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource} 'nonce-${styleNonce}'`,
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta property="csp-nonce" content="${styleNonce}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${source("timeline.css")}">
<title>${vscode.l10n.t("Holdfast timeline")}</title>
</head>
<body><script nonce="${nonce}" src="${source("timeline.js")}"></script></body>
</html>`;
}
