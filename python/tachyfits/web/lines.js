// Spectral lines: what the header says of the axis, the table of lines, and their places on it.

import { Latest, askJson } from "./api.js";
import { axisOf, placeOf } from "./state.js";

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {string} group
 * @property {number} rest_hz
 * @property {number | null} channel null outside the axis
 * @property {number | null} value coordinate on the axis that is shown
 */

/**
 * @typedef {object} Facts what /api/v1/spectral says
 * @property {boolean} is_spectral
 * @property {number | null} rest_hz
 * @property {number | null} redshift
 * @property {string | null} frame
 * @property {{name: string, factor: number | null, problem: string | null}[]} frames
 */

export class Lines {
  /**
   * @param {import("./state.js").Store} store
   * @param {() => void} changed
   */
  constructor(store, changed) {
    this.store = store;
    this.changed = changed;
    /** @type {Line[]} */
    this.table = [];
    /** @type {Record<string, string>} */
    this.groups = {};
    this.source = "";
    /** Why lines have no places. */
    this.problem = "";
    /** @type {Facts | null} */
    this.facts = null;
    this.needed = false;
    this.asking = new Latest((_, signal) => this.load(signal), (error) => this.fail(error));
    store.on(["spectralUnit", "rest", "redshift", "convention", "frame", "lines"], () => this.ask());
  }

  /** Another image was opened. */
  opened() {
    this.table = [];
    this.facts = null;
    this.problem = "";
    this.changed();
    this.ask();
  }

  /** Load the lines from now on: the tab shows them. */
  need() {
    if (this.needed) return;
    this.needed = true;
    this.ask();
  }

  ask() {
    // They take time that the image needs first.
    if (!this.needed && !this.store.state.lines) return;
    if ((this.store.state.dataset?.channels ?? 1) > 1) this.asking.ask(true);
  }

  /** @param {AbortSignal} signal */
  async load(signal) {
    const { state } = this.store;
    const { dataset, rest, redshift, convention } = state;
    if (!dataset) return;
    const facts = this.facts ?? (await askJson("spectral", placeOf(dataset), { signal }));
    if (dataset !== this.store.state.dataset) return;
    this.facts = facts;
    const about = { rest: rest || null, redshift: redshift || null, convention: convention || null };
    const answer = await askJson("lines", { ...placeOf(dataset), ...axisOf(state), ...about }, { signal, view: "lines" });
    if (dataset !== this.store.state.dataset) return;
    this.table = answer.lines;
    this.groups = answer.groups;
    this.source = answer.source;
    this.problem = answer.problem ?? "";
    this.changed();
  }

  /** @param {unknown} error */
  fail(error) {
    this.problem = error instanceof Error ? error.message : String(error);
    for (const line of this.table) line.channel = line.value = null;
    this.changed();
  }

  /** Lines of the groups that people chose which are on the axis. */
  shown() {
    const groups = this.store.state.lines.split(",");
    return this.table.filter((line) => line.channel !== null && groups.includes(line.group));
  }

  /** Names and coordinates of these lines, as the chart draws them. */
  marks() {
    const byChannel = this.store.state.spectralUnit === "channel";
    return this.shown().map(({ name, channel, value }) => ({ name, at: Number(byChannel ? channel : value) }));
  }
}
