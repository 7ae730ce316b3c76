// The colour bar: the colours of values from the lower to the upper cut, as the shader draws them.

import { brightness, colourTable } from "./gl.js";
import { byId } from "./dom.js";
import { nameOf } from "./maps.js";
import { ticks, unit } from "./words.js";

/** @param {import("./main.js").App} app */
export function showColourBar(app) {
  const { store } = app;
  const canvas = byId("colourbar-canvas", HTMLCanvasElement);
  const place = byId("colourbar-ticks", HTMLElement);
  const draw = () => {
    const look = store.state;
    paint(canvas, look);
    const values = [0, 0.25, 0.5, 0.75, 1].map((at) => look.low + at * (look.high - look.low));
    place.replaceChildren(
      ...ticks(values, 3).map((value) => {
        const text = document.createElement("span");
        text.textContent = value;
        return text;
      }),
    );
    const { operation, first, last } = look.layer;
    const name = operation === "channel" ? "" : `${nameOf(operation)} of channels ${first}–${last}`;
    byId("colourbar-name", HTMLElement).textContent = [name, unit(app.unit())].filter(Boolean).join(" · ");
  };
  store.on(["low", "high", "map", "inverted", "stretch", "power", "bias", "contrast", "dataset", "layer"], draw);
  draw();
}

/**
 * Paint a row of colours.
 * @param {HTMLCanvasElement} canvas of height 1
 * @param {import("./gl.js").Look} look
 */
export function paint(canvas, look) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const table = colourTable(look.map, look.inverted);
  const row = context.createImageData(canvas.width, 1);
  for (let i = 0; i < canvas.width; i++) {
    const value = look.low + ((i + 0.5) / canvas.width) * (look.high - look.low);
    const at = 4 * Math.round(255 * brightness(value, look));
    row.data.set(table.subarray(at, at + 4), 4 * i);
  }
  context.putImageData(row, 0, 0);
}
