import assert from "node:assert/strict";
import path from "node:path";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import {
  everything,
  type Conversation,
  type ShownState,
  type ToWebview,
} from "../../src/protocol/webview.ts";
import { largeJournal } from "../support/largeJournal.ts";
import { sampleHost } from "../support/sampleStates.ts";
import { themes, type ThemeName } from "../support/themes.ts";
import { until } from "../support/waiting.ts";
import { launchBrowser, openWebview, type WebviewPage } from "../support/webviewPage.ts";

interface Violation {
  readonly id: string;
  readonly nodes: readonly {
    readonly target: readonly string[];
    readonly failureSummary?: string;
  }[];
}

const pictures = process.env["HOLDFAST_TEST_SCREENSHOTS"];

/** Accessibility violations of the page, one line each. The page's policy forbids scripts, so axe comes by evaluation. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate<Violation[]>(
    `axe.run(document, { resultTypes: ["violations"] }).then((result) => result.violations)`,
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")} ${failureSummary ?? ""}`),
  );
}

/** Evaluated from outside each time: the page's policy forbids what the driver's own waiting does. */
async function untilSo(page: Page, expression: string): Promise<void> {
  while (!(await page.evaluate<boolean>(expression))) await page.waitForTimeout(20);
}

describe("timeline in a browser", () => {
  let browser: Browser;
  const open: WebviewPage[] = [];
  before(async () => {
    browser = await launchBrowser();
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  after(() => browser.close());

  const show = async (
    state: ShownState,
    theme: ThemeName = "dark",
    width = 360,
  ): Promise<WebviewPage> => {
    const host = sampleHost(state);
    const shown = await openWebview(browser, { theme, width, onMessage: host.answer });
    open.push(shown);
    await shown.page.locator(`body[data-state="${state}"]`).waitFor();
    return shown;
  };

  const spoken: Conversation = {
    busy: false,
    prompt: "Round the prices, and say where you did.",
    text: "I read src/money.ts first.\n\nPrices are rounded in one place now: <b>roundPrice</b>.",
    plan: [
      { content: "Find where prices are made", status: "completed" },
      { content: "Round them in one place", status: "in_progress" },
      { content: "Run the tests", status: "pending" },
    ],
    ended: "Cancelled.",
  };

  for (const theme of ["dark", "light", "highContrast"] as const)
    it(`shows a session with its plan, answer and prompt box in ${theme}`, async () => {
      const host = sampleHost("running", undefined, spoken);
      const shown = await openWebview(browser, { theme, width: 360, onMessage: host.answer });
      open.push(shown);
      const { page, said } = shown;
      await page.getByRole("textbox", { name: "Prompt" }).waitFor();
      assert.match(
        (await page.getByRole("log").textContent()) ?? "",
        /<b>roundPrice<\/b>/,
        "as text",
      );
      assert.equal(await page.getByRole("list", { name: "Plan" }).getByRole("listitem").count(), 3);
      await healthy(shown, `session-${theme}`);
      await page.getByRole("textbox", { name: "Prompt" }).focus();
      await page.keyboard.type("And the");
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type("tests / too");
      await page.keyboard.press("Enter");
      const prompts = said.filter((message) => message.type === "prompt");
      assert.deepEqual(prompts, [{ type: "prompt", text: "And the\ntests / too" }]);
      assert.equal(await page.getByRole("textbox", { name: "Prompt" }).inputValue(), "");
      await page.keyboard.press("Enter");
      assert.equal(
        said.filter((message) => message.type === "prompt").length,
        1,
        "nothing is no prompt",
      );
    });

  it("offers to cancel while the agent works, by keyboard too", async () => {
    const host = sampleHost("running", undefined, { ...spoken, busy: true, ended: "" });
    const shown = await openWebview(browser, { theme: "dark", width: 360, onMessage: host.answer });
    open.push(shown);
    const { page, said } = shown;
    await page.getByRole("textbox", { name: "Prompt" }).focus();
    await page.keyboard.type("later");
    await page.keyboard.press("Enter");
    assert.deepEqual(
      said.filter((message) => message.type === "prompt"),
      [],
      "one at a time",
    );
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(100);
    assert.equal(said.filter((message) => message.type === "cancelPrompt").length, 1);
    await healthy(shown, "session-busy");
  });

  it("gives a prompt back that failed, and says why", async () => {
    const host = sampleHost("running", undefined, spoken);
    const shown = await openWebview(browser, { theme: "dark", width: 360, onMessage: host.answer });
    open.push(shown);
    const { page, said } = shown;
    const box = page.getByRole("textbox", { name: "Prompt" });
    const text = "Round the totals too,\nplease";
    await box.fill(text);
    await box.press("Enter");
    await until("it is sent", () => said.some((message) => message.type === "prompt"));
    assert.equal(await box.inputValue(), "");
    const failed = {
      type: "promptFailed",
      text,
      message: "the agent's session has ended",
    } as const;
    await shown.send(failed);
    const error = page.getByRole("alert").filter({ hasText: failed.message });
    await error.waitFor();
    assert.equal(await box.inputValue(), text);
    await healthy(shown, "session-prompt-failed");
    // What is being written is not lost to what failed.
    await box.fill("Something else");
    await shown.send(failed);
    await box.press("Enter");
    await error.waitFor({ state: "detached" });
    const prompts = said.flatMap((message) => (message.type === "prompt" ? [message.text] : []));
    assert.deepEqual(prompts, [text, "Something else"]);
  });

  const healthy = async ({ page, said, problems }: WebviewPage, name: string): Promise<void> => {
    if (pictures !== undefined) await page.screenshot({ path: path.join(pictures, `${name}.png`) });
    assert.deepEqual(problems, []);
    assert.deepEqual(
      said.filter(({ type }) => type === "failed"),
      [],
    );
    const wider = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.ok(Number(wider) <= 0, "nothing is wider than the side bar");
    assert.deepEqual(await violations(page), []);
  };

  const states = [
    "none",
    "starting",
    "running",
    "waiting",
    "sealed",
    "conflict",
    "interrupted",
    "committed",
    "undone",
    "discarded",
    "failed",
  ] as const;
  for (const state of states)
    it(`shows ${state} without violations of accessibility or policy`, async () => {
      await healthy(await show(state), `timeline-${state}`);
    });

  for (const theme of Object.keys(themes) as ThemeName[])
    it(`is readable in ${theme}`, async () => {
      const shown = await show("waiting", theme);
      await shown.page.locator(".row", { hasText: "curl" }).first().click();
      await shown.page.locator(".row.block").first().waitFor();
      await healthy(shown, `timeline-${theme}`);
    });

  it("fits a narrow side bar", async () => {
    await healthy(await show("waiting", "light", 220), "timeline-narrow");
  });

  it("can be walked through with the keyboard alone", async () => {
    const { page } = await show("sealed");
    await page.locator(".row.group").first().waitFor();
    const focused = (): Promise<unknown> =>
      page.evaluate("document.activeElement?.querySelector('.spoken')?.textContent ?? ''");
    await page.keyboard.press("/");
    await page.keyboard.type("git push");
    await page.locator(".result", { hasText: "1 of" }).waitFor();
    await page.locator(".row[tabindex='0']").focus();
    await page.keyboard.press("End");
    assert.match(String(await focused()), /^Recoverable, Bash, git push/);
    await page.keyboard.press("ArrowRight");
    await page.locator(".row.block").first().waitFor();
    await page.keyboard.press("ArrowRight");
    assert.match(String(await focused()), /^Arguments/);
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(
      "document.activeElement?.querySelector('.spoken')?.textContent.includes('git push')",
    );
    await page.keyboard.press("ArrowLeft");
    await page.locator(".row.block").first().waitFor({ state: "hidden" });
    await page.keyboard.press("Home");
    assert.match(String(await focused()), /^Recoverable/);
  });

  it("takes no decision from a card that is not armed, nor from Enter in a text field", async () => {
    const { page, said } = await show("waiting");
    const decided = (): number => said.filter(({ type }) => type === "decide").length;
    await page.locator(".card .decide.approve").click({ force: true });
    assert.equal(decided(), 0);
    await page.locator(".card.armed").waitFor();
    await page.locator(".card .reason").fill("not now");
    await page.locator(".card .reason").press("Enter");
    assert.equal(decided(), 0);
    await page.locator(".card .decide.deny").click();
    assert.equal(decided(), 1);
    await page.locator(".card .decide.approve").click({ force: true });
    assert.equal(decided(), 1, "a card answers once");
    const [answer] = said.filter(({ type }) => type === "decide");
    assert.deepEqual(answer, {
      type: "decide",
      hold: "h-51",
      decision: "deny",
      scope: "call",
      reason: "not now",
      payloadSha256: "9f2c4e1ab77d0c55e1f0".padEnd(64, "0"),
    });
  });

  for (const height of [1000, 860, 720, 560, 400])
    it(`covers nothing of a held call in a window ${height} pixels high`, async () => {
      const shown = await show("waiting");
      const { page } = shown;
      await page.setViewportSize({ width: 360, height });
      await page.locator(".payload").scrollIntoViewIfNeeded();
      const [bytes, told, decision, holds] = await page.evaluate<DOMRect[]>(
        `[".payload", ".told", ".decision", ".holds"].map((part) =>
          document.querySelector(part).getBoundingClientRect().toJSON())`,
      );
      assert.ok(bytes !== undefined && told !== undefined);
      assert.ok(decision !== undefined && holds !== undefined);
      assert.ok(told.bottom <= decision.top, "what is told ends where the decision begins");
      assert.ok(bytes.top < told.bottom && bytes.bottom > told.top, "the bytes can be scrolled to");
      assert.ok(decision.top >= holds.top && decision.bottom <= holds.bottom, "it is in sight");
      assert.ok(holds.bottom <= height, "and so is all of the card");
    });

  it("disarms the cards when another one comes", async () => {
    const { page, send } = await show("waiting");
    await page.locator(".card.armed").waitFor();
    const [hold] = sampleHost("waiting").holds;
    assert.ok(hold !== undefined);
    await send({ type: "holds", holds: [hold, { ...hold, hold: "h-52" }] });
    await page.locator(".card").nth(1).waitFor();
    assert.equal(await page.locator(".card.armed").count(), 0);
  });

  it("asks first for the rows in sight, and for more when it is scrolled", async () => {
    const host = sampleHost("running", largeJournal(2000));
    const shown = await openWebview(browser, { theme: "dark", onMessage: host.answer });
    open.push(shown);
    await shown.page.locator(".row .verb", { hasText: /./ }).first().waitFor();
    const windows = (): number[] =>
      shown.said.flatMap((message) => (message.type === "window" ? [message.count] : []));
    const inSight = await shown.page.locator(".row:visible").count();
    const [first = 0] = windows();
    assert.ok(first > 10 && first <= inSight, `${first} of ${inSight}`);
    await shown.page.evaluate("document.querySelector('.list').scrollTop = 20000");
    await until("it asks for more", () => windows().includes(240));
    assert.equal(windows().at(-1), 240);
  });

  it("shows the effects of a row again after it was a placeholder", async () => {
    const host = sampleHost("sealed");
    const shown = await openWebview(browser, { theme: "dark", onMessage: host.answer });
    open.push(shown);
    const effects = shown.page.locator(".row:visible .effects span");
    await effects.first().waitFor();
    const before = await effects.allInnerTexts();
    assert.ok(before.length > 0);
    const asked = (): number => shown.said.filter(({ type }) => type === "window").length;
    const first = asked();
    // The same order once more: every row is asked for anew.
    await shown.page.evaluate("globalThis.placeholders = 0");
    await shown.page.evaluate(`new MutationObserver((changes) => {
      for (const { target } of changes) if (target.className === "row loading") globalThis.placeholders++;
    }).observe(document.querySelector(".rows"), { attributes: true, subtree: true, attributeFilter: ["class"] })`);
    host.answer({ type: "filter", filter: everything }, shown.send);
    await until("the rows are asked for", () => asked() > first);
    await shown.page.locator(".row.loading:visible").first().waitFor({ state: "detached" });
    assert.ok((await shown.page.evaluate<number>("globalThis.placeholders")) > 0);
    assert.deepEqual(await effects.allInnerTexts(), before);
  });

  it("shows every row in its place, and none twice, however it is scrolled", async () => {
    const host = sampleHost("running", largeJournal(3000));
    // One row for each call, in the order of the calls: at position n is what was done to file n.
    host.view.setFilter({ ...everything, grouping: "time" });
    const shown = await openWebview(browser, { theme: "dark", onMessage: host.answer });
    open.push(shown);
    const { page } = shown;
    await page.locator(".row .title", { hasText: "file0.ts" }).waitFor();
    const seen = `[...document.querySelectorAll(".row:not([hidden])")].map((row) =>
      [new DOMMatrix(row.style.transform).f / row.clientHeight, row.querySelector(".title")?.textContent])`;
    const jumps = [2400, 4800, 4900, 4700, 30_000, 29_000, 0, 60_000, 59_976, 24];
    for (const top of jumps) {
      await page.evaluate(`document.querySelector(".list").scrollTop = ${top}`);
      // Several jumps without a rest, then one.
      if (top % 100 !== 0) continue;
      const position = Math.floor(top / 24);
      const inSight = Math.min(20, 3000 - position);
      // The one row that has the focus is kept, wherever it is.
      await untilSo(
        page,
        `((rows) => {
        const near = rows.map(([at]) => at).filter((at) => Math.abs(at - ${position}) < 80);
        const seen = near.filter((at) => at >= ${position} && at < ${position} + 20);
        const right = rows.every(([at, title]) => title?.endsWith("/file" + at + ".ts") === true);
        return right && near.length >= rows.length - 1 && new Set(near).size === near.length && seen.length === ${inSight};
      })(${seen})`,
      );
    }
  });

  it("says in full what is under the pointer", async () => {
    const { page } = await show("running");
    const row = page.locator(".row:visible", { has: page.locator(".verb", { hasText: "Edit" }) });
    await row.first().hover();
    await untilSo(page, `document.querySelector(".row[title*='Edit · src/']:hover") !== null`);
  });

  it("asks once for a snapshot when it has missed changes", async () => {
    const host = sampleHost("running");
    const waiting: (() => void)[] = [];
    const shown = await openWebview(browser, {
      theme: "dark",
      onMessage: (message, send) => waiting.push(() => host.answer(message, send)),
    });
    open.push(shown);
    const readies = (): number => shown.said.filter(({ type }) => type === "ready").length;
    const answer = (): void => {
      for (const one of waiting.splice(0)) one();
    };
    await until("it is ready", () => readies() === 1);
    answer();
    await shown.page.locator('body[data-state="running"]').waitFor();
    const missed: ToWebview = {
      type: "changed",
      generation: host.view.layout().generation + 5,
      splices: [],
      rows: [],
      totals: host.view.totals(),
    };
    await shown.send(missed);
    await shown.send(missed);
    await until("it asks", () => readies() === 2);
    // What it says is in order: an answer to this comes after a second question would have.
    await shown.page.evaluate(`postMessage({ type: "no such message" }, "*")`);
    await until("it reports", () => shown.said.some(({ type }) => type === "failed"));
    assert.equal(readies(), 2);
    answer();
    await shown.send(missed);
    await until("it asks again after the answer", () => readies() === 3);
  });

  it("reports a message that does not fit and goes on", async () => {
    const { page, said } = await show("running");
    await page.evaluate(`postMessage({ type: "header", header: { state: "no such state" } }, "*")`);
    await page.waitForFunction("true");
    await assert.doesNotReject(async () => {
      while (!said.some(({ type }) => type === "failed")) await page.waitForTimeout(20);
    });
    assert.equal(await page.locator("body").getAttribute("data-state"), "running");
  });
});
