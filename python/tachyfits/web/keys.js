// Keys, and the dialog that lists them.

import { dialog } from "./dialog.js";
import { SAMPLES } from "./colourmaps.js";
import { byId, make } from "./dom.js";
import { moved } from "./regions.js";
import { CHANNEL } from "./state.js";
import { toggleTheme } from "./theme.js";
import { TOOLS } from "./toolbar.js";

/** @param {import("./main.js").App} app */
export function listenToKeys(app) {
  const { store, viewer, channels } = app;
  const { state } = store;
  const names = Object.keys(SAMPLES);

  /** Move the selected region by pixels, or the image. @param {number} dx @param {number} dy @param {KeyboardEvent} event */
  const arrow = (dx, dy, event) => {
    const region = state.regions.find((one) => one.id === state.selected);
    const step = event.shiftKey ? 10 : 1;
    if (region) viewer.put({ ...region, values: moved(region, dx * step, dy * step) });
    else viewer.pan(-dx * 40 * step, dy * 40 * step);
    if (!region) app.cursor.point({ x: Math.round(state.centre[0]), y: Math.round(state.centre[1]) });
  };

  /** @type {[string, string, (event: KeyboardEvent) => void][]} keys, what they do for people, what they do */
  const actions = [
    ["ArrowLeft", "", (event) => arrow(-1, 0, event)],
    ["ArrowRight", "", (event) => arrow(1, 0, event)],
    ["ArrowUp", "", (event) => arrow(0, 1, event)],
    ["ArrowDown", "Arrows move the selected region by a pixel, or the image; ten times as far with Shift", (event) => arrow(0, -1, event)],
    ["+", "", () => viewer.zoom(1.5)],
    ["=", "", () => viewer.zoom(1.5)],
    ["-", "Plus and minus zoom", () => viewer.zoom(1 / 1.5)],
    ["0", "Show the whole image", () => viewer.fit()],
    ["1", "One pixel of the image on one of the screen", () => viewer.zoom(1 / devicePixelRatio / state.scale)],
    ["[", "Previous channel", () => channels.step(-1)],
    ["]", "Next channel", () => channels.step(1)],
    [" ", "Play or stop the animation", () => channels.toggle()],
    ["m", "Moment 0 of the range, or back to the channel", () => momentOrChannel()],
    ["n", "Next colour map", () => store.set({ map: names[(names.indexOf(state.map) + 1) % names.length] })],
    ["i", "Invert the colour map", () => store.set({ inverted: !state.inverted })],
    ["f", "Follow the cursor with a spectrum, or not", () => store.set({ follow: !state.follow })],
    ["k", "Sky grid", () => store.set({ grid: !state.grid })],
    ["Delete", "", () => remove()],
    ["Backspace", "Delete removes the selected region", () => remove()],
    ["Enter", "Close the polygon, end the polyline", () => viewer.corners && viewer.closePolygon()],
    ["Escape", "Give up what is drawn, deselect, dismiss a message", () => giveUp()],
    ["o", "Open a file; with Shift beside the others", (event) => (event.shiftKey ? app.files.add() : app.files.open())],
    ["x", "The next image, where they are shown one after the other", () => app.images.next()],
    ["w", "Let the next image lead: the tools work on it", () => void app.images.leadNext()],
    ["j", "Go to a position", () => app.goTo.open()],
    ["d", "Light or dark", () => toggleTheme(store)],
    ["?", "This help", () => help.showModal()],
  ];
  for (const [tool, key, title] of TOOLS) actions.push([key, title, () => store.set({ tool })]);

  function momentOrChannel() {
    if (state.layer.operation !== "channel") {
      store.set({ layer: CHANNEL });
      return;
    }
    const [first, last] = state.range ?? [1, state.dataset?.channels ?? 1];
    if (last > first) void app.maps.show({ operation: "moment0", first, last });
  }

  function remove() {
    if (state.selected !== null) viewer.remove(state.selected);
  }

  function giveUp() {
    viewer.corners = null;
    app.maps.cancel();
    app.dismiss();
    store.set({ selected: null, tool: "pan" });
    viewer.redraw();
  }

  const table = make("table", { class: "keys" });
  const shown = /** @type {Record<string, string>} */ ({ ArrowDown: "← → ↑ ↓", "-": "+ −", Backspace: "Delete", " ": "Space", Escape: "Esc" });
  for (const [key, text] of actions) {
    if (text) table.append(make("tr", {}, make("td", {}, make("kbd", {}, shown[key] ?? (key.length === 1 ? key.toUpperCase() : key))), make("td", {}, text)));
  }
  const words = make(
    "div",
    { class: "group" },
    make("p", {}, "Drag the circle: its spectrum follows below. Drag over the spectrum to choose channels, then make a map of them in the tab Maps. The wheel zooms, over the image and over the spectrum; a click on the spectrum shows a channel."),
    make("p", {}, "Drag with the right button to change bias and contrast. Two fingers zoom and move."),
    table,
  );
  const help = dialog("Help and keys", null, words);
  byId("help", HTMLButtonElement).addEventListener("click", () => help.showModal());

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const on = event.target;
    if (on instanceof HTMLElement) {
      if (on.matches("input:not([type=checkbox]), select, textarea")) return;
      // Keys that press a button or move in a list keep their meaning there.
      if (on.matches("button, a, input") && [" ", "Enter"].includes(event.key)) return;
    }
    const found = actions.find(([key]) => key === event.key || (key.length === 1 && key === event.key.toLowerCase()));
    if (!found) return;
    event.preventDefault();
    found[2](event);
  });
}
