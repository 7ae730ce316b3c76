// Contours: of this image, or of another one, placed by the world coordinates of both.

import { Latest, askJson } from "./api.js";
import { make, row, select } from "./dom.js";
import { group } from "./panel.js";
import { firstOthers, placeOf } from "./state.js";
import { number, unit } from "./words.js";

/** @typedef {import("./state.js").Dataset} Dataset */
/** @typedef {import("./state.js").Contours} ContourState */

/** Levels in units of the noise that are chosen where none are given. */
const SIGMAS = [3, 5, 10, 20, 40];

/** Levels that are chosen where none are given. */
const COUNT = 6;

/** Draws the contours of the state, which links restore. */
export class ContourLines {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    /** What is drawn, in words. */
    this.note = "";
    this.changed = () => {};
    /** Identity of the lines that are drawn. */
    this.drawn = "";
    this.asking = new Latest((/** @type {ContourState} */ wanted, signal) => this.load(wanted, signal), (error) => app.tell(error));
    app.store.on(["contours", "dataset"], () => this.show());
  }

  show() {
    const { overlay, viewer, store } = this.app;
    const { contours, dataset } = store.state;
    if (!contours || !dataset) {
      this.asking.stop();
      this.drawn = this.note = "";
      overlay.lines.delete("contours");
      viewer.redraw();
      this.changed();
      return;
    }
    const lines = overlay.lines.get("contours");
    if (lines && this.drawn === identity(contours, dataset)) {
      lines.colour = contours.colour;
      viewer.redraw();
    } else {
      this.asking.ask(contours);
    }
  }

  /** @param {ContourState} wanted @param {AbortSignal} signal */
  async load(wanted, signal) {
    const { overlay, viewer, store } = this.app;
    const { dataset } = store.state;
    if (!dataset) return;
    const { levels, of } = wanted;
    const from = of.id ? { ...of, onto: dataset.id, onto_hdu: dataset.hdu } : { ...placeOf(dataset), ...of };
    const found = await askJson("contours", { ...from, levels: levels.join(",") }, { signal, view: "contours", doing: "Drawing contours" });
    if (store.state.dataset !== dataset || store.state.contours === null) return;
    const lines = [];
    for (const { lines: flat } of found.contours) {
      for (const line of flat) {
        const points = [];
        for (let i = 0; i < line.length; i += 2) points.push({ x: line[i], y: line[i + 1] });
        lines.push(points);
      }
    }
    overlay.lines.set("contours", { lines, labels: [], colour: store.state.contours.colour, dashed: false });
    this.drawn = identity(wanted, dataset);
    this.note = `${lines.length} lines at ${levels.map((value) => number(value, 3)).join(", ")} ${unit(found.unit)}`;
    this.changed();
    viewer.redraw();
  }
}

/** @param {ContourState} contours @param {Dataset} dataset */
function identity({ levels, of }, dataset) {
  return JSON.stringify([levels, of, dataset.id, dataset.hdu, dataset.version]);
}

/** @param {import("./main.js").App} app */
export function contourGroup(app) {
  const { store, viewer, contours } = app;
  /** @type {Dataset | null} another image */
  let other = null;
  let plane = "mean";
  const name = make("span", { class: "space" }, "This image");
  const choose = make("button", { type: "button", onclick: () => app.files.pick((id) => void take(id)) }, "Choose…");
  const mine = make("button", { type: "button", onclick: () => void take(null) }, "This image");
  const planes = select({ mean: "Mean", max: "Maximum", moment0: "Moment 0", middle: "Middle channel" }, plane, (value) => { plane = value; levels.value = ""; }, "Plane of the other image");
  const planeRow = row("Plane", planes);
  const levels = make("input", { type: "text", placeholder: "chosen for you", "aria-label": "Levels, with commas between", spellcheck: false });
  let measure = "value";
  const measures = select({ value: "Values", sigma: "Sigma" }, measure, (value) => { measure = value; levels.value = ""; levels.placeholder = value === "sigma" ? SIGMAS.join(", ") : "chosen for you"; }, "What levels are counted in");
  const noise = make("p", { class: "note", id: "contour-noise" });
  const colour = make("input", { type: "color", value: "#7ef0c9", "aria-label": "Colour of contours" });
  const note = make("p", { class: "note", role: "status" });

  /** @param {string | null} id */
  async function take(id) {
    try {
      other = id === null ? null : await askJson("dataset", { id }, { doing: "Opening the file" });
      levels.value = "";
      show();
    } catch (error) {
      app.tell(error);
    }
  }

  function show() {
    name.textContent = other?.id.split("/").at(-1) ?? "This image, as shown";
    planeRow.hidden = (other?.channels ?? 1) < 2;
    mine.hidden = other === null;
  }

  /** Parameters of the plane whose contours are drawn: of another image with its name. */
  function source() {
    if (!other) {
      const { id, hdu, version, ...of } = viewer.plane() ?? {};
      return of;
    }
    const { id, hdu } = other;
    const common = { id, hdu, others: firstOthers(other) };
    if (other.channels < 2) return common;
    if (plane === "middle") return { ...common, channel: Math.ceil(other.channels / 2) };
    return { ...common, collapse: plane };
  }

  async function draw() {
    const { dataset } = store.state;
    if (!dataset) return;
    const of = source();
    try {
      let values = levels.value.split(/[\s,]+/).filter(Boolean).map(Number);
      const from = other ? of : { ...placeOf(dataset), ...of };
      noise.textContent = "";
      if (measure === "sigma") {
        const found = await askJson("noise", from, { doing: "Measuring the noise" });
        const sigmas = values.length ? values : SIGMAS;
        if (!values.length) levels.value = sigmas.join(", ");
        noise.textContent = `Sigma is ${number(found.noise, 4)} ${unit(found.unit)}, by the median deviation; levels are counted from 0.`;
        values = sigmas.filter(Number.isFinite).map((sigma) => sigma * found.noise);
      }
      if (!values.length) {
        const { low, high } = await askJson("limits", { ...from, method: "percentile99.5" }, { doing: "Choosing levels" });
        values = Array.from({ length: COUNT }, (_, i) => Number((low + ((i + 1) / (COUNT + 1)) * (high - low)).toPrecision(3)));
        levels.value = values.join(", ");
      }
      store.set({ contours: { levels: values.filter(Number.isFinite), colour: colour.value, of } });
    } catch (error) {
      app.tell(error);
    }
  }

  colour.addEventListener("input", () => {
    const { contours: shown } = store.state;
    if (shown) store.set({ contours: { ...shown, colour: colour.value } });
  });

  /** Show in the form what a link restored. */
  function refresh() {
    const { contours: shown } = store.state;
    note.textContent = contours.note;
    if (!shown) return;
    colour.value = shown.colour;
    if (document.activeElement !== levels && measure === "value") levels.value = shown.levels.join(", ");
  }

  contours.changed = refresh;
  refresh();
  show();
  return group(
    "Contours",
    make("div", { class: "check" }, name, mine, choose),
    planeRow,
    row("Levels", levels),
    row("In", measures),
    noise,
    row("Colour", colour),
    make("div", { class: "buttons" }, make("button", { type: "button", onclick: () => void draw() }, "Draw contours"), make("button", { type: "button", onclick: () => store.set({ contours: null }) }, "Remove")),
    note,
  );
}
