// Spectra of regions and of the pixel under the cursor: asked for while they are dragged.

import { ApiError, Latest, ask, askJson, isStale } from "./api.js";
import { hasArea, textOf } from "./regions.js";
import { axisOf, placeOf, readable } from "./state.js";

/** @typedef {import("./regions.js").Region} Region */

/**
 * @typedef {object} Axis
 * @property {string} name
 * @property {string | null} unit
 * @property {number[]} values
 * @property {number | null} [rest_hz] frequency about which velocities are counted
 * @property {string | null} [frame]
 * @property {string} [note] how the header's coordinates were converted
 * @property {Axis} [of] the axis of the leading image, for which it was loaded
 */

/**
 * @typedef {object} Curve
 * @property {string} text region as text
 * @property {Float64Array} values
 */

/** Identity of the curve under the cursor among those of regions. */
export const CURSOR = 0;

/** @typedef {Pick<import("./state.js").State, "spectralUnit" | "rest" | "redshift" | "convention" | "frame">} Form */

/** The axis as the header has it. @type {Form} */
const OF_HEADER = { spectralUnit: "", rest: "", redshift: "", convention: "", frame: "" };

/**
 * Return a value for each channel: channels beyond the end of a truncated file are a gap.
 * @param {ArrayLike<number | null>} found means of bins; null is undefined
 * @param {number} channels
 * @param {number} bin channels of a bin
 */
export function byChannel(found, channels, bin) {
  const values = new Float64Array(channels).fill(NaN);
  const most = Math.min(values.length, found.length * bin);
  for (let i = 0; i < most; i++) values[i] = found[Math.floor(i / bin)] ?? NaN;
  return values;
}

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
    /** @type {Form} of the axis that is shown */
    this.form = OF_HEADER;
    this.axisLoaded = Promise.resolve();
    /** Unit of the values: that of fluxes is not that of the pixels. */
    this.unit = "";
  }

  /** Parameters that all requests for spectra have. */
  common() {
    const { dataset, others, statistic } = this.store.state;
    if (!dataset) throw new Error("no image is open");
    return { ...placeOf(dataset), others, statistic, channels: readable(dataset) };
  }

  /** Parameters of how spectra are shown. */
  display() {
    const { smooth, bin } = this.store.state;
    return { smooth: smooth || null, bin: bin > 1 ? bin : null };
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
    if (!running.isAsking(text)) running.ask(text);
  }

  /**
   * @param {number} id
   * @param {string} region
   * @param {AbortSignal} signal
   */
  async load(id, region, signal) {
    const asked = { ...this.common(), ...this.display(), region };
    const channels = this.store.state.dataset?.channels ?? 0;
    const answer = await ask("spectrum", { ...asked, format: "binary" }, { signal, view: `spectrum-${id}`, doing: "Computing a spectrum" });
    const values = byChannel(new Float64Array(await answer.arrayBuffer()), channels, asked.bin ?? 1);
    if (asked.id !== this.store.state.dataset?.id || !this.running.has(id)) return;
    this.curves.set(id, { text: region, values });
    this.changed();
  }

  /** Load the axis; `axisLoaded` is fulfilled when that is done. */
  followAxis() {
    this.axisLoaded = this.loadAxis();
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
      const form = axisOf(this.store.state);
      const axis = await askJson("axis", { ...placeOf(dataset), ...form }, { doing: "Reading the spectral axis" });
      if (this.store.state.dataset !== dataset || JSON.stringify(axisOf(this.store.state)) !== JSON.stringify(form)) return;
      this.axis = axis;
      const { rest, redshift, convention, frame } = this.store.state;
      this.form = { spectralUnit, rest, redshift, convention, frame };
      this.changed();
    } catch (error) {
      if (isStale(error)) return;
      this.failed(error);
      // A form that the header does not allow gives way to the last one; without any, numbers are left.
      const last = { ...this.form };
      this.form = OF_HEADER;
      const isSame = Object.entries(last).every(([key, value]) => this.store.state[/** @type {keyof Form} */ (key)] === value);
      this.store.set(isSame ? { ...OF_HEADER, spectralUnit: spectralUnit ? "" : "channel" } : last);
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

  /** Another image was opened. */
  opened() {
    this.clear();
    this.axis = null;
    this.form = OF_HEADER;
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
