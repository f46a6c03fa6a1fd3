import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { chromium, type FrameLocator, type Locator, type Page } from "playwright-core";
import { LineSplitter, parseJson } from "../../src/base/jsonl.ts";
import type {
  Target,
  WindowAnswer,
  WindowCall,
  WindowCalls,
  WindowRequest,
} from "./windowProtocol.ts";

const extensionId = "holdfast.holdfast";
const patience = Number(process.env["HOLDFAST_HOST_PATIENCE"] ?? 150_000);

export interface EditorWindow {
  readonly page: Page;
  close(): Promise<void>;
}

/** Opens a browser window that can reach nothing but this machine. `browser` is the program. */
export async function openWindow(program: string): Promise<EditorWindow> {
  const browser = await chromium.launch({
    executablePath: program,
    headless: true,
    chromiumSandbox: false,
    args: ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.route(
    (url) => /^https?:$/.test(url.protocol) && url.hostname !== "127.0.0.1",
    (route) => route.abort(),
  );
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  return { page, close: () => browser.close() };
}

type Handlers = {
  readonly [Call in WindowCall]: (
    params: WindowCalls[Call]["params"],
  ) => Promise<WindowCalls[Call]["result"]>;
};

function handlersFor(page: Page, screenshots: string): Handlers {
  const panel = (): FrameLocator =>
    page
      .frameLocator(`iframe.webview[src*="extensionId=${extensionId}"]`)
      .frameLocator("iframe#active-frame");
  const locate = ({ selector, text, panel: inPanel = false }: Target): Locator => {
    const found = (inPanel ? panel() : page).locator(selector);
    return text === undefined ? found : found.filter({ hasText: text });
  };
  // What the window keeps hidden for later is nothing that a person could mean.
  const seen = (target: Target): Locator => locate(target).filter({ visible: true }).first();
  return {
    palette: async ({ title }) => {
      await findInPalette(page, title);
      await page.keyboard.press("Enter");
      return null;
    },
    press: async ({ key }) => {
      await page.keyboard.press(key);
      return null;
    },
    type: async ({ text }) => {
      await page.keyboard.type(text);
      return null;
    },
    click: async (target) => {
      await seen(target).click();
      return null;
    },
    hover: async (target) => {
      await seen(target).hover();
      return null;
    },
    drag: async ({ from, to }) => {
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(to.x, to.y, { steps: 10 });
      await page.mouse.up();
      return null;
    },
    wait: async (target) => {
      await seen(target).waitFor();
      return null;
    },
    texts: (target) => locate(target).allInnerTexts(),
    evaluate: async ({ expression, panel: inPanel = false }) =>
      inPanel
        ? panel().locator("body").evaluate(evaluateInPage, expression)
        : page.evaluate<unknown>(expression),
    heap: async () => {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("HeapProfiler.collectGarbage");
      const { usedSize } = await devtools.send("Runtime.getHeapUsage");
      await devtools.detach();
      return usedSize;
    },
    screenshot: async ({ name }) => {
      const file = path.join(screenshots, `${name}.png`);
      fs.mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: file });
      return file;
    },
    resize: async (size) => {
      await page.setViewportSize(size);
      return null;
    },
    reload: async () => {
      await page.reload();
      return null;
    },
  };
}

/** Goes to a title in the palette. Something that just closes may take the focus away, and the palette with it: once more. */
async function findInPalette(page: Page, title: string): Promise<void> {
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
  for (let attempt = 1; ; attempt++) {
    await openPalette(page);
    await page.keyboard.type(title);
    try {
      await row.waitFor(attempt < 4 ? { timeout: 10_000 } : {});
      await goToRow(page, title);
      return;
    } catch (error) {
      if (attempt === 4) throw error;
      await page.keyboard.press("Escape");
    }
  }
}

/** A key that comes while a webview is being loaded may be lost: it is pressed again then. */
async function openPalette(page: Page): Promise<void> {
  const input = page.locator(".quick-input-widget input").first();
  for (let left = 10; ; left--) {
    await page.keyboard.press("F1");
    try {
      await input.waitFor({ timeout: 5000 });
      return;
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

/** Commands used lately come first in the palette, also when another one has just this title: goes down to that one. */
async function goToRow(page: Page, title: string): Promise<void> {
  const focused = page.locator(".quick-input-list .monaco-list-row.focused .label-name").first();
  for (let step = 0; step < 20; step++) {
    if ((await focused.innerText({ timeout: 5000 })).trim() === title) return;
    await page.keyboard.press("ArrowDown");
  }
  throw new Error(`the palette has no command ${title}`);
}

/** Runs in the page, where indirect eval sees the document's own globals. */
function evaluateInPage(_body: Element, expression: string): unknown {
  return (0, eval)(expression) as unknown;
}

/** Serves {@link WindowCalls} for `page` on a unix socket until closed. */
export async function serveWindow(
  page: Page,
  socket: string,
  screenshots: string,
): Promise<net.Server> {
  const handlers = handlersFor(page, screenshots);
  const answer = async (request: WindowRequest): Promise<WindowAnswer> => {
    const handler = handlers[request.call] as (params: unknown) => Promise<unknown>;
    try {
      return { id: request.id, result: await handler(request.params) };
    } catch (error) {
      return { id: request.id, error: String(error) };
    }
  };
  const server = net.createServer((connection) => {
    const lines = new LineSplitter();
    connection.setEncoding("utf8");
    connection.on("data", (text: string) => {
      for (const line of lines.push(text)) {
        void answer(parseJson(line) as WindowRequest).then((reply) => {
          if (connection.writable) connection.write(`${JSON.stringify(reply)}\n`);
        });
      }
    });
    // A reload ends the extension host in the middle of a connection.
    connection.on("error", () => connection.destroy());
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return server;
}
