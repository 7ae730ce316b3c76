// The tab "Maps": images made from a range of channels, and contours of one image over another.

import { contourGroup } from "./contours.js";
import { make, row } from "./dom.js";
import { OPERATIONS } from "./maps.js";
import { polarisationGroup } from "./polarisation.js";
import { group } from "./panel.js";
import { CHANNEL } from "./state.js";
import { number, unit } from "./words.js";

/** @param {import("./main.js").App} app */
export function mapsTab(app) {
  const { store, maps } = app;
  const first = make("input", { type: "number", min: 1, "aria-label": "First channel" });
  const last = make("input", { type: "number", min: 1, "aria-label": "Last channel" });
  const threshold = make("input", { type: "text", inputmode: "decimal", placeholder: "3 sigma", "aria-label": "Threshold" });
  const buttons = make("div", { class: "list" });
  const progress = make("progress", { max: 1, "aria-label": "Progress", hidden: true });
  const cancel = make("button", { type: "button", hidden: true, onclick: () => maps.cancel() }, "Cancel");
  const note = make("p", { class: "note" });
  const source = make("p", { class: "note", role: "status", id: "threshold-note" });

  for (const [operation, label] of Object.entries(OPERATIONS)) {
    buttons.append(make("button", { type: "button", class: "item", "data-operation": operation, onclick: () => void maps.show({ operation, ...range(), ...given() }) }, label));
  }
  const back = make("button", { type: "button", class: "item", "data-operation": "channel", onclick: () => store.set({ layer: CHANNEL }) }, "One channel");
  buttons.prepend(back);

  function range() {
    const most = store.state.dataset?.channels ?? 1;
    const [a, b] = store.state.range ?? [1, most];
    return { first: a, last: b };
  }

  /** Whether the threshold that is shown was chosen by the page. */
  let automatic = true;

  /** The value below which pixels are left out: without it noise decides where the line is weak. */
  function limit() {
    if (!threshold.value.trim() || automatic) return undefined;
    const value = Number(threshold.value);
    return Number.isFinite(value) ? value : null;
  }

  function given() {
    const value = limit();
    return value === undefined ? {} : { threshold: value };
  }

  function setRange() {
    const most = store.state.dataset?.channels ?? 1;
    const read = (/** @type {HTMLInputElement} */ input, /** @type {number} */ other) =>
      Math.min(most, Math.max(1, Math.round(Number(input.value)) || other));
    const [a, b] = [read(first, 1), read(last, most)];
    store.set({ range: [Math.min(a, b), Math.max(a, b)] });
  }

  function refresh() {
    const { dataset, layer } = store.state;
    if (layer.operation !== "channel" && document.activeElement !== threshold) {
      threshold.value = layer.threshold == null ? (maps.words || automatic ? "" : "none") : String(layer.threshold);
    }
    const { first: a, last: b } = range();
    first.max = last.max = String(dataset?.channels ?? 1);
    first.value = String(a);
    last.value = String(b);
    for (const button of buttons.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.operation === layer.operation));
      button.disabled = (dataset?.channels ?? 1) < 2;
    }
    note.textContent = (dataset?.channels ?? 1) < 2 ? "This image has one channel." : "Drag over the spectrum to choose the range. Pixels below the threshold are left out of the image; write none for no threshold. Moments begin with 3 sigma of line-free channels.";
    source.textContent = layer.operation === "channel" || layer.threshold == null ? "" : `The threshold is ${number(layer.threshold, 4)} ${unit(dataset?.unit)}${maps.words && automatic ? `: ${maps.words}` : "."}`;
  }

  maps.progress = (fraction) => {
    progress.hidden = cancel.hidden = fraction === null;
    if (fraction !== null) progress.value = fraction;
  };
  threshold.addEventListener("change", () => {
    automatic = !threshold.value.trim();
    const { layer } = store.state;
    const { threshold: _before, ...map } = layer;
    const value = limit();
    if (layer.operation !== "channel") void maps.show(value === undefined ? map : { ...map, threshold: value });
  });
  first.addEventListener("change", setRange);
  last.addEventListener("change", setRange);
  store.on(["range", "layer", "dataset"], refresh);
  refresh();
  return make(
    "div",
    {},
    group("Range of channels", row("From, to", first, last), row("Threshold", threshold), source, note),
    group("The image shows", buttons, make("div", { class: "buttons" }, progress, cancel)),
    polarisationGroup(app),
    contourGroup(app),
  );
}
