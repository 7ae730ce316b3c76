// Polarisation: the intensity and the angle of Stokes Q and U as images, and vectors over the image.

import { Latest, askJson } from "./api.js";
import { make, row } from "./dom.js";
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

/** @param {import("./main.js").App} app */
export function polarisationGroup(app) {
  const { store, maps, overlay, viewer } = app;
  const buttons = make("div", { class: "list" });
  const shown = make("input", { type: "checkbox" });
  const step = make("input", { type: "number", min: 1, value: 8, "aria-label": "Pixels from one vector to the next" });
  const least = make("input", { type: "text", inputmode: "decimal", placeholder: "any", "aria-label": "Least intensity of vectors" });
  const note = make("p", { class: "note", role: "status", id: "vector-note" });
  const asking = new Latest((_, signal) => load(signal), (error) => app.tell(error));

  /** The channels of images: the range, else the channel that is shown. */
  function channels() {
    const { range, channel, layer, dataset } = store.state;
    // Where the polarisation is the third axis, it has no channels.
    if (dataset?.axes[2]?.stokes) return [1, dataset.channels];
    if (range) return range;
    return layer.operation === "channel" ? [channel, channel] : [layer.first, layer.last];
  }

  function limit() {
    const value = Number(least.value);
    return least.value.trim() && Number.isFinite(value) ? Math.max(0, value) : null;
  }

  for (const [operation, label] of Object.entries(OPERATIONS)) {
    const show = () => {
      const [first, last] = channels();
      void maps.show({ operation, first, last, threshold: limit() });
    };
    buttons.append(make("button", { type: "button", class: "item", "data-operation": operation, onclick: show }, label));
  }

  /** @param {AbortSignal} signal */
  async function load(signal) {
    const { dataset, others } = store.state;
    if (!dataset || !shown.checked) return;
    const [first, last] = channels();
    const size = Math.max(1, Math.round(Number(step.value)) || 8);
    const asked = { ...placeOf(dataset), others, channels: `${first}:${last}`, step: size, least: limit() };
    const found = await askJson("vectors", asked, { signal, view: "vectors", doing: "Computing vectors" });
    if (store.state.dataset !== dataset || !shown.checked) return;
    const most = Math.max(...found.intensity, 0);
    const lines = found.x.map((/** @type {number} */ x, /** @type {number} */ i) => {
      // Lengths are in proportion to the intensity; the longest is as long as a block.
      const half = (size / 2) * (found.intensity[i] / (most || 1));
      const [dx, dy] = [found.dx[i] * half, found.dy[i] * half];
      return [{ x: x - dx, y: found.y[i] - dy }, { x: x + dx, y: found.y[i] + dy }];
    });
    app.vectors = asked;
    overlay.lines.set("vectors", { lines, labels: [], colour: "#7ef0c9", dashed: false });
    note.textContent = `${lines.length} vectors of channels ${first} to ${last}; the longest is ${Number(most.toPrecision(4))} ${unit(found.unit)}.`;
    viewer.redraw();
  }

  function refresh() {
    const { dataset, layer } = store.state;
    content.hidden = !isPolarised(dataset);
    for (const button of buttons.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.operation === layer.operation));
    if (!shown.checked || content.hidden) {
      asking.stop();
      app.vectors = null;
      overlay.lines.delete("vectors");
      note.textContent = "The intensity has no correction for noise, which makes it too large.";
      viewer.redraw();
    } else asking.ask({});
  }

  for (const input of [shown, step, least]) input.addEventListener("change", refresh);
  const content = group("Polarisation", buttons, make("label", { class: "check" }, shown, "Vectors"), row("Every", step), row("At least", least), note);
  store.on(["dataset", "layer", "range", "channel", "others"], refresh);
  refresh();
  return content;
}
