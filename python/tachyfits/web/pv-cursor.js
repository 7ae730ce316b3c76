// The cursor of the position–velocity diagram: offset, spectral coordinate and value under it.

import { make } from "./dom.js";
import { number, unit } from "./words.js";

/** @typedef {import("./pv.js").Diagram} Diagram */

/**
 * Show what is under the pointer; a click shows that channel over the image.
 * @param {Diagram} diagram
 */
export function pvCursor(diagram) {
  const { app, canvas } = diagram;
  const across = make("div", { class: "pv-line", hidden: true, "aria-hidden": true });
  const along = make("div", { class: "pv-line", hidden: true, "aria-hidden": true });
  const text = make("output", { class: "pv-readout", id: "pv-readout" });
  const width = make("input", { type: "number", min: 1, max: 1000, value: diagram.width, "aria-label": "Pixels across the cut" });
  const tools = make("label", { class: "pv-width" }, "Width", width);
  diagram.place.append(across, along, text, tools);

  width.addEventListener("change", () => {
    diagram.width = Math.min(1000, Math.max(1, Math.round(Number(width.value)) || 1));
    diagram.follow();
  });

  /** Return the sample and the channel at a place of the canvas, from 0; null beside the diagram. @param {MouseEvent} event */
  function placeOf(event) {
    const { found, box } = diagram;
    if (!found || !box) return null;
    const { left, top } = canvas.getBoundingClientRect();
    const sample = Math.floor(((event.clientX - left - box.x) / box.w) * found.tile.width);
    const channel = Math.floor(((box.y + box.h - (event.clientY - top)) / box.h) * found.tile.height);
    const isInside = sample >= 0 && channel >= 0 && sample < found.tile.width && channel < found.tile.height;
    return isInside ? { sample, channel } : null;
  }

  canvas.addEventListener("pointermove", (event) => {
    const { found, box } = diagram;
    const at = placeOf(event);
    across.hidden = along.hidden = !at;
    if (!at || !found || !box) {
      text.textContent = "";
      return;
    }
    const x = box.x + ((at.sample + 0.5) / found.tile.width) * box.w;
    const y = box.y + box.h - ((at.channel + 0.5) / found.tile.height) * box.h;
    Object.assign(across.style, { left: `${x}px`, top: `${box.y}px`, width: "1px", height: `${box.h}px` });
    Object.assign(along.style, { left: `${box.x}px`, top: `${y}px`, width: `${box.w}px`, height: "1px" });
    const { axis } = app.dock.spectra;
    const value = found.tile.pixels[at.channel * found.tile.width + at.sample];
    const spectral = axis ? `${number(axis.values[at.channel], 6)} ${unit(axis.unit)}` : "";
    const pixels = app.store.state.dataset?.unit;
    text.textContent = [`${number(at.sample * found.step, 5)} ${found.unit}`, spectral, `channel ${at.channel + 1}`, `${number(value)} ${unit(pixels)}`].join(" · ");
  });
  canvas.addEventListener("pointerleave", () => {
    across.hidden = along.hidden = true;
    text.textContent = "";
  });
  canvas.addEventListener("click", (event) => {
    const at = placeOf(event);
    if (at) app.channels.go(at.channel + 1);
  });
  return { refresh: () => (width.value = String(diagram.width)) };
}
