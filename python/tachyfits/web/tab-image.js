// The tab "Image": colour map, stretch, cuts, the histogram with the cuts in it, and overlays.

import { SAMPLES } from "./colourmaps.js";
import { CUTS } from "./cuts.js";
import { make, row, select } from "./dom.js";
import { STRETCHES } from "./gl.js";
import { cutHistogram } from "./histogram.js";
import { imagesGroup } from "./images-group.js";
import { group } from "./panel.js";
import { number } from "./words.js";

/** @typedef {import("./state.js").State} State */

/** @param {import("./main.js").App} app */
export function imageTab(app) {
  const { store } = app;
  const { state } = store;
  const same = (/** @type {string[]} */ names) => Object.fromEntries(names.map((name) => [name, name[0].toUpperCase() + name.slice(1)]));

  const map = select(same(Object.keys(SAMPLES)), state.map, (value) => store.set({ map: value }), "Colour map");
  const inverted = check("Inverted", "inverted");
  const stretch = select(same(STRETCHES), state.stretch, (value) => store.set({ stretch: value }), "Stretch");
  const power = slider("power", 0.2, 4, 0.1, "Exponent");
  const cuts = select(CUTS, state.cuts, (value) => store.set({ cuts: value }), "Cuts");
  const low = field("low", "Lower cut");
  const high = field("high", "Upper cut");
  const bias = slider("bias", 0, 1, 0.01, "Bias");
  const contrast = slider("contrast", 0.1, 5, 0.05, "Contrast");
  const reset = make("button", { type: "button", onclick: () => store.set({ bias: 0.5, contrast: 1 }) }, "Reset bias and contrast");
  const powerRow = row("Exponent", power.input, power.output);

  const others = make("div", { class: "group" });
  const refresh = () => {
    map.value = state.map;
    stretch.value = state.stretch;
    cuts.value = state.cuts;
    powerRow.hidden = state.stretch !== "power";
    for (const one of [power, bias, contrast, low, high]) one.refresh();
  };
  store.on(["map", "stretch", "cuts", "power", "bias", "contrast", "low", "high"], refresh);
  store.on(["dataset"], () => showOthers());
  showOthers();
  refresh();

  /** Sliders for axes after the spectral one, such as polarisation. */
  function showOthers() {
    others.replaceChildren();
    const axes = state.dataset?.axes.slice(3).filter((axis) => axis.length > 1) ?? [];
    if (!state.dataset || !axes.length) return;
    const values = state.dataset.axes.slice(3).map((_, i) => Number(state.others?.split(",")[i] ?? 1));
    state.dataset.axes.slice(3).forEach((axis, i) => {
      if (axis.length < 2) return;
      const name = axis.ctype || `Axis ${axis.fits}`;
      if (axis.stokes) {
        const options = Object.fromEntries(axis.stokes.map((one, at) => [String(at + 1), one]));
        const choose = (/** @type {string} */ value) => {
          values[i] = Number(value);
          store.set({ others: values.join(",") });
        };
        others.append(row("Stokes", select(options, String(values[i]), choose, "Stokes parameter")));
        return;
      }
      const input = make("input", { type: "number", min: 1, max: axis.length, value: values[i], "aria-label": name });
      input.addEventListener("change", () => {
        values[i] = Math.min(axis.length, Math.max(1, Math.round(Number(input.value)) || 1));
        input.value = String(values[i]);
        store.set({ others: values.join(",") });
      });
      others.append(row(name, input, make("output", {}, `of ${axis.length}`)));
    });
  }

  /** @param {string} label @param {"inverted" | "grid" | "scaleBar" | "beam"} key */
  function check(label, key) {
    const input = make("input", { type: "checkbox" });
    input.addEventListener("change", () => store.set({ [key]: input.checked }));
    const show = () => (input.checked = state[key]);
    store.on([key], show);
    show();
    return make("label", { class: "check" }, input, label);
  }

  /** @param {"power" | "bias" | "contrast"} key @param {number} least @param {number} most @param {number} step @param {string} label */
  function slider(key, least, most, step, label) {
    const input = make("input", { type: "range", min: least, max: most, step, "aria-label": label });
    const output = make("output", {});
    input.addEventListener("input", () => store.set({ [key]: Number(input.value) }));
    const show = () => {
      input.value = String(state[key]);
      output.textContent = number(state[key], 3);
    };
    return { input, output, refresh: show };
  }

  /** @param {"low" | "high"} key @param {string} label */
  function field(key, label) {
    const input = make("input", { type: "text", inputmode: "decimal", "aria-label": label });
    input.addEventListener("change", () => {
      const value = Number(input.value);
      if (Number.isFinite(value) && input.value.trim()) store.set({ [key]: value, cuts: "manual" });
      else show();
    });
    const show = () => {
      if (document.activeElement !== input) input.value = number(state[key], 5);
    };
    return { input, refresh: show };
  }

  return make(
    "div",
    {},
    imagesGroup(app),
    others,
    group("Colours", row("Colour map", map), row("Stretch", stretch), powerRow, inverted),
    group("Cuts", row("Range", cuts), row("From, to", low.input, high.input), cutHistogram(app)),
    group("Bias and contrast", row("Bias", bias.input, bias.output), row("Contrast", contrast.input, contrast.output), make("div", { class: "buttons" }, reset)),
    group("Over the image", check("Sky grid", "grid"), check("Scale bar", "scaleBar"), check("Beam", "beam")),
  );
}
