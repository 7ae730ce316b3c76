// Groups of the tab "Lines" about the spectrum itself: the fit, smoothing and bins, downloads.

import { linkTo } from "./api.js";
import { make, row, select } from "./dom.js";
import { withRange } from "./fit.js";
import { group } from "./panel.js";
import { titleOf } from "./regions.js";
import { number, unit } from "./words.js";

/** Numbers of a Gaussian, and their labels. @type {Record<string, string>} */
const QUANTITIES = { amplitude: "Peak", centre: "Centre", fwhm: "FWHM", integral: "Integral" };

const ORDERS = { "": "None", 0: "Constant", 1: "Slope", 2: "Order 2", 3: "Order 3", 4: "Order 4", 5: "Order 5" };

/** @param {import("./main.js").App} app */
export function fitGroup(app) {
  const { store, dock } = app;
  const { fit } = dock;
  const count = select({ 1: "1", 2: "2", 3: "3" }, "1", (value) => store.set({ gaussians: Number(value) }), "Number of Gaussians");
  const baseline = select(ORDERS, "", (value) => store.set({ baseline: value }), "Baseline");
  const channels = ranges("fitChannels", "Channels of the fit", "all, or 10:40,60:80");
  const free = ranges("fitFree", "Line-free channels", "for the noise: 1:9,90:99");
  const toggle = make("button", { type: "button", class: "primary", id: "fit", onclick: () => store.set({ fitted: !store.state.fitted }) }, "Fit");
  const save = make("a", { class: "button", download: "", id: "fit-link" }, "Table (CSV)");
  const note = make("p", { class: "note", role: "status", id: "fit-note" });
  const problem = make("p", { class: "problem", role: "status", id: "fit-problem" });
  const table = make("div", { id: "fit-table" });

  /** @param {"fitChannels" | "fitFree"} key @param {string} label @param {string} placeholder */
  function ranges(key, label, placeholder) {
    const input = make("input", { type: "text", "aria-label": label, placeholder, spellcheck: false });
    input.addEventListener("change", () => store.set({ [key]: input.value.trim() }));
    const add = make("button", {
      type: "button", title: "Add the selected range", "aria-label": `Add the selected range to: ${label}`,
      onclick: () => store.state.range && store.set({ [key]: withRange(store.state[key], store.state.range) }),
    }, "+ range");
    return { key, input, add };
  }

  function refresh() {
    const { state } = store;
    count.value = String(state.gaussians);
    baseline.value = state.baseline;
    for (const { key, input, add } of [channels, free]) {
      if (document.activeElement !== input) input.value = state[key];
      add.disabled = !state.range;
    }
    toggle.textContent = state.fitted ? "Remove the fit" : "Fit";
    problem.textContent = fit.problem;
    const region = fit.region();
    toggle.disabled = !region || (state.dataset?.channels ?? 1) < 2;
    const { result } = fit;
    save.hidden = !result;
    table.replaceChildren();
    note.textContent = region ? `Spectrum of ${titleOf(region)}. Drag over the spectrum to select a range.` : "Draw a region first.";
    if (!result) return;
    save.href = fit.link();
    const noise = result.noise === null ? "" : ` · noise ${number(result.noise, 4)}, χ² ${number(result.chi2, 4)}`;
    note.textContent += ` ${result.channels} channels · rms ${number(result.rms, 4)} ${unit(result.units.amplitude)}${noise}`;
    result.components.forEach((component, i) => table.append(rows(component, result.units, result.components.length > 1 ? `Gaussian ${i + 1}` : "Gaussian")));
  }

  dock.fitChanged = refresh;
  store.on(["range", "regions", "selected", "fitted", "fitChannels", "fitFree", "gaussians", "baseline", "dataset"], refresh);
  refresh();
  return group(
    "Fit of Gaussians",
    row("Gaussians", count), row("Baseline", baseline), row("Channels", channels.input, channels.add), row("Line-free", free.input, free.add),
    make("div", { class: "buttons" }, toggle, save), problem, table, note,
  );
}

/**
 * Make the table of a Gaussian: each number with its error and unit.
 * @param {import("./fit.js").Component} component
 * @param {Record<string, string | null>} units
 * @param {string} title
 */
function rows(component, units, title) {
  return make("table", { class: "values" },
    make("caption", {}, title),
    ...Object.entries(QUANTITIES).map(([name, label]) => make("tr", {},
      make("th", { scope: "row" }, label),
      make("td", { "data-name": name, "data-value": String(component[name]) }, `${number(component[name], 6)} ± ${number(component[`${name}_error`], 2)} ${unit(units[name])}`),
    )),
  );
}

/** @param {import("./main.js").App} app */
export function shownGroup(app) {
  const { store, dock } = app;
  const smooth = make("input", { type: "number", min: 0, max: 1000, step: "any", "aria-label": "Smoothing: FWHM in channels" });
  const bin = make("input", { type: "number", min: 1, max: 100000, step: 1, "aria-label": "Channels of a bin" });
  const csv = make("a", { class: "button", download: "", id: "spectrum-csv" }, "CSV");
  const fits = make("a", { class: "button", download: "", id: "spectrum-fits" }, "FITS");
  smooth.addEventListener("change", () => store.set({ smooth: Math.min(1000, Math.max(0, Number(smooth.value) || 0)) }));
  bin.addEventListener("change", () => store.set({ bin: Math.min(store.state.dataset?.channels ?? 1, Math.max(1, Math.round(Number(bin.value)) || 1)) }));

  function refresh() {
    const { state } = store;
    if (document.activeElement !== smooth) smooth.value = String(state.smooth);
    if (document.activeElement !== bin) bin.value = String(state.bin);
    const spectrum = dock.fit.spectrum();
    for (const [link, format] of /** @type {[HTMLAnchorElement, string][]} */ ([[csv, "csv"], [fits, "fits"]])) {
      if (spectrum) link.href = linkTo("spectrum", { ...spectrum, ...dock.spectra.display(), format });
      else link.removeAttribute("href");
    }
  }

  store.on(["smooth", "bin", "regions", "selected", "statistic", "others", "spectralUnit", "rest", "redshift", "convention", "frame", "dataset"], refresh);
  refresh();
  return group(
    "Shown spectrum",
    row("Smooth", smooth, make("output", {}, "chan.")), row("Bin", bin, make("output", {}, "chan.")),
    make("p", { class: "note" }, "The fit uses the channels as they are in the file."),
    make("div", { class: "buttons" }, csv, fits),
  );
}
