// The dock below the image: the chart of spectra, with its statistic, axis and legend.

import { Chart } from "./chart.js";
import { byId, eachFrame, make, select } from "./dom.js";
import { colourOf, hasArea, titleOf } from "./regions.js";
import { Diagram } from "./pv.js";
import { Fit, withRange } from "./fit.js";
import { Lines } from "./lines.js";
import { CURSOR, Spectra } from "./spectra.js";
import { isLight } from "./theme.js";

const STATISTICS = {
  mean: "Mean", sum: "Sum", flux: "Flux", median: "Median", min: "Minimum", max: "Maximum", rms: "RMS", std: "Deviation",
};

const UNITS = { "": "Axis of the file", "km/s": "Velocity (km/s)", "m/s": "Velocity (m/s)", GHz: "Frequency (GHz)", mm: "Wavelength (mm)", um: "Wavelength (µm)", nm: "Wavelength (nm)", Angstrom: "Wavelength (Å)", channel: "Channel" };

export class Dock {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    const { store } = app;
    /** Draw the chart in the next frame: the spectra of several images arrive one by one. */
    this.redraw = eachFrame(() => this.draw());
    /** @type {import("./spectra.js").Axis | null} the axis that is drawn */
    this.axis = null;
    this.place = byId("chart", HTMLElement);
    this.diagram = new Diagram(app, byId("diagram", HTMLElement));
    this.note = byId("chart-note", HTMLElement);
    this.chart = new Chart(
      this.place,
      (channel) => app.channels.go(channel),
      (range) => this.select(range),
      (zoom) => this.keepZoom(zoom),
    );
    this.spectra = new Spectra(store, () => this.changed(), (error) => app.tell(error));
    this.lines = new Lines(store, () => this.drawLines());
    this.fit = new Fit(app, () => {
      this.fitChanged();
      this.redraw();
    });
    this.statistic = select(STATISTICS, store.state.statistic, (statistic) => store.set({ statistic }), "Statistic of spectra");
    this.unit = select(UNITS, "", (spectralUnit) => store.set({ spectralUnit }), "Spectral axis");
    this.follow = make("input", { type: "checkbox" });
    this.follow.checked = store.state.follow;
    this.follow.addEventListener("change", () => store.set({ follow: this.follow.checked }));
    this.legend = make("div", { class: "legend" });
    this.range = make("span", { class: "buttons" });
    const view = (/** @type {string} */ name, /** @type {string} */ text) =>
      make("button", { type: "button", "data-view": name, onclick: () => store.set({ below: name }) }, text);
    this.views = make("span", { class: "switch", role: "group", "aria-label": "What is below the image" }, view("spectrum", "Spectrum"), view("pv", "Position–velocity"));
    this.ofSpectrum = make("span", { class: "dock-tools" }, this.statistic, make("label", { class: "check" }, this.follow, "Cursor"), this.range, this.legend);
    byId("dock-bar", HTMLElement).append(this.views, this.unit, this.ofSpectrum);
    this.showView("spectrum");
    store.on(["below"], () => this.showView(store.state.below));
    store.on(["regions"], () => this.spectra.sync());
    store.on(["smooth", "bin"], () => {
      this.spectra.clear();
      this.spectra.sync();
    });
    store.on(["statistic", "others"], () => {
      this.spectra.clear();
      void this.spectra.loadUnit();
      this.spectra.sync();
    });
    store.on(["spectralUnit", "rest", "redshift", "convention", "frame"], () => this.spectra.followAxis());
    store.on(["statistic", "spectralUnit", "follow"], () => this.showControls());
    store.on(["range", "layer"], () => {
      this.showRange();
      this.mark();
    });
    store.on(["follow"], () => {
      if (!store.state.follow) this.spectra.point(null);
    });
    document.addEventListener("themechange", this.redraw);
  }

  /** Show the chart of spectra or the diagram. @param {string} name "spectrum" or "pv" */
  showView(name) {
    const diagram = name === "pv";
    byId("diagram", HTMLElement).hidden = !diagram;
    this.place.hidden = this.note.hidden = this.ofSpectrum.hidden = diagram;
    for (const button of this.views.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === name));
    }
    this.diagram.follow();
  }

  /** Another image was opened. */
  opened() {
    this.chart.restored = this.app.store.state.zoom;
    this.spectra.opened();
    this.lines.opened();
    this.showControls();
    this.showRange();
    this.spectra.followAxis();
    void this.spectra.loadUnit();
    this.spectra.sync();
  }

  showControls() {
    const { statistic, spectralUnit, follow } = this.app.store.state;
    this.statistic.value = statistic;
    this.unit.value = spectralUnit;
    this.follow.checked = follow;
  }

  /** @param {number[] | null} zoom */
  keepZoom(zoom) {
    const before = this.app.store.state.zoom;
    if (this.app.opening || String(zoom) === String(before)) return;
    this.app.store.set({ zoom });
  }

  /** @param {number[] | null} range */
  select(range) {
    this.app.store.set({ range });
  }

  showRange() {
    const { store } = this.app;
    const { range } = store.state;
    this.range.replaceChildren();
    if (!range) return;
    this.range.append(
      make("span", { class: "dim" }, `Channels ${range[0]}–${range[1]}`),
      make("button", { type: "button", onclick: () => this.fitRange(range) }, "Fit"),
      make("button", { type: "button", title: "Take the noise from these channels", onclick: () => store.set({ fitFree: withRange(store.state.fitFree, range) }) }, "Line-free"),
      make("button", { type: "button", onclick: () => this.select(null) }, "Clear"),
    );
  }

  /** Mark the channel that is shown, and the range. */
  mark(channel = this.chart.channel) {
    this.chart.setMarks(channel, this.app.store.state.range);
  }

  /** Fit Gaussians to a range, and show the numbers. @param {number[]} range */
  fitRange(range) {
    this.app.store.set({ fitChannels: withRange("", range), fitted: true });
    this.app.panel.show("lines");
  }

  /** Called after the fit or its problem changed, for the tab of lines. */
  fitChanged = () => {};

  /** Called after the lines or their places changed, for the tab of lines. */
  linesChanged = () => {};

  /** Draw the lines of the chosen groups over the chart. */
  drawLines() {
    this.chart.setLines(this.lines.marks());
    this.linesChanged();
  }

  /**
   * The curves of a region in the other images, on their own coordinates.
   * @param {number} id
   * @param {string} label
   * @param {{colour: number}} region
   * @param {boolean} light
   * @returns {import("./chart.js").Series[]}
   */
  others(id, label, region, light) {
    return (this.app.images?.curvesOf(id) ?? []).map(({ name, index, axis, values, unit }) => {
      // Curves of one region have colours that are far from each other.
      const colour = colourOf({ colour: region.colour + 3 * (index + 1) }, light);
      const frame = axis.frame && axis.frame !== this.axis?.frame ? ` (${axis.frame})` : "";
      return { label: `${label} in ${name}${frame}`, colour, values, dashed: id === CURSOR, own: { xs: axis.values, unit } };
    });
  }

  /** The axis or a spectrum is another one. */
  changed() {
    const { axis } = this.spectra;
    if (axis && axis !== this.axis) {
      this.axis = axis;
      this.linesChanged();
      this.app.images?.followAxes();
    }
    this.redraw();
  }

  draw() {
    const { store } = this.app;
    const { axis, curves } = this.spectra;
    if (!axis) return;
    const light = isLight();
    const series = [];
    const cursor = curves.get(CURSOR);
    if (cursor) series.push({ label: "Cursor", colour: light ? "#56606b" : "#9aa5b1", values: cursor.values, dashed: true });
    series.push(...this.others(CURSOR, "Cursor", { colour: 6 }, light));
    for (const region of store.state.regions) {
      const curve = curves.get(region.id);
      if (curve && hasArea(region)) {
        const label = titleOf(region);
        series.push({ label, colour: colourOf(region, light), values: curve.values, dashed: false });
        series.push(...this.others(region.id, label, region, light));
      }
    }
    const model = this.fit.model();
    if (model) {
      const colour = getComputedStyle(this.place).getPropertyValue("--bad").trim();
      series.push({ label: "Fit", colour, values: model, dashed: false, smooth: true });
    }
    this.note.textContent = series.length ? "" : "Draw a region, or point at the image, to see its spectrum";
    this.chart.show(axis, series, this.spectra.unit);
    this.mark();
    this.app.channels.showShown();
    this.diagram.draw();
    this.legend.replaceChildren(
      ...series.map(({ label, colour }) => {
        const swatch = make("span", { class: "swatch" });
        swatch.style.background = colour;
        return make("span", {}, swatch, label);
      }),
    );
    const texts = series.map(({ label }) => label).join(", ");
    this.place.setAttribute("aria-label", `Spectrum: ${texts || "empty"}`);
  }
}
