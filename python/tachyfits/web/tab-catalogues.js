// The tab "Tables": which are drawn, their columns and condition, and pages of their rows.

import { Latest, askJson } from "./api.js";
import { make, row, select } from "./dom.js";
import { group } from "./panel.js";
import { placeOf } from "./state.js";
import { number } from "./words.js";

/** @typedef {import("./catalogues.js").Layer} Layer */

/** Rows of a page. */
const PAGE = 50;

const FRAMES = { "": "As the table says", icrs: "ICRS", fk5: "FK5", fk4: "FK4", galactic: "Galactic", supergalactic: "Supergalactic", ecliptic: "Ecliptic", pixels: "Pixels of the image" };

/** @param {import("./main.js").App} app */
export function cataloguesTab(app) {
  const { catalogues, store } = app;
  const list = make("ul", { class: "list", "aria-label": "Catalogues" });
  const options = make("div", { class: "group" });
  const counts = make("p", { class: "note", role: "status", id: "catalogue-counts" });
  const problem = make("p", { class: "problem", role: "alert", id: "catalogue-problem" });
  const where = make("input", { type: "text", placeholder: "MAG < 20 && CLASS == 'STAR'", "aria-label": "Condition of rows", spellcheck: false });
  const table = make("table", { class: "rows" });
  const pages = make("div", { class: "buttons" });
  const services = make("div", { class: "group" });
  let offset = 0;
  /** Which columns and rows are listed. */
  let listed = "";
  /** @type {number | null} the row that a page was asked for */
  let around = null;
  const asking = new Latest(loadRows, (error) => app.tell(error));

  /** @param {{layer: Layer, key: string}} wanted @param {AbortSignal} signal */
  async function loadRows({ layer, key }, signal) {
    const asked = catalogues.parameters(layer);
    if (!asked) return;
    const { longitude: _x, latitude: _y, frame: _frame, ...rest } = asked;
    const place = around === null ? { offset } : { around };
    const found = await askJson("catalogue/rows", { ...rest, ...place, limit: PAGE }, { signal, view: "catalogue-rows", doing: "Reading rows" });
    offset = found.offset;
    around = null;
    listed = key;
    showRows(layer, found);
  }

  /** @param {Layer} layer @param {{rows: number, offset: number, numbers: number[], columns: import("./catalogues.js").Column[], cells: any[][]}} page */
  function showRows(layer, page) {
    const titles = page.columns.map(({ name, unit, ucd, description }) => {
      const title = [description, ucd, unit].filter(Boolean).join("\n");
      return make("th", { scope: "col", title }, name, unit ? make("span", { class: "dim" }, ` ${unit}`) : "");
    });
    const body = page.numbers.map((number_, i) => {
      const choose = make("button", { type: "button", class: "item", "aria-label": `Row ${number_ + 1}`, onclick: () => catalogues.select(layer, number_) }, String(number_ + 1));
      const cells = page.cells.map((cells) => make("td", {}, cells[i] === null ? "" : typeof cells[i] === "number" ? number(cells[i], 9) : String(cells[i])));
      return make("tr", { "data-row": number_, onclick: () => catalogues.select(layer, number_) }, make("th", { scope: "row" }, choose), ...cells);
    });
    table.replaceChildren(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Row"), ...titles)), make("tbody", {}, ...body));
    const last = page.offset + page.numbers.length;
    const go = (/** @type {number} */ to) => () => {
      offset = to;
      refreshRows(true);
    };
    pages.replaceChildren(
      make("button", { type: "button", disabled: page.offset === 0, onclick: go(Math.max(0, page.offset - PAGE)) }, "Previous"),
      make("span", { class: "dim" }, page.rows ? `${page.offset + 1}–${last} of ${page.rows}` : "no rows"),
      make("button", { type: "button", disabled: last >= page.rows, onclick: go(last) }, "Next"),
    );
    markRow(layer);
  }

  /** Mark the selected row; return whether it is on the page. @param {Layer} layer */
  function markRow(layer) {
    let marked = null;
    for (const line of table.querySelectorAll("tbody tr")) {
      const chosen = layer.selected !== null && line.getAttribute("data-row") === String(layer.selected);
      line.setAttribute("aria-selected", String(chosen));
      if (chosen) marked = line;
    }
    marked?.scrollIntoView({ block: "nearest" });
    return marked !== null;
  }

  function refreshRows(again = false) {
    const layer = catalogues.current;
    if (!layer) {
      asking.stop();
      listed = "";
      table.replaceChildren();
      pages.replaceChildren();
      return;
    }
    const key = JSON.stringify([layer.id, layer.where]);
    if (key !== listed && !again) offset = 0;
    const isHere = key === listed && markRow(layer);
    if (layer.selected !== null && !isHere && !again && key === listed) around = layer.selected;
    if (key !== listed || again || around !== null) asking.ask({ layer, key });
  }

  function refresh() {
    list.replaceChildren(
      ...catalogues.layers.map((layer) => {
        const colour = make("input", { type: "color", value: layer.colour, "aria-label": `Colour of ${layer.name}` });
        colour.addEventListener("input", () => catalogues.change(layer, { colour: colour.value }));
        const shown = make("input", { type: "checkbox", "aria-label": `Show ${layer.name}` });
        shown.checked = layer.shown;
        shown.addEventListener("change", () => catalogues.change(layer, { shown: shown.checked }));
        const name = make("button", { type: "button", class: "item", "aria-pressed": layer === catalogues.current, onclick: () => { catalogues.current = layer; catalogues.redraw(); } }, make("span", { class: "space" }, layer.name));
        const remove = make("button", { type: "button", class: "icon", title: "Remove", "aria-label": `Remove ${layer.name}`, onclick: () => catalogues.remove(layer) }, "×");
        return make("li", { class: "check" }, shown, colour, name, remove);
      }),
    );
    if (!catalogues.layers.length) list.append(make("li", { class: "note" }, "A table of FITS, VOTable, CSV, Parquet or Arrow is drawn as points; a click on a point shows its row."));
    showOptions();
    refreshRows();
  }

  function showOptions() {
    const layer = catalogues.current;
    options.hidden = filter.hidden = rows.hidden = !layer;
    if (!layer) return;
    const { described, points } = layer;
    counts.textContent = points ? `${points.count} of ${layer.rows} rows have a point in this image.` : "";
    problem.textContent = layer.problem;
    if (document.activeElement !== where) where.value = layer.where;
    const known = Object.fromEntries(described.columns.map(({ name }) => [name, name]));
    const automatic = (/** @type {"longitude" | "latitude"} */ which) => ({ "": described.positions ? `Found: ${described.positions[which]}` : "Choose…", ...known });
    const take = () => {
      const [x, y] = [longitude.value, latitude.value];
      if (Boolean(x) !== Boolean(y)) return;
      catalogues.change(layer, { columns: { longitude: x || null, latitude: y || null, frame: frame.value || null }, selected: null });
    };
    const longitude = select(automatic("longitude"), String(layer.columns.longitude ?? ""), take, "Column of longitudes");
    const latitude = select(automatic("latitude"), String(layer.columns.latitude ?? ""), take, "Column of latitudes");
    const frame = select(FRAMES, String(layer.columns.frame ?? ""), take, "Frame of the positions");
    const tables = described.tables.length > 1 ? [row("Table", select(Object.fromEntries(described.tables.map(({ table: one, name }) => [one, `${one} ${name}`])), String(described.table), (chosen) => void change(layer, Number(chosen)), "Table of the file"))] : [];
    options.replaceChildren(...tables, row("Longitude", longitude), row("Latitude", latitude), row("Frame", frame));
  }

  /** Draw another table of the file in place of a layer. @param {Layer} layer @param {number} chosen */
  async function change(layer, chosen) {
    catalogues.remove(layer);
    await add({ ...layer.source, table: chosen }, layer.name);
  }

  /** @param {import("./api.js").Parameters} source @param {string} name */
  async function add(source, name) {
    try {
      await catalogues.add(source, name);
    } catch (error) {
      app.tell(error);
    }
  }

  where.addEventListener("change", () => {
    const layer = catalogues.current;
    if (layer) catalogues.change(layer, { where: where.value.trim(), selected: null });
  });

  /** Offer services if the operator allows hosts. */
  async function showServices() {
    const { cone_hosts: hosts } = await askJson("about", {});
    if (!hosts.length) return;
    const address = make("input", { type: "url", placeholder: `https://${hosts[0]}/…`, "aria-label": "Address of the service", spellcheck: false });
    const search = async () => {
      const { dataset } = store.state;
      if (!dataset || !address.value.trim()) return;
      try {
        const { cone } = await askJson("catalogue/cone", placeOf(dataset));
        await add({ service: address.value.trim(), cone }, new URL(address.value.trim()).hostname);
      } catch (error) {
        app.tell(error);
      }
    };
    services.replaceChildren(
      make("h2", {}, "Cone search"),
      row("Service", address),
      make("div", { class: "buttons" }, make("button", { type: "button", onclick: () => void search() }, "Search around the image")),
      make("p", { class: "note" }, `Services of Simple Cone Search at ${hosts.join(", ")}.`),
    );
  }

  const filter = group("Filter", row("Rows with", where), counts, problem);
  const rows = group("Rows", make("div", { class: "rows-box" }, table), pages);
  const choose = make("button", { type: "button", class: "primary", onclick: () => app.files.pick((id) => void add({ catalogue: id }, id.split("/").at(-1) ?? id), "catalogue") }, "Add a catalogue…");
  const content = make("div", {}, group("Catalogues", list, make("div", { class: "buttons" }, choose)), options, filter, rows, services);
  catalogues.changed = () => {
    if (!content.hidden) refresh();
  };
  content.addEventListener("shown", refresh);
  void showServices().catch((error) => app.tell(error));
  return content;
}
