/**
 * What is measured inside the timeline's page, as expressions: what the loader adds to functions to keep their names is not
 * there. The benches evaluate the same ones in a headless browser and in the editor.
 */

function framesOf(list: string): string {
  return `new Promise((resolve) => {
    const list = ${list};
    const times = [];
    let last = performance.now();
    const step = (now) => {
      times.push(now - last);
      last = now;
      list.scrollTop += 2400;
      if (times.length < 151) requestAnimationFrame(step);
      else {
        resolve(times.slice(1));
        if (list.className === "plainList") list.remove();
      }
    };
    requestAnimationFrame(step);
  })`;
}

/** Scrolls fast for 150 frames and gives how long each took, milliseconds. */
export const scroll = framesOf(`document.querySelector(".list")`);

/** The same over a list of 150 lines of text and a long empty rest that no script touches: what the machine allows. */
export const plainScroll = framesOf(`(() => {
  const list = document.createElement("div");
  list.className = "plainList";
  list.style.cssText = "position: fixed; inset: 0; overflow: auto; background: Canvas; z-index: 9";
  for (let line = 0; line < 150; line++)
    list.append(Object.assign(document.createElement("div"), { textContent: "line " + line }));
  const rest = document.createElement("div");
  rest.style.height = "2400000px";
  list.append(rest);
  document.body.append(list);
  return list;
})()`);

/** Milliseconds of each frame until {@link stopFrames} is evaluated. */
export const frames = `new Promise((resolve) => {
  const times = [];
  let last = performance.now();
  globalThis.holdfastStop = false;
  const step = (now) => {
    times.push(now - last);
    last = now;
    if (globalThis.holdfastStop) resolve(times.slice(1));
    else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

export const stopFrames = "globalThis.holdfastStop = true";

/** A frame that took longer was not shown in its turn of 60 a second. */
export const lateFrameMs = 25;

export function p95(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? NaN;
}

export function late(times: readonly number[]): number {
  return times.filter((ms) => ms > lateFrameMs).length;
}
