// Images made from a range of channels: computed by the server with progress, then drawn as tiles.

import { ask, askJson, isStale, progressOf, stopJob } from "./api.js";
import { collapseOf, placeOf } from "./state.js";

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

/** Return the name of an operation, without its meaning. @param {string} operation */
export function nameOf(operation) {
  return (OPERATIONS[/** @type {keyof typeof OPERATIONS} */ (operation)] ?? operation).replace(/:.*/, "");
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
  }

  /**
   * Compute an image and show it. The server keeps the plane, so its tiles come at once.
   * @param {import("./state.js").Layer} layer without ``along`` in the unit of the chart
   */
  async show({ operation, first, last, threshold, along: unitAlong }) {
    const { store } = this.app;
    const { dataset, others, spectralUnit } = store.state;
    if (!dataset) return;
    const shown = spectralUnit !== "channel" ? spectralUnit || null : null;
    const along = operation.startsWith("moment") ? (unitAlong === undefined ? shown : unitAlong) : null;
    /** @type {import("./state.js").Layer} */
    const layer = { operation, first, last, along, threshold: threshold ?? null };
    this.cancel();
    const running = new AbortController();
    this.running = running;
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

  /** Stop what runs, here and on the server. */
  cancel() {
    if (!this.running) return;
    this.running.abort();
    this.running = null;
    void stopJob(this.job);
    this.progress(null);
  }
}
