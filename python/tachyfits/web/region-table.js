// The table of all regions: their statistics in the plane that is shown, and its download.

import { Latest, ask } from "./api.js";
import { download, make } from "./dom.js";
import { group } from "./panel.js";
import { colourOf, hasArea, textOf, titleOf } from "./regions.js";
import { number, unit } from "./words.js";

/** Columns of the table with the names that the server has for them. @type {[string, string][]} */
const COLUMNS = [["count", "Pixels"], ["mean", "Mean"], ["median", "Median"], ["std", "Deviation"], ["rms", "RMS"], ["min", "Minimum"], ["max", "Maximum"], ["sum", "Sum"]];

/**
 * Return regions as the lines that files and tables are made of.
 * @param {import("./regions.js").Region[]} regions
 */
export function linesOf(regions) {
  return regions
    .filter(({ values }) => values.length)
    .map((region) => `${textOf(region)} # text={${titleOf(region).replace(/[{}\r\n]/g, " ")}} color=${colourOf(region, false)}`)
    .join("\n");
}

/** @param {import("./main.js").App} app */
export function regionTable(app) {
  const { store, viewer } = app;
  const table = make("table", { class: "rows", id: "region-table" });
  const box = make("div", { class: "rows-box", hidden: true }, table);
  const note = make("p", { class: "note", role: "status" });
  const save = make("button", { type: "button", hidden: true, onclick: () => void saveTable() }, "Download CSV");
  const open = make("button", { type: "button", "aria-expanded": false, onclick: () => toggle() }, "Measure all regions");
  const asking = new Latest((/** @type {string} */ lines, signal) => load(lines, signal), (error) => app.tell(error));
  let isOpen = false;

  const measured = () => store.state.regions.filter((region) => region.values.length && hasArea(region));

  /** @param {string} lines @param {AbortSignal} signal */
  async function load(lines, signal) {
    const plane = viewer.plane();
    if (!plane) return;
    const shown = measured();
    const answer = await ask("regions/statistics", plane, { signal, view: "region-table", body: lines, doing: "Measuring regions" });
    const found = await answer.json();
    const head = make("tr", {}, make("th", { scope: "col" }, "Region"), ...COLUMNS.map(([, title]) => make("th", { scope: "col" }, title)));
    const rows = found.columns.name.map((/** @type {string} */ name, /** @type {number} */ i) => {
      const swatch = make("span", { class: "swatch" });
      const region = shown[i];
      if (region) swatch.style.background = colourOf(region, false);
      const choose = make("button", { type: "button", class: "item", onclick: () => region && store.set({ selected: region.id }) }, swatch, name);
      const cells = COLUMNS.map(([key]) => make("td", { "data-name": key }, number(found.columns[key][i], 6)));
      return make("tr", { "aria-selected": region?.id === store.state.selected }, make("th", { scope: "row" }, choose), ...cells);
    });
    table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    note.textContent = found.unit ? `Unit: ${unit(found.unit)}` : "";
  }

  async function saveTable() {
    const plane = viewer.plane();
    if (!plane) return;
    try {
      const answer = await ask("regions/statistics", { ...plane, format: "csv" }, { body: linesOf(measured()), doing: "Measuring regions" });
      download(await answer.blob(), "regions.csv");
    } catch (error) {
      app.tell(error);
    }
  }

  function toggle() {
    isOpen = !isOpen;
    open.setAttribute("aria-expanded", String(isOpen));
    open.textContent = isOpen ? "Close the table" : "Measure all regions";
    refresh();
  }

  function refresh() {
    const regions = measured();
    box.hidden = save.hidden = !isOpen || !regions.length;
    if (isOpen && regions.length) asking.ask(linesOf(regions));
    else {
      asking.stop();
      note.textContent = isOpen ? "No region has an area." : "";
    }
  }

  store.on(["regions", "channel", "layer", "others", "dataset"], () => isOpen && refresh());
  return group("All regions", make("div", { class: "buttons" }, open, save), box, note);
}
