// Images made from a range of channels: computed by the server with progress, then drawn as tiles.

import { ask, askJson, isStale, progressOf, stopJob } from "./api.js";
import { SIGMAS, noiseOf } from "./noise.js";
import { axisOf, collapseOf, isVelocity, placeOf } from "./state.js";

/** Operations by their name on the server. */
export const OPERATIONS = {
  moment0: "Moment 0: integral",
  moment1: "Moment 1: mean velocity",
  moment2: "Moment 2: width",
  mean: "Mean",
  max: "Maximum",
  sum: "Sum",
  std: "Deviation",
};

/** Operations that another group offers. @type {Record<string, string>} */
const OTHERS = { linear_polarization: "Linear polarisation", polarization_angle: "Polarisation angle" };

/** Return the name of an operation, without its meaning. @param {string} operation */
export function nameOf(operation) {
  return (OTHERS[operation] ?? OPERATIONS[/** @type {keyof typeof OPERATIONS} */ (operation)] ?? operation).replace(/:.*/, "");
}

export class Maps {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    /** Called with the share that is done, null when nothing runs. */
    this.progress = (/** @type {number | null} */ _fraction) => {};
    /** @type {AbortController | null} */
    this.running = null;
    this.job = "";
    /** Where the threshold of the map comes from, in words. */
    this.words = "";
  }

  /**
   * Compute an image and show it. The server keeps the plane, so its tiles come at once.
   * @param {import("./state.js").Layer} layer without ``along`` in the unit of the chart; moments
   *   without ``threshold`` take 3 sigma of the line-free channels; null: no threshold
   */
  async show({ operation, first, last, threshold, ...form }) {
    const { store } = this.app;
    const { dataset, others } = store.state;
    if (!dataset) return;
    const { along, rest, convention } = form.along === undefined ? await this.formOfChart() : form;
    const ofAxis = operation.startsWith("moment") ? { along, rest, convention } : {};
    this.cancel();
    const running = new AbortController();
    this.running = running;
    this.words = "";
    if (threshold === undefined && operation.startsWith("moment")) {
      try {
        const found = await noiseOf(store.state, running.signal);
        threshold = Number((SIGMAS * found.noise).toPrecision(6));
        this.words = `${SIGMAS} sigma ${found.words}.`;
      } catch (error) {
        // A cube without noise needs no threshold.
        if (isStale(error)) return;
        this.words = error instanceof Error ? error.message : String(error);
      }
    }
    /** @type {import("./state.js").Layer} */
    const layer = { operation, first, last, along: null, threshold: threshold ?? null, ...ofAxis };
    this.job = `map-${Math.random().toString(36).slice(2)}`;
    this.progress(0);
    const asked = { ...placeOf(dataset), others, ...collapseOf(layer) };
    const doing = `Computing ${nameOf(operation).toLowerCase()}`;
    void progressOf(this.job, running.signal, (fraction) => this.progress(fraction));
    try {
      const answer = await ask("image", { ...asked, level: dataset.levels - 1, job: this.job }, { signal: running.signal, view: "map", doing });
      await answer.arrayBuffer();
      // The plane is kept now: its unit costs nothing.
      const { unit } = await askJson("pixel", { ...asked, x: 1, y: 1 }, { signal: running.signal });
      if (this.running === running && store.state.dataset === dataset) {
        this.app.channels.stop();
        store.set({ layer: { ...layer, unit } });
      }
    } catch (error) {
      if (!isStale(error)) this.app.tell(error);
    } finally {
      if (this.running === running) {
        this.running = null;
        this.progress(null);
      }
      running.abort();
    }
  }

  /** The unit of the chart, and the line of its velocities. @returns {Promise<Pick<import("./state.js").Layer, "along" | "rest" | "convention">>} */
  async formOfChart() {
    await this.app.dock.spectra.axisLoaded;
    const { state } = this.app.store;
    const { unit, convention } = axisOf(state);
    const hertz = state.rest || state.redshift ? this.app.dock.spectra.axis?.rest_hz : null;
    const isAbout = isVelocity(unit);
    return { along: unit, rest: isAbout && hertz ? `${hertz} Hz` : null, convention: isAbout ? convention ?? null : null };
  }

  /** Stop what runs, here and on the server. */
  cancel() {
    if (!this.running) return;
    this.running.abort();
    this.running = null;
    void stopJob(this.job);
    this.progress(null);
  }
}
