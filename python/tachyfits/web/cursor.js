// The pixel under the cursor: its value and where it is, and its spectrum.

import { Latest, askJson } from "./api.js";
import { byId } from "./dom.js";
import { number, position } from "./words.js";

/** @typedef {import("./regions.js").Point} Point */

export class Cursor {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    this.place = byId("readout", HTMLElement);
    /** @type {Point | null} */
    this.at = null;
    this.asking = new Latest((wanted, signal) => this.load(wanted, signal), (error) => app.tell(error));
    app.viewer.pointed = (at) => this.point(at);
    app.store.on(["channel", "layer", "dataset"], () => this.point(this.at));
  }

  /** @param {Point | null} at */
  point(at) {
    const { dataset, follow } = this.app.store.state;
    this.at = at;
    const x = Math.round(at?.x ?? 0);
    const y = Math.round(at?.y ?? 0);
    const inside = at && dataset && x >= 1 && y >= 1 && x <= dataset.width && y <= dataset.height;
    if (!inside) {
      this.asking.stop();
      if (!at) this.app.dock.spectra.point(null);
      return;
    }
    this.asking.ask({ x, y });
    if (follow && !this.app.viewer.drag && dataset.channels > 1) this.app.dock.spectra.point({ x, y });
  }

  /**
   * @param {Point} pixel
   * @param {AbortSignal} signal
   */
  async load(pixel, signal) {
    const { dataset, channel, others } = this.app.store.state;
    if (!dataset) return;
    const asked = { id: dataset.id, hdu: dataset.hdu, others, version: dataset.version, channel, ...pixel };
    this.show(await askJson("pixel", asked, { signal, view: "pixel" }));
  }

  /** @param {any} found */
  show(found) {
    const { layer } = this.app.store.state;
    const lines = [["Value", `${number(found.value, 7)}${found.unit ? ` ${found.unit}` : ""}`]];
    if (layer.operation !== "channel") lines[0][0] = `Channel ${found.channel}`;
    if (found.sky) lines.push([found.sky.frame.toUpperCase(), position(found.sky)]);
    lines.push(["Pixel", `${found.x}, ${found.y}`]);
    if (found.spectral) {
      const { name, value, unit } = found.spectral;
      lines.push([name, `${number(value, 8)} ${unit ?? ""}`]);
    }
    this.place.replaceChildren(
      ...lines.flatMap(([name, value]) => {
        const label = document.createElement("span");
        label.className = "dim";
        label.textContent = name;
        const text = document.createElement("b");
        text.textContent = value;
        text.dataset.name = name;
        return [label, text];
      }),
    );
    this.place.dataset.pixel = `${found.x},${found.y},${found.channel}`;
    this.place.dataset.value = String(found.value);
  }
}
