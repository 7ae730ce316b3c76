// Undo and redo of regions: one step for each drag, key or button.

/** Most steps that are kept. */
const MOST = 200;

export class RegionHistory {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    this.now = app.store.state.regions;
    /** @type {import("./regions.js").Region[][]} */
    this.past = [];
    /** @type {import("./regions.js").Region[][]} */
    this.future = [];
    this.gesture = 0;
    this.restoring = false;
    /** Called after a step was made, or became possible. */
    this.changed = () => {};
    let { dataset } = app.store.state;
    app.store.on(["regions", "dataset"], () => {
      if (app.store.state.dataset !== dataset) {
        // Regions of another image are no step of this one.
        dataset = app.store.state.dataset;
        this.past = [];
        this.future = [];
        this.gesture = 0;
        this.now = app.store.state.regions;
        this.changed();
      } else this.keep();
    });
    addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.target instanceof HTMLElement && event.target.matches("input:not([type=checkbox]), textarea")) return;
      const key = event.key.toLowerCase();
      if (key !== "z" && key !== "y") return;
      event.preventDefault();
      if (key === "y" || event.shiftKey) this.redo();
      else this.undo();
    });
  }

  /** Keep the regions as they were before a change; all changes of one drag are one step. */
  keep() {
    const { regions } = this.app.store.state;
    if (regions === this.now) return;
    const { gesture } = this.app.viewer;
    const isSame = gesture !== 0 && gesture === this.gesture;
    if (!this.restoring && !isSame) {
      this.past = [...this.past.slice(-MOST), this.now];
      this.future = [];
    }
    this.gesture = gesture;
    this.now = regions;
    this.changed();
  }

  undo() {
    const before = this.past.pop();
    if (!before) return;
    this.future.push(this.now);
    this.restore(before);
  }

  redo() {
    const after = this.future.pop();
    if (!after) return;
    this.past.push(this.now);
    this.restore(after);
  }

  /** @param {import("./regions.js").Region[]} regions */
  restore(regions) {
    const { store } = this.app;
    const { selected } = store.state;
    this.restoring = true;
    this.gesture = 0;
    store.set({ regions, selected: regions.some(({ id }) => id === selected) ? selected : null });
    this.restoring = false;
    this.changed();
  }
}
