// The pixel under the cursor: its value and where it is, and its spectrum.

import { Latest, askJson } from "./api.js";
import { byId, make } from "./dom.js";
import { number, position, unit } from "./words.js";

/** @typedef {import("./regions.js").Point} Point */

export class Cursor {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    this.place = byId("readout", HTMLElement);
    /** @type {Point | null} */
    this.at = null;
    /** @type {Point | null} the pixel whose values are shown */
    this.named = null;
    this.asking = new Latest((wanted, signal) => this.load(wanted, signal), (error) => app.tell(error));
    app.viewer.pointed = (at) => this.point(at);
    app.viewer.tapped = (at) => this.point(at);
    // What the strip says is of the plane that is shown, also after the pointer left.
    app.store.on(["channel", "layer", "others", "beside"], () => {
      if (!this.named) return;
      this.asking.ask(this.named);
      app.images.point(this.named);
    });
    app.store.on(["dataset"], () => this.clear());
  }

  /** @param {Point | null} at */
  point(at) {
    const { dataset, follow } = this.app.store.state;
    this.at = at;
    this.app.overlay.follow(at);
    const x = Math.round(at?.x ?? 0);
    const y = Math.round(at?.y ?? 0);
    const inside = at && dataset && x >= 1 && y >= 1 && x <= dataset.width && y <= dataset.height;
    if (!inside) {
      if (!at) {
        this.app.dock.spectra.point(null);
        this.app.images.point(null);
      }
      return;
    }
    this.named = { x, y };
    this.asking.ask(this.named);
    this.app.images.point(this.named);
    if (!follow || dataset.channels < 2) return;
    // While something is dragged its own spectrum is what counts.
    this.app.dock.spectra.point(this.app.viewer.drag ? null : { x, y });
  }

  /** Another image was opened. */
  clear() {
    this.asking.stop();
    this.named = null;
    this.place.replaceChildren();
    delete this.place.dataset.pixel;
    delete this.place.dataset.value;
  }

  /**
   * @param {Point} pixel
   * @param {AbortSignal} signal
   */
  async load(pixel, signal) {
    const { dataset, channel } = this.app.store.state;
    const plane = this.app.viewer.plane();
    if (!dataset || !plane) return;
    const asked = { channel, ...plane, ...pixel };
    const found = await askJson("pixel", asked, { signal, view: "pixel" });
    if (dataset === this.app.store.state.dataset) this.show(found);
  }

  /** Show the values of the other images at the same place. */
  showOthers() {
    for (const old of this.place.querySelectorAll("[data-image]")) old.remove();
    if (!this.named) return;
    this.app.images.values().forEach(([name, value], i) => {
      this.place.append(make("div", { "data-image": i }, make("dt", {}, name), make("dd", {}, value)));
    });
  }

  /** @param {any} found */
  show(found) {
    const { axis } = this.app.dock.spectra;
    const parts = [["Value", `${number(found.value, 7)}${found.unit ? ` ${unit(found.unit)}` : ""}`]];
    if (found.sky) parts.push([found.sky.frame.toUpperCase(), position(found.sky)]);
    parts.push(["Pixel", `${found.x}, ${found.y}`]);
    if (found.spectral && axis) {
      parts.push([axis.name, `${number(axis.values[found.channel - 1], 8)} ${unit(axis.unit)}`]);
    }
    this.place.replaceChildren(
      ...parts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    );
    this.place.dataset.pixel = `${found.x},${found.y},${found.channel}`;
    this.place.dataset.value = String(found.value);
    this.showOthers();
  }
}
