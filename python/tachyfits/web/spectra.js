// Spectra of regions and of the pixel under the cursor: asked for while they are dragged.

import { ApiError, Latest, ask, askJson, isStale } from "./api.js";
import { hasArea, textOf } from "./regions.js";
import { placeOf, readable } from "./state.js";

/** @typedef {import("./regions.js").Region} Region */

/** @typedef {{name: string, unit: string | null, values: number[]}} Axis */

/**
 * @typedef {object} Curve
 * @property {string} text region as text
 * @property {Float64Array} values
 */

/** Identity of the curve under the cursor among those of regions. */
export const CURSOR = 0;

export class Spectra {
  /**
   * @param {import("./state.js").Store} store
   * @param {() => void} changed
   * @param {(error: unknown) => void} failed
   */
  constructor(store, changed, failed) {
    this.store = store;
    this.changed = changed;
    this.failed = failed;
    /** @type {Map<number, Curve>} by region */
    this.curves = new Map();
    /** @type {Map<number, Latest<string>>} */
    this.running = new Map();
    /** @type {Axis | null} */
    this.axis = null;
    /** Unit of the values: that of fluxes is not that of the pixels. */
    this.unit = "";
  }

  /** Parameters that all requests for spectra have. */
  common() {
    const { dataset, others, statistic } = this.store.state;
    if (!dataset) throw new Error("no image is open");
    return { ...placeOf(dataset), others, statistic, channels: readable(dataset) };
  }

  /** Ask for the spectrum of a region; only the newest of a region is asked for. @param {Region} region */
  follow(region) {
    if ((this.store.state.dataset?.channels ?? 1) < 2 || !hasArea(region)) return;
    this.request(region.id, textOf(region));
  }

  /**
   * @param {number} id
   * @param {string} text
   */
  request(id, text) {
    let running = this.running.get(id);
    if (!running) {
      running = new Latest((wanted, signal) => this.load(id, wanted, signal), this.failed);
      this.running.set(id, running);
    }
    running.ask(text);
  }

  /**
   * @param {number} id
   * @param {string} region
   * @param {AbortSignal} signal
   */
  async load(id, region, signal) {
    const asked = { ...this.common(), region, format: "binary" };
    const options = { signal, view: `spectrum-${id}`, doing: "Computing a spectrum" };
    const answer = await ask("spectrum", asked, options);
    const found = new Float64Array(await answer.arrayBuffer());
    // Channels beyond the end of a truncated file are a gap.
    const values = new Float64Array(this.store.state.dataset?.channels ?? found.length).fill(NaN);
    values.set(found.subarray(0, values.length));
    if (asked.id !== this.store.state.dataset?.id || !this.running.has(id)) return;
    this.curves.set(id, { text: region, values });
    this.changed();
  }

  /** Ask for the axis in the unit of the state, and use it from then on. */
  async loadAxis() {
    const { dataset, spectralUnit } = this.store.state;
    if (!dataset || dataset.channels < 2) return;
    if (spectralUnit === "channel") {
      const values = Array.from({ length: dataset.channels }, (_, i) => i + 1);
      this.axis = { name: "Channel", unit: null, values };
      this.changed();
      return;
    }
    try {
      const asked = { ...placeOf(dataset), unit: spectralUnit || null };
      const axis = await askJson("axis", asked, { doing: "Reading the spectral axis" });
      if (this.store.state.dataset !== dataset || this.store.state.spectralUnit !== spectralUnit) return;
      this.axis = axis;
      this.changed();
    } catch (error) {
      if (isStale(error)) return;
      this.failed(error);
      // Cards that cannot be used leave the numbers of the channels.
      this.store.set({ spectralUnit: spectralUnit ? "" : "channel" });
    }
  }

  /** Ask for the unit of the statistic. */
  async loadUnit() {
    const { dataset, statistic } = this.store.state;
    if (!dataset || dataset.channels < 2) return;
    this.unit = dataset.unit ?? "";
    if (statistic !== "flux") return;
    this.unit = "";
    try {
      const { unit } = await askJson("spectrum", { ...this.common(), region: "point(1,1)" });
      if (statistic !== this.store.state.statistic) return;
      this.unit = unit ?? "";
      this.changed();
    } catch (error) {
      // The spectra themselves tell why there is no flux.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** Forget curves of regions that are gone, and ask for those that changed or are new. */
  sync() {
    const { regions } = this.store.state;
    const known = new Set([CURSOR, ...regions.map((region) => region.id)]);
    for (const [id, running] of this.running) {
      if (known.has(id)) continue;
      running.stop();
      this.running.delete(id);
      this.curves.delete(id);
    }
    for (const region of regions) {
      if (region.values.length && this.curves.get(region.id)?.text !== textOf(region)) this.follow(region);
    }
    this.changed();
  }

  /** Forget everything: another image, or another statistic. */
  clear() {
    for (const running of this.running.values()) running.stop();
    this.running.clear();
    this.curves.clear();
  }

  /** Follow the cursor: null when it left. @param {{x: number, y: number} | null} pixel */
  point(pixel) {
    if (!pixel) {
      this.running.get(CURSOR)?.stop();
      if (this.curves.delete(CURSOR)) this.changed();
      return;
    }
    this.request(CURSOR, `point(${pixel.x},${pixel.y})`);
  }
}
