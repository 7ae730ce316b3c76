// The histogram of the plane that is shown, with the cuts in it, which can be dragged.

import { Latest, askJson } from "./api.js";
import { make } from "./dom.js";
import { number } from "./words.js";

const BINS = 128;

/** @param {import("./main.js").App} app */
export function cutHistogram(app) {
  const { store, viewer } = app;
  const canvas = make("canvas", {
    class: "small-chart", tabindex: 0, role: "slider", "aria-label": "Cuts in the histogram: arrows move the upper cut, with Shift the lower one",
  });
  const note = make("p", { class: "note" });
  /** @type {{low: number, high: number, counts: number[], undefined: number} | null} */
  let found = null;
  const asking = new Latest(load, (error) => app.tell(error));

  /** @param {import("./api.js").Parameters} asked @param {AbortSignal} signal */
  async function load(asked, signal) {
    found = await askJson("histogram", asked, { signal, view: "histogram", doing: "Counting pixels" });
    draw();
  }

  function ask() {
    const plane = viewer.plane();
    const { low, high } = store.state;
    if (!plane || !(high > low) || !canvas.clientWidth) return;
    canvas.hidden = plane.collapse !== undefined && (store.state.dataset?.collapse_level ?? 0) > 0;
    if (canvas.hidden) {
      note.textContent = "A map of this size has no histogram. Select a region to measure it.";
      return;
    }
    const margin = 0.5 * (high - low);
    // Numbers of the page and of the engine are float64: the sides of bins must differ.
    canvas.hidden = (2 * margin) / BINS < 4 * Number.EPSILON * Math.max(Math.abs(low), Math.abs(high));
    if (canvas.hidden) {
      note.textContent = "The values are too close to each other for a histogram.";
      return;
    }
    asking.ask({ ...plane, bins: BINS, low: low - margin, high: high + margin });
  }

  /** Ask again where the cuts have left the range, or are a small part of it. */
  function follow() {
    const { low, high } = store.state;
    const span = found ? found.high - found.low : 0;
    if (!found || low < found.low || high > found.high || (high - low) * 8 < span) ask();
    draw();
  }

  function draw() {
    const { clientWidth: width, clientHeight: height } = canvas;
    const context = canvas.getContext("2d");
    if (!context || !width || !found) return;
    const ratio = devicePixelRatio;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    context.scale(ratio, ratio);
    const theme = getComputedStyle(canvas);
    const most = Math.log1p(Math.max(1, ...found.counts));
    const base = height - 16;
    const { low, high } = store.state;
    const x = (/** @type {number} */ value) => found ? ((value - found.low) / (found.high - found.low)) * width : 0;
    context.fillStyle = theme.getPropertyValue("--range").trim();
    context.fillRect(x(low), 0, x(high) - x(low), base);
    context.fillStyle = theme.color;
    found.counts.forEach((count, i) => {
      const tall = (Math.log1p(count) / most) * (base - 6);
      context.fillRect((i / BINS) * width, base - tall, width / BINS + 0.4, tall);
    });
    context.fillStyle = theme.getPropertyValue("--accent").trim();
    for (const at of [low, high]) context.fillRect(x(at) - 1, 0, 2, base);
    context.fillStyle = theme.color;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText(number(found.low, 3), 0, height - 3);
    context.textAlign = "right";
    context.fillText(number(found.high, 3), width, height - 3);
    canvas.setAttribute("aria-valuetext", `${number(low)} to ${number(high)}`);
    const pixels = found.undefined ? ` · ${found.undefined} pixels are undefined` : "";
    note.textContent = `Pixels by value, counts on a logarithmic scale${pixels}`;
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (!found) return;
    canvas.setPointerCapture(event.pointerId);
    const value = (/** @type {PointerEvent} */ at) =>
      found ? found.low + (at.offsetX / canvas.clientWidth) * (found.high - found.low) : 0;
    const { low, high } = store.state;
    const lower = Math.abs(value(event) - low) < Math.abs(value(event) - high);
    const move = (/** @type {PointerEvent} */ at) => {
      const next = value(at);
      if (lower && next < store.state.high) store.set({ low: next, cuts: "manual" });
      if (!lower && next > store.state.low) store.set({ high: next, cuts: "manual" });
    };
    move(event);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", () => {
      canvas.removeEventListener("pointermove", move);
      follow();
    }, { once: true });
  });
  canvas.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.stopPropagation();
    event.preventDefault();
    const { low, high } = store.state;
    const step = (by * (high - low)) / 50;
    store.set(event.shiftKey ? { low: Math.min(low + step, high - 2 * Math.abs(step)), cuts: "manual" } : { high: Math.max(high + step, low + 2 * Math.abs(step)), cuts: "manual" });
  });
  store.on(["channel", "others", "layer", "dataset"], () => {
    if (store.state.cuts === "manual" || store.state.layer.operation === "channel") ask();
  });
  store.on(["low", "high"], follow);
  document.addEventListener("themechange", draw);
  new ResizeObserver(() => (found ? draw() : ask())).observe(canvas);
  return make("div", { class: "group" }, canvas, note);
}
