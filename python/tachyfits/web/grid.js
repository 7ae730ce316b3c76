// The grid of sky coordinates: lines that the server computes for what is on screen.

import { Latest, askJson } from "./api.js";
import { placeOf } from "./state.js";

/** Milliseconds without a change before a grid is asked for. */
const REST = 120;

/** @param {import("./main.js").App} app */
export function showGrid(app) {
  const { store, viewer, overlay } = app;
  const asking = new Latest(load, (error) => {
    store.set({ grid: false });
    app.tell(error);
  });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @param {string} box @param {AbortSignal} signal */
  async function load(box, signal) {
    const { dataset } = store.state;
    if (!dataset || !store.state.grid) return;
    const found = await askJson("grid", { ...placeOf(dataset), box, lines: 6 }, { signal, view: "grid" });
    /** @type {import("./regions.js").Point[][]} */
    const lines = [];
    /** @type {import("./overlay.js").Label[]} */
    const labels = [];
    const [, y1, x2] = box.split(",").map(Number);
    // Longitudes are named at the lower side, latitudes at the right one.
    for (const [kind, side, align] of /** @type {const} */ ([["longitude", "bottom", "center"], ["latitude", "right", "right"]])) {
      for (const { label, parts, ends } of found[kind]) {
        for (const part of parts) lines.push(part.map((/** @type {number[]} */ at) => ({ x: at[0], y: at[1] })));
        const end = ends.find((/** @type {any} */ one) => one.side === side);
        if (end) labels.push({ at: side === "bottom" ? { x: end.at, y: y1 } : { x: x2, y: end.at }, text: label, align });
      }
    }
    overlay.lines.set("grid", { lines, labels, colour: "rgba(255, 255, 255, 0.45)", dashed: false });
    viewer.redraw();
  }

  function refresh() {
    clearTimeout(timer);
    const { dataset, grid } = store.state;
    if (!grid || !dataset?.coordinates.sky) {
      if (overlay.lines.delete("grid")) viewer.redraw();
      return;
    }
    timer = setTimeout(() => {
      // The part of the image that is on screen.
      const [a, b] = [viewer.toImage(0, viewer.height), viewer.toImage(viewer.width, 0)];
      const [x1, y1] = [Math.max(0.5, a.x), Math.max(0.5, a.y)];
      const [x2, y2] = [Math.min(dataset.width + 0.5, b.x), Math.min(dataset.height + 0.5, b.y)];
      if (x1 < x2 && y1 < y2) asking.ask([x1, y1, x2, y2].map((at) => at.toFixed(3)).join(","));
    }, REST);
  }

  store.on(["grid", "dataset", "centre", "scale"], refresh);
  refresh();
}
