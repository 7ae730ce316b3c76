// The tab "Plots": the position–velocity diagram, and the histogram of the selected region.

import { Latest, linkTo, askJson } from "./api.js";
import { make, row } from "./dom.js";
import { group } from "./panel.js";
import { hasArea, textOf, titleOf } from "./regions.js";
import { number, unit } from "./words.js";

const BINS = 60;

/** @param {import("./main.js").App} app */
export function plotsTab(app) {
  const { store, viewer, dock } = app;
  const width = make("input", { type: "number", min: 1, max: 1000, value: 1, "aria-label": "Width of the cut in pixels" });
  const draw = make("button", { type: "button", onclick: () => start() }, "Draw a line");
  const save = make("a", { href: "#", download: "" }, "Download as FITS");
  const canvas = make("canvas", { class: "small-chart", role: "img", "aria-label": "Histogram of the region" });
  const note = make("p", { class: "note" });
  const asking = new Latest(load, (error) => app.tell(error));

  function start() {
    app.store.set({ below: "pv" });
    if (!dock.diagram.line()) store.set({ tool: "line" });
  }

  width.addEventListener("change", () => {
    dock.diagram.width = Math.min(1000, Math.max(1, Math.round(Number(width.value)) || 1));
    width.value = String(dock.diagram.width);
    dock.diagram.follow();
    refresh();
  });

  /** @param {import("./api.js").Parameters} asked @param {AbortSignal} signal */
  async function load(asked, signal) {
    show(await askJson("histogram", asked, { signal, view: "region-histogram", doing: "Counting pixels" }));
  }

  /** @param {{low: number, high: number, counts: number[], unit: string | null}} found */
  function show({ low, high, counts, unit: name }) {
    const context = canvas.getContext("2d");
    const { clientWidth: w, clientHeight: h } = canvas;
    if (!context || !w) return;
    canvas.width = w * devicePixelRatio;
    canvas.height = h * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const theme = getComputedStyle(canvas);
    const most = Math.max(1, ...counts);
    context.fillStyle = theme.getPropertyValue("--accent").trim();
    counts.forEach((count, i) => {
      const tall = (count / most) * (h - 22);
      context.fillRect((i / counts.length) * w, h - 16 - tall, w / counts.length - 0.5, tall);
    });
    context.fillStyle = theme.color;
    context.font = "11px system-ui, sans-serif";
    [low, (low + high) / 2, high].forEach((value, i) => {
      context.textAlign = /** @type {const} */ (["left", "center", "right"])[i];
      context.fillText(number(value, 3), (i / 2) * w, h - 3);
    });
    const count = counts.reduce((sum, one) => sum + one, 0);
    note.textContent += ` · ${count} pixels, ${unit(name) || "no unit"}, at most ${most} in a bin`;
  }

  function refresh() {
    const path = dock.diagram.path();
    const asked = dock.diagram.parameters(path);
    save.hidden = !path || !asked;
    if (asked && path) save.href = linkTo("pv", { ...asked, format: "fits" });
    draw.textContent = path ? "Show the diagram below" : "Draw a line";
    draw.disabled = (store.state.dataset?.channels ?? 1) < 2;
    const { regions, selected } = store.state;
    const region = regions.find((one) => one.id === selected && hasArea(one) && one.kind !== "point");
    const plane = viewer.plane();
    if (!plane) return;
    note.textContent = region ? titleOf(region) : "Whole plane";
    asking.ask({ ...plane, bins: BINS, region: region && region.values.length ? textOf(region) : null });
  }

  store.on(["regions", "selected", "channel", "layer", "dataset", "others"], () => {
    if (!content.hidden) refresh();
  });
  const content = make(
    "div",
    {},
    group("Position–velocity diagram", make("p", { class: "note" }, "The cube along a line: offset to the right, the spectral axis upwards."), row("Width", width, make("output", {}, "pixels")), make("div", { class: "buttons" }, draw, save)),
    group("Histogram", canvas, note),
  );
  content.addEventListener("shown", refresh);
  return content;
}
