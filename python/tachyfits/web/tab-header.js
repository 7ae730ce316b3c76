// The tab "Header": the cards of the HDU, with a search.

import { askJson } from "./api.js";
import { make } from "./dom.js";
import { placeOf } from "./state.js";

/** Cards in the list: a header may have tens of thousands. */
const SHOWN = 1000;

/** @param {import("./main.js").App} app */
export function headerTab(app) {
  const { store } = app;
  const search = make("input", { type: "search", placeholder: "Search keywords, values, comments", "aria-label": "Search the header" });
  const table = make("table", { class: "cards", "aria-label": "Header" });
  const note = make("p", { class: "note", role: "status" });
  /** @type {{keyword: string, value: unknown, comment: string}[]} */
  let cards = [];
  /** @type {import("./state.js").Dataset | null} */
  let of = null;

  function show() {
    const wanted = search.value.trim().toLowerCase();
    const found = cards.filter(({ keyword, value, comment }) => `${keyword} ${value} ${comment}`.toLowerCase().includes(wanted));
    table.replaceChildren(
      ...found.slice(0, SHOWN).map(({ keyword, value, comment }) =>
        make("tr", comment ? { title: comment } : {}, make("td", {}, keyword), make("td", {}, value === null ? comment ?? "" : textOf(value))),
      ),
    );
    note.textContent = found.length > SHOWN ? `The first ${SHOWN} of ${found.length} cards` : `${found.length} of ${cards.length} cards`;
  }

  async function load() {
    const { dataset } = store.state;
    if (!dataset || dataset === of) return;
    of = dataset;
    try {
      const found = await askJson("header", placeOf(dataset), { doing: "Reading the header" });
      if (of !== dataset) return;
      cards = found.cards;
      show();
    } catch (error) {
      of = null;
      app.tell(error);
    }
  }

  search.addEventListener("input", show);
  const content = make("div", {}, search, note, table);
  content.addEventListener("shown", () => void load());
  store.on(["dataset"], () => {
    if (!content.hidden) void load();
  });
  return content;
}

/**
 * @param {unknown} value
 * @returns {string} as a card has it; complex numbers come as pairs
 */
function textOf(value) {
  if (typeof value === "boolean") return value ? "T" : "F";
  return Array.isArray(value) ? `(${value.join(", ")})` : String(value);
}
