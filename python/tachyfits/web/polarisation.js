// Polarisation: the intensity and the angle of Stokes Q and U as images, and vectors over the image.

import { Latest, askJson } from "./api.js";
import { make, row } from "./dom.js";
import { MOST_STEP } from "./link.js";
import { group } from "./panel.js";
import { placeOf } from "./state.js";
import { unit } from "./words.js";

/** Operations of the server, with what they show. */
const OPERATIONS = { linear_polarization: "Intensity √(Q² + U²)", polarization_angle: "Angle, north through east" };

/** Has an image Stokes Q and U? @param {import("./state.js").Dataset | null} dataset */
function isPolarised(dataset) {
  const names = dataset?.axes.flatMap(({ stokes }) => stokes ?? []) ?? [];
  return names.includes("Q") && names.includes("U");
}

/** The channels of polarisation images: the range, else the channel that is shown. @param {import("./state.js").State} state */
function channelsOf({ range, channel, layer, dataset }) {
  // Where the polarisation is the third axis, it has no channels.
  if (dataset?.axes[2]?.stokes) return [1, dataset.channels];
  if (range) return range;
  return layer.operation === "channel" ? [channel, channel] : [layer.first, layer.last];
}

/** The vectors over the image, which follow its channels; links restore them before their tab is open. */
export class Vectors {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    /** @type {import("./api.js").Parameters | null} the request of the vectors that are drawn */
    this.drawn = null;
    /** Counts of the vectors that are drawn, in words; "" without any. */
    this.words = "";
    /** Called after the vectors that are drawn changed. */
    this.changed = () => {};
    this.asking = new Latest((_, signal) => this.load(signal), (error) => app.tell(error));
    app.store.on(["dataset", "layer", "range", "channel", "others", "vectors"], () => this.refresh());
  }

  refresh() {
    const { dataset, vectors } = this.app.store.state;
    if (vectors && isPolarised(dataset)) this.asking.ask({});
    else {
      this.asking.stop();
      if (this.drawn) this.show(null, "");
    }
  }

  /** @param {AbortSignal} signal */
  async load(signal) {
    const { store, overlay } = this.app;
    const { dataset, others, vectors } = store.state;
    if (!dataset || !vectors) return;
    const [first, last] = channelsOf(store.state);
    const asked = { ...placeOf(dataset), others, channels: `${first}:${last}`, ...vectors };
    const found = await askJson("vectors", asked, { signal, view: "vectors", doing: "Computing vectors" });
    if (store.state.dataset !== dataset || store.state.vectors !== vectors) return;
    const most = Math.max(...found.intensity, 0);
    const lines = found.x.map((/** @type {number} */ x, /** @type {number} */ i) => {
      // Lengths are in proportion to the intensity; the longest is as long as a block.
      const half = (vectors.step / 2) * (found.intensity[i] / (most || 1));
      const [dx, dy] = [found.dx[i] * half, found.dy[i] * half];
      return [{ x: x - dx, y: found.y[i] - dy }, { x: x + dx, y: found.y[i] + dy }];
    });
    overlay.lines.set("vectors", { lines, labels: [], colour: "#7ef0c9", dashed: false });
    this.show(asked, `${lines.length} vectors of channels ${first} to ${last}; the longest is ${Number(most.toPrecision(4))} ${unit(found.unit)}.`);
  }

  /** @param {import("./api.js").Parameters | null} drawn null: none @param {string} words */
  show(drawn, words) {
    this.drawn = drawn;
    this.words = words;
    if (!drawn) this.app.overlay.lines.delete("vectors");
    this.changed();
    this.app.viewer.redraw();
  }
}

/** @param {import("./main.js").App} app */
export function polarisationGroup(app) {
  const { store, maps, vectors } = app;
  const buttons = make("div", { class: "list" });
  const shown = make("input", { type: "checkbox" });
  const step = make("input", { type: "number", min: 1, max: MOST_STEP, value: 8, "aria-label": "Pixels from one vector to the next" });
  const least = make("input", { type: "text", inputmode: "decimal", placeholder: "any", "aria-label": "Least intensity of vectors" });
  const note = make("p", { class: "note", role: "status", id: "vector-note" });

  function limit() {
    const value = Number(least.value);
    return least.value.trim() && Number.isFinite(value) ? Math.max(0, value) : null;
  }

  for (const [operation, label] of Object.entries(OPERATIONS)) {
    const show = () => {
      const [first, last] = channelsOf(store.state);
      void maps.show({ operation, first, last, threshold: limit() });
    };
    buttons.append(make("button", { type: "button", class: "item", "data-operation": operation, onclick: show }, label));
  }

  /** Take the settings of the vectors. */
  function choose() {
    const size = Math.min(MOST_STEP, Math.max(1, Math.round(Number(step.value)) || 8));
    store.set({ vectors: shown.checked ? { step: size, least: limit() } : null });
  }

  function refresh() {
    const { dataset, layer, vectors: chosen } = store.state;
    content.hidden = !isPolarised(dataset);
    for (const button of buttons.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.operation === layer.operation));
    shown.checked = chosen !== null;
    if (!chosen) return;
    step.value = String(chosen.step);
    least.value = String(chosen.least ?? "");
  }

  vectors.changed = () => {
    note.textContent = vectors.words || "The intensity has no correction for noise, which makes it too large.";
  };
  for (const input of [shown, step, least]) input.addEventListener("change", choose);
  const content = group("Polarisation", buttons, make("label", { class: "check" }, shown, "Vectors"), row("Every", step), row("At least", least), note);
  store.on(["dataset", "layer", "vectors"], refresh);
  refresh();
  vectors.changed();
  return content;
}
