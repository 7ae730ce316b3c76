// The group "Other programs" of the tab "Save": a connection by SAMP, and what is sent over it.

import { address, ask, askJson } from "./api.js";
import { make } from "./dom.js";
import { group } from "./panel.js";
import { parse } from "./regions.js";
import { Samp } from "./samp.js";
import { placeOf } from "./state.js";

/**
 * @param {import("./main.js").App} app
 * @param {{cutout: () => import("./api.js").Parameters | null, map: () => import("./api.js").Parameters | null}} wanted
 */
export function programsGroup(app, wanted) {
  const { store, viewer } = app;
  const samp = new Samp();
  const note = make("p", { class: "note", role: "status", id: "samp-note" });
  const connect = make("button", { type: "button", id: "samp-connect", onclick: () => void attempt(toggle) }, "Connect");
  const sends = [
    make("button", { type: "button", onclick: () => void attempt(() => sendImage("cutout", wanted.cutout(), "the cutout")) }, "Send the cutout"),
    make("button", { type: "button", onclick: () => void attempt(() => sendImage("image", wanted.map(), "what is shown")) }, "Send what is shown"),
    make("button", { type: "button", onclick: () => void attempt(sendFiles) }, "Send the list of files"),
  ];
  /** The point that other programs move. @type {number | null} */
  let pointer = null;

  async function toggle() {
    if (samp.connected) return samp.disconnect();
    const { samp: isAllowed } = await askJson("about", {});
    if (!isAllowed) {
      note.textContent = "This server keeps its page from SAMP; tachyfits serve --samp allows it.";
      return;
    }
    note.textContent = "The hub asks whether this page may connect: look for its window.";
    await samp.connect();
  }

  /** @param {string} name @param {import("./api.js").Parameters | null} asked @param {string} what */
  async function sendImage(name, asked, what) {
    if (!asked) {
      note.textContent = "Choose a part of the plane above first.";
      return;
    }
    const url = await openLink((before) => address(name, asked, before));
    if (url) told(await samp.send("image.load.fits", { url, name: `${store.state.id} (${what})`, "image-id": url }), what);
  }

  async function sendFiles() {
    const url = await openLink((before) => new URL(`${before}vo/sia`, document.baseURI).href);
    if (url) told(await samp.send("table.load.votable", { url, name: "Files of tachyfits", "table-id": url }), "the list of files");
  }

  /** Return a link if programs without the cookies of this browser can open it. @param {(before: string) => string} make */
  async function openLink(make) {
    const { links } = await askJson("about", {});
    const url = make(links);
    const answer = await fetch(url, { method: "HEAD", credentials: "omit" });
    if (answer.ok) return url;
    note.textContent =
      answer.status === 401
        ? "Other programs cannot open files of this server: it asks for a user. Download the file and open it there."
        : `The server answered ${answer.status}: nothing was sent.`;
    return null;
  }

  /** @param {number} count @param {string} what */
  function told(count, what) {
    note.textContent = count ? `Sent ${what} to ${count} program${count > 1 ? "s" : ""}.` : "No program that takes this is connected to the hub.";
  }

  /** Show a failure beside the buttons. @param {() => Promise<void>} call */
  async function attempt(call) {
    try {
      await call();
    } catch (error) {
      note.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** Centre the image on a position, and mark it. @param {number} longitude @param {number} latitude */
  async function show(longitude, latitude) {
    const { dataset } = store.state;
    if (!dataset) return;
    const answer = await ask("regions/pixels", placeOf(dataset), { body: `icrs; point(${longitude},${latitude})` });
    const point = parse((await answer.json()).regions[0] ?? "");
    const [x, y] = point?.values ?? [];
    if (!point || x < 0.5 || y < 0.5 || x > dataset.width + 0.5 || y > dataset.height + 0.5) {
      note.textContent = "Another program points at a position outside of this image.";
      return;
    }
    const known = store.state.regions.find((one) => one.id === pointer);
    if (known) viewer.put({ ...known, values: [x, y] });
    else pointer = viewer.add("point", [x, y]).id;
    store.set({ centre: [x, y] });
    note.textContent = "The point follows positions of other programs.";
  }

  samp.pointed = (longitude, latitude) => void attempt(() => show(longitude, latitude));
  samp.changed = () => {
    connect.textContent = samp.connected ? "Disconnect" : "Connect";
    for (const button of sends) button.disabled = !samp.connected;
    note.textContent = samp.connected ? "Connected. Positions of other programs are marked here." : "Not connected.";
  };
  samp.changed();
  note.textContent = "TOPCAT, Aladin and others on this machine, by SAMP.";
  return group("Other programs", note, make("div", { class: "buttons" }, connect, ...sends));
}
