// The dialog of files: folders and files that the server has, and the images of the open file.

import { askJson } from "./api.js";
import { dialog } from "./dialog.js";
import { byId, make, select } from "./dom.js";
import { MOST } from "./images.js";
import { bytes } from "./words.js";

export class Files {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    this.list = make("ul", { class: "list", "aria-label": "Files" });
    this.path = make("div", { class: "buttons" });
    this.search = make("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter by name" });
    this.dialog = dialog("Open a file", make("div", { class: "group" }, this.path, this.search), this.list);
    /** @type {{id: string, name: string, is_folder: boolean, bytes: number}[]} */
    this.entries = [];
    /** @type {(id: string) => void} */
    this.chosen = () => {};
    this.kind = "image";
    this.search.addEventListener("input", () => this.show());
    byId("open", HTMLButtonElement).addEventListener("click", () => this.open());
    byId("add-image", HTMLButtonElement).addEventListener("click", () => this.add());
    app.store.on(["dataset"], () => this.showImages());
    app.store.on(["beside"], () => (byId("add-image", HTMLButtonElement).disabled = app.store.state.beside.length >= MOST - 1));
  }

  open() {
    this.pick((id) => void this.app.open({ id }));
  }

  /** Show another image beside. */
  add() {
    if (this.app.store.state.dataset) this.pick((id) => void this.app.images.add({ id }));
    else this.open();
  }

  /** Let people choose a file. @param {(id: string) => void} chosen @param {string} kind "image" or "catalogue" */
  pick(chosen, kind = "image") {
    this.chosen = chosen;
    this.kind = kind;
    const { id } = this.app.store.state;
    this.dialog.showModal();
    void this.load(id.includes("/") ? id.slice(0, id.lastIndexOf("/")) : "");
  }

  /** @param {string} folder */
  async load(folder) {
    try {
      const found = await askJson("files", { folder: folder || null, kind: this.kind }, { doing: "Listing files" });
      if (!folder && found.entries.length === 1 && found.entries[0].is_folder) {
        await this.load(found.entries[0].id);
        return;
      }
      this.entries = found.entries;
      this.search.value = "";
      const parts = folder ? folder.split("/") : [];
      this.path.replaceChildren(
        make("button", { type: "button", onclick: () => void this.load("") }, "All"),
        ...parts.map((part, i) => make("button", { type: "button", onclick: () => void this.load(parts.slice(0, i + 1).join("/")) }, part)),
      );
      this.show();
      this.search.focus();
    } catch (error) {
      this.dialog.close();
      this.app.tell(error);
    }
  }

  show() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.entries.filter(({ name }) => name.toLowerCase().includes(wanted));
    this.list.replaceChildren(
      ...found.slice(0, 1000).map((entry) => {
        const choose = () => {
          if (entry.is_folder) void this.load(entry.id);
          else {
            this.dialog.close();
            this.chosen(entry.id);
          }
        };
        const icon = entry.is_folder ? "▸" : "";
        const size = entry.is_folder ? "folder" : bytes(entry.bytes);
        const button = make("button", { type: "button", class: "item", onclick: choose }, make("span", { "aria-hidden": true, class: "dim" }, icon), make("span", { class: "space" }, entry.name), make("span", { class: "dim" }, size));
        return make("li", {}, button);
      }),
    );
    if (!found.length) this.list.append(make("li", { class: "note" }, this.kind === "image" ? "No FITS file here." : "No table here."));
  }

  /** The images of the file, where there are several. */
  showImages() {
    const { dataset } = this.app.store.state;
    const place = byId("hdus", HTMLElement);
    place.replaceChildren();
    if (!dataset || dataset.images.length < 2) return;
    const options = Object.fromEntries(dataset.images.map(({ hdu, name, naxis }) => [hdu, `HDU ${hdu} ${name} ${naxis.join(" × ")}`]));
    place.append(select(options, String(dataset.hdu), (hdu) => void this.openHdu(dataset.id, Number(hdu)), "Image of the file"));
  }

  /** Show another image of the file; those beside it stay. @param {string} id @param {number} hdu */
  openHdu(id, hdu) {
    const { beside, place, layout, opacity, together } = this.app.store.state;
    return this.app.open({ id, hdu, beside, place, layout, opacity, together });
  }
}
