// Go to a position: coordinates in any usual spelling, or a name if the server resolves names.

import { askJson } from "./api.js";
import { dialog } from "./dialog.js";
import { byId, make } from "./dom.js";
import { placeOf } from "./state.js";
import { position } from "./words.js";

export class GoTo {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    this.field = make("input", {
      type: "text", id: "goto-text", maxlength: 100, spellcheck: false, autocomplete: "off", "aria-label": "Position",
      "aria-describedby": "goto-note", placeholder: "05:34:32 +22:00:52",
    });
    this.mark = make("input", { type: "checkbox" });
    this.mark.checked = true;
    this.note = make("p", { class: "note", id: "goto-note" });
    this.problem = make("p", { class: "problem", role: "alert", id: "goto-problem" });
    const form = make(
      "form",
      { class: "group", onsubmit: (event) => this.submit(event) },
      make("div", { class: "buttons" }, this.field, make("button", { class: "primary" }, "Go")),
      make("label", { class: "check" }, this.mark, "Mark it with a point"),
      this.problem,
      this.note,
    );
    this.dialog = dialog("Go to a position", null, form);
    const picture = '<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="4.5"/><path d="M8 1v4M8 11v4M1 8h4M11 8h4"/></svg>';
    const open = make("button", { type: "button", class: "icon", id: "goto", title: "Go to a position (J)", "aria-label": "Go to a position", "aria-haspopup": "dialog", onclick: () => this.open() });
    open.innerHTML = picture;
    byId("zooms", HTMLElement).prepend(open);
    app.store.on(["dataset"], () => (open.hidden = !app.store.state.dataset?.coordinates.sky));
    this.asking = new AbortController();
  }

  open() {
    if (!this.app.store.state.dataset?.coordinates.sky) return;
    this.problem.textContent = "";
    this.note.textContent = "Sexagesimal or in degrees; ICRS unless a frame is named: galactic 184.55 -5.78. Names of objects, if the server resolves them.";
    this.dialog.showModal();
    this.field.select();
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    const text = this.field.value.trim();
    if (!text) return;
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.problem.textContent = "";
    try {
      await this.go(text, signal);
    } catch (error) {
      if (!signal.aborted) this.problem.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** Centre the image on a position. @param {string} text @param {AbortSignal} signal */
  async go(text, signal) {
    const { store, viewer, cursor } = this.app;
    const { dataset } = store.state;
    if (!dataset) return;
    const { x, y, inside, sky } = await askJson("position", { ...placeOf(dataset), text }, { signal, doing: "Looking for the position" });
    if (dataset !== store.state.dataset) return;
    if (!inside) {
      this.problem.textContent = `${sky.frame.toUpperCase()} ${position(sky)} is outside of this image.`;
      return;
    }
    if (this.mark.checked) viewer.add("point", [x, y]);
    store.set({ centre: [x, y] });
    cursor.point({ x, y });
    this.dialog.close();
  }
}
