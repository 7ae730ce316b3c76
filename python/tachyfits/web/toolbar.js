// The tools over the image: what a drag draws, and zoom.

import { byId, make } from "./dom.js";

/** @type {[string, string, string, string][]} tool, key, title and picture */
export const TOOLS = [
  ["pan", "v", "Move the image and regions", '<path d="M8 1.5v13M1.5 8h13M8 1.5 6.3 3.3M8 1.5l1.7 1.8M8 14.5l-1.7-1.8M8 14.5l1.7-1.8M1.5 8l1.8-1.7M1.5 8l1.8 1.7M14.5 8l-1.8-1.7M14.5 8l-1.8 1.7"/>'],
  ["point", "p", "Point", '<path d="M8 2v4M8 10v4M2 8h4M10 8h4"/>'],
  ["circle", "c", "Circle", '<circle cx="8" cy="8" r="5.5"/>'],
  ["annulus", "a", "Annulus", '<circle cx="8" cy="8" r="6"/><circle cx="8" cy="8" r="2.8"/>'],
  ["ellipse", "e", "Ellipse", '<ellipse cx="8" cy="8" rx="6.5" ry="3.8" transform="rotate(-25 8 8)"/>'],
  ["box", "b", "Box", '<rect x="2.5" y="3.5" width="11" height="9"/>'],
  ["polygon", "g", "Polygon: click corners, then the first one again", '<path d="M8 2l6 4.6-2.3 7H4.3L2 6.6z"/>'],
  ["polyline", "y", "Polyline: click points, then double-click or Enter", '<path d="M2 12.5 6 5l4 5.5 4-8"/><circle class="fill" cx="6" cy="5" r="1.4"/><circle class="fill" cx="10" cy="10.5" r="1.4"/>'],
  ["line", "l", "Line, for position–velocity diagrams", '<path d="M3 13 13 3"/><circle class="fill" cx="3" cy="13" r="1.6"/><circle class="fill" cx="13" cy="3" r="1.6"/>'],
];

export class Toolbar {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    const { store, viewer } = app;
    const place = byId("tools", HTMLElement);
    for (const [tool, key, title, picture] of TOOLS) {
      const button = make("button", {
        type: "button",
        class: "icon",
        title: `${title} (${key.toUpperCase()})`,
        "aria-label": title,
        "data-tool": tool,
        onclick: () => store.set({ tool }),
      });
      button.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true">${picture}</svg>`;
      place.append(button);
    }
    const press = () => {
      for (const button of place.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.tool === store.state.tool));
      }
      if (!["polygon", "polyline"].includes(store.state.tool) && viewer.corners) {
        viewer.corners = null;
        viewer.redraw();
      }
    };
    store.on(["tool"], press);
    press();
    const zoom = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ call) =>
      make("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: call }, text);
    byId("zooms", HTMLElement).append(
      zoom("Zoom out (−)", "−", () => viewer.zoom(1 / 1.5)),
      zoom("Zoom in (+)", "+", () => viewer.zoom(1.5)),
      zoom("Whole image (0)", "⤢", () => viewer.fit()),
      zoom("1:1, one pixel of the image on one of the screen (1)", "1:1", () => viewer.zoom(1 / devicePixelRatio / store.state.scale)),
    );
  }
}
