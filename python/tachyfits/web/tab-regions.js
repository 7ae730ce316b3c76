// The tab "Regions": the list, the numbers of the selected one, its statistics, and region files.

import { ApiError, Latest, ask, askJson } from "./api.js";
import { download, hexOf, make, row, select as choice } from "./dom.js";
import { group } from "./panel.js";
import { linesOf, regionTable } from "./region-table.js";
import { colourOf, hasArea, parse, problemOf, rounded, textOf, titleOf } from "./regions.js";
import { placeOf } from "./state.js";
import { number, unit } from "./words.js";

/** Names of the values of each kind. */
const VALUES = {
  circle: ["x", "y", "Radius"],
  ellipse: ["x", "y", "Semi-axis a", "Semi-axis b", "Angle"],
  box: ["x", "y", "Width", "Height", "Angle"],
  annulus: ["x", "y", "Inner radius", "Outer radius"],
  ring: ["x", "y", "Inner semi-axis a", "Inner semi-axis b", "Outer semi-axis a", "Outer semi-axis b", "Angle"],
  point: ["x", "y"],
  line: ["x1", "y1", "x2", "y2"],
};

/** Statistics in the order of the list; others that the server sends come after them. */
const NAMES = /** @type {Record<string, string>} */ ({
  count: "Pixels", undefined: "Undefined", sum: "Sum", mean: "Mean", median: "Median", std: "Deviation", rms: "RMS",
  min: "Minimum", max: "Maximum", flux: "Flux", min_position: "Minimum at", max_position: "Maximum at",
});

/** Angles: 30", 2', 0.1d, 5:34:32, 5h34m32s, 20°. */
const ANGLE = /\d\s*["'°:]|\d[dhm](?![a-z])/i;

/** Return text with the frame of the sky: shapes with angles and without a frame are ICRS. @param {string} text */
function inFrame(text) {
  const bare = /^\s*[a-z]+\s*\([^()]*\)\s*$/i.test(text);
  return bare && ANGLE.test(text) ? `icrs; ${text}` : text;
}

/** @param {import("./main.js").App} app */
export function regionsTab(app) {
  const { store, viewer } = app;
  const list = make("ul", { class: "list", "aria-label": "Regions" });
  const values = make("div", { class: "group" });
  const table = make("table", { class: "values" });
  const note = make("p", { class: "note" });
  const problem = make("p", { class: "problem", role: "alert", id: "region-problem" });
  const text = make("textarea", { rows: 2, placeholder: "circle(40,50,7)", "aria-label": "Regions as text", "aria-describedby": "region-problem", spellcheck: false });
  const file = make("input", { type: "file", accept: ".reg,.ds9,.crtf,.txt", hidden: true, "aria-label": "Region file" });

  const chosen = () => store.state.regions.find((region) => region.id === store.state.selected);
  const asking = new Latest(load, (error) => app.tell(error));

  /** Ask for the statistics of a region, in the channel or the range. @param {string} region @param {AbortSignal} signal */
  async function load(region, signal) {
    const plane = viewer.plane();
    if (!plane) return;
    const options = { signal, view: "statistics", doing: "Measuring the region" };
    const found = await askJson("statistics", { ...plane, region }, options);
    showStatistics(found.statistics ?? found);
  }

  /** @param {Record<string, any>} found */
  function showStatistics(found) {
    table.replaceChildren();
    const known = Object.keys(NAMES).filter((name) => name in found);
    for (const name of known) {
      const value = found[name];
      const shown = Array.isArray(value) ? value.join(", ") : number(value, 7);
      table.append(make("tr", {}, make("th", { scope: "row" }, NAMES[name]), make("td", { "data-name": name }, shown)));
    }
    note.textContent = found.unit ? `Unit: ${unit(found.unit)}` : "";
  }

  function showList() {
    list.replaceChildren(
      ...store.state.regions.map((region) => {
        const swatch = make("span", { class: "swatch" });
        swatch.style.background = colourOf(region, false);
        const name = titleOf(region);
        const select = make(
          "button",
          { type: "button", class: "item", "aria-pressed": region.id === store.state.selected, onclick: () => store.set({ selected: region.id }) },
          swatch,
          name,
          make("span", { class: "space dim" }, `(${rounded(region.values).join(", ")})`),
        );
        const remove = make("button", { type: "button", class: "icon", title: "Remove", "aria-label": `Remove ${name}`, onclick: () => viewer.remove(region.id) }, "×");
        return make("li", { class: "check" }, select, remove);
      }),
    );
    if (!store.state.regions.length) list.append(make("li", { class: "note" }, "Choose a shape at the left of the image and drag it."));
  }

  const title = make("input", { type: "text", maxlength: 100, "aria-label": "Name of the region", spellcheck: false });
  const paint = make("input", { type: "color", "aria-label": "Colour of the region" });
  title.addEventListener("change", () => {
    const region = chosen();
    if (region) viewer.put({ ...region, name: title.value.trim() });
  });
  paint.addEventListener("change", () => {
    const region = chosen();
    if (region) viewer.put({ ...region, paint: paint.value });
  });
  const looks = make("div", { class: "group" }, row("Name", title), row("Colour", paint));

  function showValues() {
    const region = chosen();
    looks.hidden = !region;
    if (region) {
      if (document.activeElement !== title) title.value = region.name ?? "";
      title.placeholder = titleOf({ ...region, name: "" });
      paint.value = colourOf(region, false);
    }
    const names = region ? VALUES[/** @type {keyof typeof VALUES} */ (region.kind)] : undefined;
    if (!region || !names) {
      values.dataset.shape = "";
      values.replaceChildren();
      return;
    }
    const inputs = [...values.querySelectorAll("input")];
    if (values.dataset.shape !== `${region.id} ${region.kind}`) {
      values.dataset.shape = `${region.id} ${region.kind}`;
      values.replaceChildren();
      names.forEach((name, i) => {
        const input = make("input", { type: "number", step: "any", "aria-label": name });
        input.addEventListener("change", () => {
          const now = chosen();
          if (!now) return;
          const next = { ...now, values: now.values.map((old, j) => (j === i ? input.valueAsNumber : old)) };
          const wrong = problemOf(next);
          input.setCustomValidity(wrong && `${name}: ${wrong}`);
          if (input.reportValidity()) viewer.put(next);
        });
        values.append(row(name, input));
        inputs[i] = input;
      });
    }
    region.values.forEach((value, i) => {
      if (document.activeElement !== inputs[i]) inputs[i].value = String(Math.round(value * 1000) / 1000);
    });
  }

  function refresh() {
    showList();
    showValues();
    const region = chosen();
    if (region && region.values.length && hasArea(region)) {
      asking.ask(textOf(region));
    } else {
      asking.stop();
      table.replaceChildren();
      note.textContent = "Select a region to measure it.";
    }
  }

  /** Add the regions that are written; the problem is shown beside them. */
  async function addText() {
    const given = text.value.trim();
    const shape = parse(given);
    const { dataset } = store.state;
    problem.textContent = "";
    text.removeAttribute("aria-invalid");
    if (!given || !dataset) return;
    try {
      if (shape) viewer.add(shape.kind, shape.values);
      else await addFromServer(inFrame(given));
      text.value = "";
    } catch (error) {
      problem.textContent = error instanceof Error ? [error.message, error instanceof ApiError && error.hint].filter(Boolean).join(" · ") : String(error);
      text.setAttribute("aria-invalid", "true");
    }
  }

  /** Add regions in any notation: the server reads DS9 and CASA and converts from the sky. @param {string} body */
  async function addFromServer(body) {
    const { dataset } = store.state;
    if (!dataset) return;
    const answer = await ask("regions/pixels", placeOf(dataset), { body, doing: "Reading regions" });
    const { regions, excluded, labels, colors, left_out: unread } = await answer.json();
    // Without its holes a shape would be another one.
    if (excluded.length) throw new Error(`Nothing was added: the page has no excluded regions, and the text excludes ${excluded.slice(0, 3).join(", ")}`);
    /** @type {string[]} */
    const lacking = [...unread];
    regions.forEach((/** @type {string} */ one, /** @type {number} */ i) => {
      const shape = parse(one);
      const colour = hexOf(colors[i]);
      if (shape) viewer.add(shape.kind, shape.values, { ...(labels[i] ? { name: labels[i] } : {}), ...(colour ? { paint: colour } : {}) });
      else lacking.push(one);
    });
    if (lacking.length) problem.textContent = `Left out, because they have no pixels or the page lacks them: ${lacking.slice(0, 5).join(", ")}`;
  }

  /** @param {File} from */
  async function readFile(from) {
    try {
      await addFromServer(await from.text());
    } catch (error) {
      app.tell(error);
    }
  }

  let format = "ds9";
  let system = "sky";
  const formats = choice({ ds9: "DS9", crtf: "CASA (CRTF)" }, format, (value) => { format = value; }, "Format of the saved regions");
  const systems = choice({ sky: "On the sky", image: "In pixels" }, system, (value) => { system = value; }, "Coordinates of the saved regions");

  async function saveFile() {
    const { dataset, regions } = store.state;
    if (!dataset) return;
    try {
      const answer = await ask("regions/file", { ...placeOf(dataset), format, system }, { body: linesOf(regions), doing: "Writing regions" });
      download(await answer.blob(), format === "ds9" ? "regions.reg" : "regions.crtf");
    } catch (error) {
      app.tell(error);
    }
  }

  const undo = make("button", { type: "button", title: "Undo (Ctrl+Z)", onclick: () => app.history.undo() }, "Undo");
  const redo = make("button", { type: "button", title: "Redo (Ctrl+Shift+Z)", onclick: () => app.history.redo() }, "Redo");
  app.history.changed = () => {
    undo.disabled = !app.history.past.length;
    redo.disabled = !app.history.future.length;
  };
  app.history.changed();

  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    void addText();
  });
  file.addEventListener("change", () => {
    for (const one of file.files ?? []) void readFile(one);
    file.value = "";
  });
  store.on(["regions", "selected", "channel", "layer", "others", "dataset"], () => {
    if (!content.hidden) refresh();
  });
  const content = make(
    "div",
    {},
    group("Regions", list, make("div", { class: "buttons" }, undo, redo)),
    group("Selected", looks, values, table, note),
    regionTable(app),
    group(
      "By text",
      text,
      problem,
      make("div", { class: "buttons" }, make("button", { type: "button", onclick: () => void addText() }, "Add")),
      make("p", { class: "note" }, "In pixels, or on the sky: circle(83.6, 22.0, 30\") is ICRS; name another frame first, galactic; box(…). Also annulus(50, 50, 20, 40), box with an angle, polygon and point. Regions of DS9 can be pasted."),
    ),
    group(
      "Region files",
      row("Save as", formats, systems),
      make(
        "div",
        { class: "buttons" },
        make("button", { type: "button", onclick: () => file.click() }, "Read a file…"),
        make("button", { type: "button", onclick: () => void saveFile() }, "Save regions"),
        make("button", { type: "button", onclick: () => store.set({ regions: [], selected: null }) }, "Remove all"),
        file,
      ),
    ),
  );
  content.addEventListener("shown", refresh);
  return content;
}
