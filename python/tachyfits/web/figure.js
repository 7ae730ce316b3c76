// Figures for print of what is shown, by the engine; the command and the Python lines that draw them.

import { ask } from "./api.js";
import { download, make, row, select } from "./dom.js";
import { group } from "./panel.js";
import { hasArea, textOf } from "./regions.js";

/** Names of matplotlib for the colour maps of the page that have others. @type {Record<string, string>} */
const MAPS = { grey: "gray", heat: "afmhot", "red-blue": "RdBu_r" };

/** The parameters of a catalogue of a figure. @param {import("./catalogues.js").Layer} layer */
function pointsOf({ source, columns, where, colour }) {
  const found = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...source, ...columns, where: where || null, color: colour })) {
    if (value !== null && value !== undefined) found.set(key, String(value));
  }
  return found.toString();
}

/** @param {import("./main.js").App} app */
export function figureGroup(app) {
  const { store, viewer } = app;
  let format = "pdf";
  let width = "3.5";
  const formats = select({ pdf: "PDF", svg: "SVG", png: "PNG" }, format, (value) => { format = value; }, "Format of the figure");
  const widths = select({ 3.5: "A column (3.5 in)", 7.1: "A page (7.1 in)" }, width, (value) => { width = value; }, "Width of the figure");
  const title = make("input", { type: "text", maxlength: 200, placeholder: "The object", "aria-label": "Title of the figure", spellcheck: false });
  const withRegions = make("input", { type: "checkbox" });
  const withContours = make("input", { type: "checkbox" });
  const withCatalogues = make("input", { type: "checkbox" });
  const withVectors = make("input", { type: "checkbox" });
  for (const input of [withRegions, withContours, withCatalogues, withVectors]) input.checked = true;
  const command = make("textarea", { rows: 3, readonly: true, "aria-label": "Command line", spellcheck: false });
  const python = make("textarea", { rows: 8, readonly: true, "aria-label": "Python lines", spellcheck: false });
  const note = make("p", { class: "note", role: "status" });
  const copy = (/** @type {HTMLTextAreaElement} */ from) =>
    make("button", { type: "button", onclick: () => void copyText(from) }, "Copy");
  const lines = make("div", { class: "group", hidden: true }, command, copy(command), python, copy(python));

  /** Parameters of the figure, and the regions that are its body. */
  function wanted() {
    const plane = viewer.plane();
    if (!plane) return null;
    const { low, high, stretch, map, inverted, regions, contours, scaleBar } = store.state;
    const drawn = ["linear", "log", "asinh", "sqrt"].includes(stretch) ? stretch : "linear";
    const plain = MAPS[map] ?? map;
    const turned = plain.endsWith("_r") ? plain.slice(0, -2) : `${plain}_r`;
    const name = inverted ? turned : plain;
    note.textContent = drawn === stretch ? "" : `Figures have no stretch ${stretch}: it is drawn linear.`;
    const drawnContours = withContours.checked ? contours : null;
    const other = drawnContours?.of.id ? drawnContours : null;
    const levels = drawnContours && !other ? drawnContours.levels.join(",") : null;
    const over = other ? { overlay: other.of.id, overlay_hdu: other.of.hdu, overlay_channel: other.of.channel, overlay_collapse: other.of.collapse, overlay_others: other.of.others, overlay_levels: other.levels.join(",") } : {};
    const points = withCatalogues.checked ? app.catalogues.layers.filter((layer) => layer.shown && layer.points) : [];
    const vectors = withVectors.checked ? app.vectors.drawn : null;
    const marks = { catalogues: points.map(pointsOf).join("\n") || null, vectors: vectors?.step, vectors_channels: vectors?.channels, vectors_least: vectors?.least };
    const body = withRegions.checked ? regions.filter((region) => region.values.length && (hasArea(region) || region.kind === "line")).map(textOf).join("\n") : "";
    return { body, asked: { ...plane, low, high, stretch: drawn, colormap: name, levels, ...over, ...marks, scale_bar: scaleBar && store.state.dataset?.coordinates.sky ? true : null, width, title: title.value.trim() || null } };
  }

  async function save() {
    const found = wanted();
    if (!found) return;
    try {
      const answer = await ask("figure", { ...found.asked, format }, { body: found.body, doing: "Drawing the figure" });
      download(await answer.blob(), `figure.${format}`);
    } catch (error) {
      app.tell(error);
    }
  }

  async function showLines() {
    const found = wanted();
    if (!found) return;
    try {
      const answer = await ask("figure/lines", found.asked, { body: found.body });
      const said = await answer.json();
      command.value = said.command;
      python.value = said.python;
      lines.hidden = false;
    } catch (error) {
      app.tell(error);
    }
  }

  /** @param {HTMLTextAreaElement} from */
  async function copyText(from) {
    from.select();
    await navigator.clipboard.writeText(from.value).then(
      () => (note.textContent = "Copied."),
      () => (note.textContent = "Select the text and copy it."),
    );
  }

  return group(
    "Figure for print",
    row("Size", widths, formats),
    row("Title", title),
    make("div", { class: "check" }, make("label", { class: "check" }, withRegions, "Regions"), make("label", { class: "check" }, withContours, "Contours")),
    make("div", { class: "check" }, make("label", { class: "check" }, withCatalogues, "Catalogues"), make("label", { class: "check" }, withVectors, "Vectors")),
    make("div", { class: "buttons" }, make("button", { type: "button", class: "primary", onclick: () => void save() }, "Draw the figure"), make("button", { type: "button", onclick: () => void showLines() }, "Command and Python")),
    lines,
    note,
  );
}
