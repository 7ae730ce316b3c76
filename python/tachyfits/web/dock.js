// The dock below the image: the chart of spectra, with its statistic, axis and legend.

import { Chart } from "./chart.js";
import { byId, make, select } from "./dom.js";
import { KINDS, colourOf, hasArea } from "./regions.js";
import { Diagram } from "./pv.js";
import { CURSOR, Spectra } from "./spectra.js";
import { isLight } from "./theme.js";

const STATISTICS = {
  mean: "Mean", sum: "Sum", flux: "Flux", median: "Median", min: "Minimum", max: "Maximum", rms: "RMS", std: "Deviation",
};

const UNITS = { "": "Axis of the file", "km/s": "Velocity (km/s)", GHz: "Frequency (GHz)", mm: "Wavelength (mm)", um: "Wavelength (µm)", channel: "Channel" };

export class Dock {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    const { store, viewer } = app;
    this.place = byId("chart", HTMLElement);
    this.diagram = new Diagram(app, byId("diagram", HTMLElement));
    this.note = byId("chart-note", HTMLElement);
    this.chart = new Chart(
      this.place,
      (channel) => app.channels.go(channel),
      (range) => this.select(range),
    );
    this.spectra = new Spectra(store, () => this.draw(), (error) => app.tell(error));
    this.statistic = select(STATISTICS, store.state.statistic, (statistic) => store.set({ statistic }), "Statistic of spectra");
    this.unit = select(UNITS, "", (spectralUnit) => store.set({ spectralUnit }), "Spectral axis");
    this.follow = make("input", { type: "checkbox" });
    this.follow.checked = store.state.follow;
    this.follow.addEventListener("change", () => store.set({ follow: this.follow.checked }));
    this.legend = make("div", { class: "legend" });
    this.range = make("span", { class: "buttons" });
    const view = (/** @type {string} */ name, /** @type {string} */ text) =>
      make("button", { type: "button", "data-view": name, onclick: () => this.showView(name) }, text);
    this.views = make("span", { class: "switch", role: "group", "aria-label": "What is below the image" }, view("spectrum", "Spectrum"), view("pv", "Position–velocity"));
    this.ofSpectrum = make("span", { class: "dock-tools" }, this.statistic, make("label", { class: "check" }, this.follow, "Cursor"), this.range, this.legend);
    byId("dock-bar", HTMLElement).append(this.views, this.unit, this.ofSpectrum);
    this.showView("spectrum");
    viewer.regionChanged = (region) => this.spectra.follow(region);
    store.on(["regions"], () => this.spectra.sync());
    store.on(["statistic", "others"], () => {
      this.spectra.clear();
      void this.spectra.loadUnit();
      this.spectra.sync();
    });
    store.on(["spectralUnit"], () => void this.spectra.loadAxis());
    store.on(["statistic", "spectralUnit", "follow"], () => this.showControls());
    store.on(["range", "layer"], () => {
      this.showRange();
      this.mark();
    });
    store.on(["follow"], () => {
      if (!store.state.follow) this.spectra.point(null);
    });
    document.addEventListener("themechange", () => this.draw());
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
    this.spectra.clear();
    this.spectra.axis = null;
    this.showControls();
    this.showRange();
    void this.spectra.loadAxis();
    void this.spectra.loadUnit();
    this.spectra.sync();
  }

  showControls() {
    const { statistic, spectralUnit, follow } = this.app.store.state;
    this.statistic.value = statistic;
    this.unit.value = spectralUnit;
    this.follow.checked = follow;
  }

  /** @param {number[] | null} range */
  select(range) {
    this.app.store.set({ range });
  }

  showRange() {
    const { range } = this.app.store.state;
    this.range.replaceChildren();
    if (!range) return;
    this.range.append(
      make("span", { class: "dim" }, `Channels ${range[0]}–${range[1]}`),
      make("button", { type: "button", onclick: () => this.select(null) }, "Clear"),
    );
  }

  /** Mark the channel that is shown, and the range. */
  mark(channel = this.chart.channel) {
    this.chart.setMarks(channel, this.app.store.state.range);
  }

  draw() {
    const { store } = this.app;
    const { axis, curves } = this.spectra;
    if (!axis) return;
    const light = isLight();
    const series = [];
    const cursor = curves.get(CURSOR);
    if (cursor) series.push({ label: "Cursor", colour: light ? "#56606b" : "#9aa5b1", values: cursor.values, dashed: true });
    for (const region of store.state.regions) {
      const curve = curves.get(region.id);
      if (curve && hasArea(region)) {
        const label = `${KINDS[/** @type {keyof typeof KINDS} */ (region.kind)]} ${region.id}`;
        series.push({ label, colour: colourOf(region, light), values: curve.values, dashed: false });
      }
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
