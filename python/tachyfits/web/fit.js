// The fit of Gaussians to the spectrum of a region: it follows the region, the ranges and the axis.

import { ApiError, Latest, askJson, linkTo } from "./api.js";
import { hasArea, textOf } from "./regions.js";
import { axisOf, placeOf } from "./state.js";

/** @typedef {Record<"amplitude" | "centre" | "fwhm" | "integral", number | null> & Record<string, number | null>} Component */

/**
 * @typedef {object} Result what /api/v1/fit says
 * @property {Component[]} components
 * @property {Record<string, string | null>} units
 * @property {number | null} rms
 * @property {number | null} chi2
 * @property {number} channels
 * @property {number} flag
 * @property {string} meaning
 * @property {number | null} noise
 * @property {number} first channel of the first value of the model, from 1
 * @property {(number | null)[]} model
 */

export class Fit {
  /**
   * @param {import("./main.js").App} app
   * @param {() => void} changed
   */
  constructor(app, changed) {
    this.app = app;
    this.changed = changed;
    /** @type {Result | null} */
    this.result = null;
    this.problem = "";
    this.asking = new Latest((/** @type {import("./api.js").Parameters} */ asked, signal) => this.load(asked, signal), (error) => this.fail(error));
    app.store.on(
      ["fitted", "fitChannels", "fitFree", "gaussians", "baseline", "regions", "selected", "statistic", "others",
        "spectralUnit", "rest", "redshift", "convention", "frame", "dataset"],
      () => this.follow(),
    );
  }

  /** The region whose spectrum is fitted: the selected one, else the first. */
  region() {
    const { regions, selected } = this.app.store.state;
    return regions.find((one) => one.id === selected && hasArea(one)) ?? regions.find(hasArea);
  }

  /** Parameters of the spectrum of that region as it is read; null without one. @returns {import("./api.js").Parameters | null} */
  spectrum() {
    const { state } = this.app.store;
    const region = this.region();
    if (!state.dataset || state.dataset.channels < 2 || !region?.values.length) return null;
    return { ...placeOf(state.dataset), others: state.others, statistic: state.statistic, ...axisOf(state), region: textOf(region) };
  }

  /** Parameters of the fit; null without a region. */
  parameters() {
    const { fitChannels, fitFree, gaussians, baseline } = this.app.store.state;
    const spectrum = this.spectrum();
    return spectrum && { ...spectrum, channels: fitChannels || null, line_free: fitFree || null, gaussians, baseline: baseline || null };
  }

  /** Address of the fit as a table; "" without one. */
  link() {
    const asked = this.result && this.parameters();
    return asked ? linkTo("fit", { ...asked, format: "csv" }) : "";
  }

  /** Fit again, or forget the fit. */
  follow() {
    const asked = this.app.store.state.fitted ? this.parameters() : null;
    if (asked) {
      this.asking.ask(asked);
      return;
    }
    this.asking.stop();
    if (!this.result && !this.problem) return;
    this.result = null;
    this.problem = "";
    this.changed();
  }

  /** @param {import("./api.js").Parameters} asked @param {AbortSignal} signal */
  async load(asked, signal) {
    const result = await askJson("fit", asked, { signal, view: "fit", doing: "Fitting" });
    if (!this.app.store.state.fitted) return;
    this.result = result;
    this.problem = result.flag ? `The fit failed: ${result.meaning}` : "";
    this.changed();
  }

  /** @param {unknown} error */
  fail(error) {
    this.result = null;
    const hint = error instanceof ApiError && error.hint ? ` · ${error.hint}` : "";
    this.problem = (error instanceof Error ? error.message : String(error)) + hint;
    this.changed();
  }

  /** The model as the chart draws it: NaN outside the channels of the fit; null without a fit. */
  model() {
    const { dataset } = this.app.store.state;
    if (!this.result || this.result.flag || !dataset) return null;
    const values = new Float64Array(dataset.channels).fill(NaN);
    this.result.model.forEach((value, i) => (values[/** @type {Result} */ (this.result).first - 1 + i] = value ?? NaN));
    return values;
  }
}

/**
 * Add a range to a text of ranges.
 * @param {string} text
 * @param {number[]} range
 */
export function withRange(text, [first, last]) {
  return [...text.split(",").filter(Boolean), `${first}:${last}`].join(",");
}
