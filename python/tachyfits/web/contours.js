// Contours: of this image, or of another one, placed by the world coordinates of both.

import { askJson } from "./api.js";
import { make, row, select } from "./dom.js";
import { group } from "./panel.js";
import { firstOthers, placeOf } from "./state.js";
import { number, unit } from "./words.js";

/** @typedef {import("./state.js").Dataset} Dataset */

/** Levels that are chosen where none are given. */
const COUNT = 6;

/** @param {import("./main.js").App} app */
export function contourGroup(app) {
  const { store, viewer, overlay } = app;
  /** @type {Dataset | null} another image */
  let other = null;
  let plane = "mean";
  const name = make("span", { class: "space" }, "This image");
  const choose = make("button", { type: "button", onclick: () => app.files.pick((id) => void take(id)) }, "Choose…");
  const mine = make("button", { type: "button", onclick: () => void take(null) }, "This image");
  const planes = select({ mean: "Mean", max: "Maximum", moment0: "Moment 0", middle: "Middle channel" }, plane, (value) => { plane = value; levels.value = ""; }, "Plane of the other image");
  const planeRow = row("Plane", planes);
  const levels = make("input", { type: "text", placeholder: "chosen for you", "aria-label": "Levels, with commas between", spellcheck: false });
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

  /** Parameters of the plane whose contours are drawn. */
  function source() {
    if (!other) return viewer.plane();
    const common = { ...placeOf(other), others: firstOthers(other) };
    if (other.channels < 2) return common;
    if (plane === "middle") return { ...common, channel: Math.ceil(other.channels / 2) };
    return { ...common, collapse: plane };
  }

  async function draw() {
    const { dataset } = store.state;
    const from = source();
    if (!dataset || !from) return;
    try {
      let values = levels.value.split(/[\s,]+/).map(Number).filter((value) => Number.isFinite(value));
      if (!levels.value.trim()) {
        const { low, high } = await askJson("limits", { ...from, method: "percentile99.5" }, { doing: "Choosing levels" });
        values = Array.from({ length: COUNT }, (_, i) => Number((low + ((i + 1) / (COUNT + 1)) * (high - low)).toPrecision(3)));
        levels.value = values.join(", ");
      }
      const onto = other ? { onto: dataset.id, onto_hdu: dataset.hdu } : {};
      const found = await askJson("contours", { ...from, ...onto, levels: values.join(",") }, { view: "contours", doing: "Drawing contours" });
      const lines = [];
      for (const { lines: flat } of found.contours) {
        for (const line of flat) {
          const points = [];
          for (let i = 0; i < line.length; i += 2) points.push({ x: line[i], y: line[i + 1] });
          lines.push(points);
        }
      }
      overlay.lines.set("contours", { lines, labels: [], colour: colour.value, dashed: false });
      note.textContent = `${lines.length} lines at ${values.map((value) => number(value, 3)).join(", ")} ${unit(found.unit)}`;
      viewer.redraw();
    } catch (error) {
      app.tell(error);
    }
  }

  function clear() {
    overlay.lines.delete("contours");
    note.textContent = "";
    viewer.redraw();
  }

  colour.addEventListener("input", () => {
    const lines = overlay.lines.get("contours");
    if (lines) {
      lines.colour = colour.value;
      viewer.redraw();
    }
  });
  store.on(["dataset"], clear);
  show();
  return group(
    "Contours",
    make("div", { class: "check" }, name, mine, choose),
    planeRow,
    row("Levels", levels),
    row("Colour", colour),
    make("div", { class: "buttons" }, make("button", { type: "button", onclick: () => void draw() }, "Draw contours"), make("button", { type: "button", onclick: clear }, "Remove")),
    note,
  );
}
