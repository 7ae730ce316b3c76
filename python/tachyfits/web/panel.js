// The side panel: tabs with one module each, built when they are first shown. A sheet on phones.

import { byId, make } from "./dom.js";
import { cataloguesTab } from "./tab-catalogues.js";
import { headerTab } from "./tab-header.js";
import { imageTab } from "./tab-image.js";
import { linesTab } from "./tab-lines.js";
import { mapsTab } from "./tab-maps.js";
import { plotsTab } from "./tab-plots.js";
import { regionsTab } from "./tab-regions.js";
import { saveTab } from "./tab-save.js";

/** @typedef {import("./main.js").App} App */

/** @type {[string, string, (app: App) => HTMLElement][]} */
const TABS = [
  ["image", "Image", imageTab],
  ["regions", "Regions", regionsTab],
  ["catalogues", "Tables", cataloguesTab],
  ["maps", "Maps", mapsTab],
  ["lines", "Lines", linesTab],
  ["plots", "Plots", plotsTab],
  ["header", "Header", headerTab],
  ["save", "Save", saveTab],
];

export class Panel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.place = byId("panel", HTMLElement);
    this.body = byId("panel-body", HTMLElement);
    this.bar = byId("tabs", HTMLElement);
    /** @type {Map<string, HTMLElement>} */
    this.built = new Map();
    this.shown = "";
    for (const [name, label] of TABS) {
      const button = make("button", {
        type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel-body", "data-tab": name,
        onclick: () => this.press(name),
      }, label);
      this.bar.append(button);
    }
    this.bar.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!by) return;
      const names = TABS.map(([name]) => name);
      this.show(names[(names.indexOf(this.shown) + by + names.length) % names.length]);
      byId(`tab-${this.shown}`, HTMLElement).focus();
      event.stopPropagation();
    });
    this.body.setAttribute("role", "tabpanel");
    this.show("image");
    app.store.on(["tab"], () => {
      if (app.store.state.tab !== this.shown) this.show(app.store.state.tab);
    });
  }

  /** On phones a tab opens the sheet, and the same tab closes it. @param {string} name */
  press(name) {
    const close = this.place.classList.contains("open") && name === this.shown;
    this.show(name);
    this.place.classList.toggle("open", !close);
  }

  /** @param {string} name */
  show(name) {
    const found = TABS.find(([one]) => one === name);
    if (!found) return;
    let content = this.built.get(name);
    if (!content) {
      content = found[2](this.app);
      this.built.set(name, content);
      this.body.append(content);
    }
    for (const [other, element] of this.built) element.hidden = other !== name;
    this.shown = name;
    this.body.setAttribute("aria-labelledby", `tab-${name}`);
    for (const button of this.bar.querySelectorAll("button")) {
      const chosen = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
    content.dispatchEvent(new Event("shown"));
    this.app.store.set({ tab: name });
  }
}

/**
 * Make a group of a tab: a heading and its controls.
 * @param {string} title
 * @param {...(Node | string)} children
 */
export function group(title, ...children) {
  return make("section", { class: "group" }, make("h2", {}, title), ...children);
}
