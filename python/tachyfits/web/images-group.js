// The images of the page, in the tab "Image": which leads, how they lie, and whether channels follow.

import { make, row, select } from "./dom.js";
import { LAYOUTS, MOST, nameOf } from "./images.js";
import { group } from "./panel.js";

/** @param {import("./main.js").App} app */
export function imagesGroup(app) {
  const { store, images } = app;
  const { state } = store;
  const list = make("ul", { class: "list", "aria-label": "Images" });
  const layout = select(LAYOUTS, state.layout, (value) => store.set({ layout: value }), "How images lie");
  const opacity = make("input", { type: "range", min: 0, max: 1, step: 0.01, "aria-label": "Opacity" });
  opacity.addEventListener("input", () => store.set({ opacity: Number(opacity.value) }));
  const opacityRow = row("Opacity", opacity);
  const together = check("Channels follow each other", (on) => {
    store.set({ together: on });
    images.followChannel();
  });
  const plays = check("Go on by itself", (on) => {
    images.plays = on;
    images.blink();
  });
  const next = make("button", { type: "button", onclick: () => images.next() }, "Next image (X)");
  const blinkRow = make("div", { class: "buttons" }, plays.label, next);
  const add = make("button", { type: "button", onclick: () => app.files.add() }, "Add an image…");
  const note = make("p", { class: "note" }, "Matched by the sky: by position, scale and angle at the middle of the screen.");
  const content = group("Images", list, make("div", { class: "buttons" }, add), row("Layout", layout), opacityRow, blinkRow, together.label, note);

  /** @param {string} text @param {(on: boolean) => void} change */
  function check(text, change) {
    const input = make("input", { type: "checkbox" });
    input.addEventListener("change", () => change(input.checked));
    return { input, label: make("label", { class: "check" }, input, text) };
  }

  function refresh() {
    const { dataset, beside } = state;
    if (!dataset) return;
    const isAlone = !beside.length;
    add.disabled = beside.length >= MOST - 1;
    for (const element of [layout.closest(".row"), together.label, note]) if (element instanceof HTMLElement) element.hidden = isAlone;
    opacityRow.hidden = isAlone || state.layout !== "over";
    blinkRow.hidden = isAlone || state.layout !== "blink";
    layout.value = state.layout;
    opacity.value = String(state.opacity);
    together.input.checked = state.together;
    plays.input.checked = images.plays;
    list.hidden = isAlone;
    const all = app.viewer.inOrder([{ key: /** @type {number | null} */ (null), dataset }, ...beside]);
    list.replaceChildren(
      ...all.map(({ key, dataset }) => {
        const name = nameOf(dataset);
        const lead = make("button", { type: "button", class: "item", "aria-pressed": key === null, onclick: () => key !== null && void images.lead(key) }, make("span", { class: "space" }, name), make("span", { class: "dim" }, key === null ? "tools" : ""));
        const close = make("button", { type: "button", class: "icon", "aria-label": `Close ${name}`, title: "Close", onclick: () => void images.close(key) }, "×");
        return make("li", { class: "check" }, lead, close);
      }),
    );
  }

  store.on(["beside", "place", "dataset", "layout", "opacity", "together"], refresh);
  refresh();
  return content;
}
