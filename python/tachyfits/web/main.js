// The page: makes its parts, and connects them by the state.

import { ApiError, Latest, activity, askJson, takeToken } from "./api.js";
import { Catalogues } from "./catalogues.js";
import { ChannelBar } from "./channels.js";
import { ContourLines } from "./contours.js";
import { showColourBar } from "./colourbar.js";
import { Cursor } from "./cursor.js";
import { byId } from "./dom.js";
import { Dock } from "./dock.js";
import { cutsOf } from "./cuts.js";
import { VERSION, linkOf, stateOf, versionOf } from "./link.js";
import { Files } from "./files.js";
import { GoTo } from "./goto.js";
import { showGrid } from "./grid.js";
import { RegionHistory } from "./history.js";
import { Images } from "./images.js";
import { listenToKeys } from "./keys.js";
import { Maps } from "./maps.js";
import { connectNotebook } from "./notebook.js";
import { Overlay } from "./overlay.js";
import { Panel } from "./panel.js";
import { Vectors } from "./polarisation.js";
import { textOf } from "./regions.js";
import { CHANNEL, Store, firstOthers, placeOf, readable } from "./state.js";
import { followTheme, toggleTheme } from "./theme.js";
import { Toolbar } from "./toolbar.js";
import { Viewer } from "./viewer.js";
import { bytes } from "./words.js";

/** Cubes up to this size are searched for their brightest channel when they are opened. */
const SEARCHED_BYTES = 512e6;

/** Units that are shown at first instead of those of files. @type {Record<string, string>} */
const PLEASANT = { "m/s": "km/s", "m s-1": "km/s", Hz: "GHz" };

/** What to do after a failure by its status, where the server does not say it. @type {Record<number, string>} */
const HINTS = {
  401: "Open the link that the server printed.",
  404: "Choose a file from the list (O).",
  429: "Wait a second and try again.",
  503: "Wait a second and try again.",
  500: "Look at the server's log, or try another file.",
};

/** What all parts of the page share. */
export class App {
  constructor() {
    this.store = new Store();
    this.initial = { ...this.store.state };
    const failed = (/** @type {unknown} */ error) => this.tell(error);
    const surface = byId("surface", HTMLCanvasElement);
    this.viewer = new Viewer(this.store, byId("pixels", HTMLCanvasElement), surface, failed);
    this.overlay = new Overlay(this.store, this.viewer, surface);
    this.dock = new Dock(this);
    this.images = new Images(this);
    this.channels = new ChannelBar(this);
    this.cursor = new Cursor(this);
    this.toolbar = new Toolbar(this);
    this.files = new Files(this);
    this.goTo = new GoTo(this);
    this.history = new RegionHistory(this);
    this.maps = new Maps(this);
    this.contours = new ContourLines(this);
    this.catalogues = new Catalogues(this);
    this.vectors = new Vectors(this);
    this.panel = new Panel(this);
    this.cutsWanted = false;
    /** Whether the cuts are those of a link. */
    this.keepsCuts = false;
    /** Images that are being opened. */
    this.opening = 0;
    /** What the entry of the browser's history shows; "" before the first image. */
    this.entry = "";
    /** Whether people have changed the view since it was opened, and whether that has an entry. */
    this.touched = this.hasEntry = false;
    this.link = "";
    /** The part of the address after "#" as the browser has it. */
    this.address = location.hash;
    /** @type {import("./api.js").Parameters | null} the plane for which cuts are on their way */
    this.refining = null;
    this.refine = new Latest((plane, signal) => this.refineCuts(plane, signal), (error) => this.tell(error));
    this.connect();
    showColourBar(this);
    showGrid(this);
    listenToKeys(this);
    connectNotebook(this);
  }

  connect() {
    const { store, viewer } = this;
    followTheme(store);
    byId("theme", HTMLButtonElement).addEventListener("click", () => toggleTheme(store));
    activity.changed = (text) => this.showActivity(text);
    store.on(
      ["channel", "others", "layer", "dataset", "centre", "scale", "map", "inverted", "stretch", "power", "low",
        "high", "bias", "contrast", "grid"],
      viewer.redraw,
    );
    // The pixels stay as they are while a region is dragged.
    store.on(["regions", "selected", "scaleBar", "beam"], this.overlay.redraw);
    store.on(["cuts", "layer", "dataset"], () => {
      this.cutsWanted = store.state.cuts !== "manual" && !this.keepsCuts;
      viewer.redraw();
    });
    store.on(Object.keys(this.initial).map((key) => /** @type {any} */ (key)), () => this.keepLink());
    this.overlay.shapeOf = (key, region) => this.images.of(key).shapes.get(region)?.shape ?? null;
    viewer.drawnFrame = () => {
      if (this.cutsWanted) this.chooseCuts();
      this.catalogues.draw();
      this.overlay.draw();
      this.channels.showShown();
      this.settled();
    };
    addEventListener("hashchange", () => {
      if (location.hash === this.address) return;
      this.address = location.hash;
      this.entry = this.link = "";
      this.touched = this.hasEntry = false;
      void this.open(stateOf(location.hash, this.initial));
    });
    for (const gesture of ["pointerdown", "keydown", "wheel", "change"]) {
      addEventListener(gesture, () => (this.touched = true), { capture: true, passive: true });
    }
  }

  /** Say on the stage, for tests and screen readers, whether what is drawn is complete. */
  settled() {
    const stage = byId("stage", HTMLElement);
    const done = this.viewer.tiles.waiting === 0 && !this.cutsWanted && !this.refining && !this.images.waiting && !this.opening;
    stage.setAttribute("aria-busy", String(!done));
  }

  /** Choose cuts from the coarsest tile of the plane that is shown. */
  chooseCuts() {
    const { viewer, store } = this;
    const { dataset } = store.state;
    const cuts = this.kindOfCuts();
    const plane = viewer.plane();
    if (!dataset || !plane) return;
    const pixels = [];
    const whole = viewer.tiles.find(plane, { level: dataset.levels - 1, x: 0, y: 0 });
    if (whole) {
      pixels.push(whole.pixels);
    } else {
      if (dataset.levels <= 4 || viewer.tiles.waiting) return;
      for (const place of viewer.visible(viewer.level())) {
        const tile = viewer.tiles.find(plane, place);
        if (tile) pixels.push(tile.pixels);
      }
    }
    const all = new Float32Array(pixels.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of pixels) {
      all.set(part, at);
      at += part.length;
    }
    this.cutsWanted = false;
    const found = cutsOf(all, cuts);
    if (found) store.set({ low: found[0], high: found[1] });
    // Tiles of a large image are means of its pixels: the server has the pixels themselves.
    if (dataset.levels > 1) this.refine.ask(plane);
  }

  /**
   * Take the cuts of the pixels themselves, unless people have changed them since.
   * @param {import("./api.js").Parameters} plane
   * @param {AbortSignal} signal
   */
  async refineCuts(plane, signal) {
    const { store } = this;
    const { cuts: chosen } = store.state;
    const cuts = this.kindOfCuts();
    // The server names one percentile and leaves as much out at the other end.
    const method = /^\d/.test(cuts) ? `percentile${50 + Number(cuts) / 2}` : cuts;
    this.refining = plane;
    try {
      const options = { signal, view: "limits", doing: "Choosing cuts" };
      // Limits are those of a sample; the extremes are in every pixel.
      const isLarge = plane.collapse !== undefined && (store.state.dataset?.collapse_level ?? 0) > 0;
      const found = await (cuts === "minmax" && !isLarge ? askJson("statistics", plane, options) : askJson("limits", { ...plane, method }, options));
      const [low, high] = [found.low ?? found.min, found.high ?? found.max];
      if (chosen === store.state.cuts && high > low) store.set({ low, high });
    } finally {
      this.refining = null;
      this.viewer.redraw();
      this.keepLink();
    }
  }

  /** The cuts that are chosen; velocities, widths and angles begin with those of the engine's pictures. */
  kindOfCuts() {
    const { cuts, layer } = this.store.state;
    const isOfLine = ["moment1", "moment2", "polarization_angle"].includes(layer.operation);
    return isOfLine && cuts === this.initial.cuts ? "96" : cuts;
  }

  /** The unit of the values that are shown. */
  unit() {
    const { dataset, layer } = this.store.state;
    return (layer.operation === "channel" ? dataset?.unit : layer.unit) ?? "";
  }

  /**
   * Open an image: what the link says, or what the server has.
   * @param {import("./link.js").View} given
   * @param {Promise<import("./state.js").Dataset | null>} [early] its description, if it was asked for
   */
  async open(given, early) {
    const { store, viewer } = this;
    this.opening += 1;
    try {
      const dataset = await (early ?? describedBy(given));
      if (!dataset) {
        this.files.open();
        return;
      }
      const beside = await this.images.all(given.files ? await filesAfter(dataset.id, given.files) : given.beside ?? []);
      const { id } = dataset;
      this.dismiss();
      const fresh = { ...this.initial, theme: store.state.theme, map: store.state.map, stretch: store.state.stretch };
      const channel = given.channel ?? (await this.brightest(dataset));
      const regions = given.regions ?? [];
      viewer.shown = null;
      viewer.tiles.retry();
      const layer = given.layer ?? CHANNEL;
      const spectralUnit = PLEASANT[dataset.coordinates.spectral?.unit ?? ""] ?? "";
      this.keepsCuts = given.low !== undefined && given.high !== undefined;
      const redshift = dataset.redshift ? String(dataset.redshift) : "";
      store.set({ ...fresh, spectralUnit, redshift, others: firstOthers(dataset), ...given, id, hdu: dataset.hdu, dataset, regions, beside, layer: CHANNEL, channel: Math.min(channel, dataset.channels), catalogues: store.state.catalogues, vectors: given.vectors === undefined ? store.state.vectors : given.vectors });
      this.describe(dataset);
      viewer.resize();
      // Cells have another size now, and a link has the scale of its own.
      if (given.scale && given.centre) store.set({ centre: given.centre, scale: given.scale });
      else viewer.fit();
      this.dock.opened();
      if (given.files) await this.images.chooseUnit();
      if (!given.regions && dataset.channels > 1) this.firstRegion(dataset);
      if (given.catalogues) await this.catalogues.restore(given.catalogues);
      if (layer.operation !== "channel") await this.maps.show(layer);
      const version = versionOf(location.hash);
      if (version > VERSION) this.tell(new Error(`the link has version ${version}, and this page reads up to ${VERSION}: parts of the view may be missing`));
    } catch (error) {
      this.tell(error);
    } finally {
      this.keepsCuts = false;
      this.opening -= 1;
      this.keepLink();
      viewer.redraw();
    }
  }

  /** A circle in the middle, so that a spectrum is there and can be dragged. @param {import("./state.js").Dataset} dataset */
  firstRegion(dataset) {
    const { width, height } = dataset;
    if (width * height === 1) {
      this.viewer.add("point", [1, 1]);
      return;
    }
    const radius = Math.max(1, Math.round(Math.min(width, height) / 16));
    this.viewer.add("circle", [Math.round(width / 2), Math.round(height / 2), radius]);
  }

  /** Return the channel with the widest spread of values; of large cubes the middle one. @param {import("./state.js").Dataset} dataset */
  async brightest(dataset) {
    const middle = Math.ceil(Math.max(1, dataset.readable_channels) / 2);
    const size = dataset.naxis.reduce((product, length) => product * length, 1);
    if (dataset.channels < 2 || size * Number(/\d+/.exec(dataset.dtype)?.[0] ?? 32) > 8 * SEARCHED_BYTES) return middle;
    try {
      const asked = { ...placeOf(dataset), others: firstOthers(dataset), statistic: "std", channels: readable(dataset) };
      const options = { doing: "Looking for the brightest channel", signal: AbortSignal.timeout(700) };
      const { values } = await askJson("spectrum", asked, options);
      let best = middle;
      values.forEach((/** @type {number | null} */ value, /** @type {number} */ i) => {
        if (value !== null && value > (values[best - 1] ?? -Infinity)) best = i + 1;
      });
      return best;
    } catch {
      return middle;
    }
  }

  /** @param {import("./state.js").Dataset} dataset */
  describe(dataset) {
    const name = dataset.id.split("/").at(-1) ?? dataset.id;
    document.title = `${name} · tachyfits`;
    byId("file-name", HTMLElement).textContent = name;
    const pixelBytes = Number(/\d+/.exec(dataset.dtype)?.[0] ?? 0) / 8;
    const size = dataset.naxis.reduce((product, length) => product * length, pixelBytes);
    const parts = [dataset.object, dataset.naxis.join(" × "), bytes(size)];
    byId("title", HTMLElement).textContent = parts.filter(Boolean).join(" · ");
    const main = byId("stage", HTMLElement).parentElement;
    main?.classList.toggle("no-channels", dataset.channels < 2);
    // Of a spectrum the chart is what counts.
    main?.classList.toggle("one-pixel", dataset.width * dataset.height === 1 && dataset.channels > 1);
    this.showProblems(dataset.problems);
  }

  /** Name what of the image is missing or cannot be used. @param {string[]} problems */
  showProblems(problems) {
    const place = byId("problems", HTMLElement);
    const list = document.createElement("ul");
    for (const text of problems.slice(0, 5)) {
      const item = document.createElement("li");
      item.textContent = text;
      list.append(item);
    }
    if (problems.length > 5) list.append(`and ${problems.length - 5} more`);
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Dismiss";
    close.addEventListener("click", () => (place.hidden = true));
    place.replaceChildren(list, close);
    place.hidden = !problems.length;
  }

  /** @param {string} text */
  showActivity(text) {
    clearTimeout(this.activityTimer);
    const show = () => (byId("activity", HTMLElement).textContent = text);
    // What takes no time is not worth a word.
    this.activityTimer = setTimeout(show, text ? 150 : 0);
  }

  keepLink() {
    clearTimeout(this.linkTimer);
    this.linkTimer = setTimeout(() => this.keepLinkNow(), 150);
  }

  keepLinkNow() {
    const { state } = this.store;
    // While the browser goes back or forward, the entry is already another one.
    if (!state.dataset || this.opening || location.hash !== this.address) return;
    const link = `#${linkOf(state, this.initial, !this.cutsWanted && !this.refining)}`;
    if (link === this.link) return;
    this.link = link;
    // Back leads to the view as it was opened, and to other images and maps before.
    const { operation, first, last } = state.layer;
    const entry = JSON.stringify([state.id, state.dataset.hdu, operation, first, last]);
    const isNew = this.entry !== "" && (entry !== this.entry || (this.touched && !this.hasEntry));
    if (isNew) history.pushState(null, "", link);
    else history.replaceState(null, "", link);
    this.address = location.hash;
    this.entry = entry;
    this.hasEntry ||= isNew;
  }

  /** Show a failure: what is wrong, and what to do. @param {unknown} error */
  tell(error) {
    const text = error instanceof Error ? error.message : String(error);
    const hint = error instanceof ApiError ? error.hint || HINTS[error.status] || "" : "";
    const notice = byId("notice", HTMLElement);
    const say = document.createElement("p");
    const strong = document.createElement("b");
    strong.textContent = text;
    say.append(strong, hint ? ` · ${hint}` : "");
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Dismiss";
    close.addEventListener("click", () => this.dismiss());
    notice.replaceChildren(say, close);
    if (error instanceof ApiError && error.status === 409) {
      close.textContent = "Load it again";
      close.addEventListener("click", () => void this.open({ ...this.store.state, dataset: null, beside: this.store.state.beside.map(({ key, dataset, ...rest }) => ({ ...rest, id: dataset.id, hdu: dataset.hdu })) }));
    }
    notice.hidden = false;
    if (!(error instanceof ApiError)) console.error(error);
  }

  dismiss() {
    byId("notice", HTMLElement).hidden = true;
  }
}

/**
 * List files of the server beside the first one.
 * @param {string} first
 * @param {number} count of files with the first one
 */
async function filesAfter(first, count) {
  const { entries } = await askJson("files", {});
  return entries.filter((/** @type {any} */ { id, is_folder: isFolder }) => !isFolder && id !== first).slice(0, count - 1);
}

/**
 * Ask for the description of an image: of the first file that is served where none is named.
 * @param {import("./link.js").View} given
 * @returns {Promise<import("./state.js").Dataset | null>} null if people have to choose a file
 */
async function describedBy({ id, hdu }) {
  if (!id) {
    const { entries } = await askJson("files", {}, { doing: "Listing files" });
    id = entries.find((/** @type {any} */ entry) => !entry.is_folder)?.id;
  }
  return id ? askJson("dataset", { id, hdu }, { doing: "Opening the file" }) : null;
}

takeToken();
/** @type {import("./link.js").View} */
const given = location.hash.length > 1 ? stateOf(location.hash, new Store().state) : {};
// The server works while the graphics card gets ready.
const early = describedBy(given);
early.catch(() => {});
try {
  const app = new App();
  // For scripts in the browser's console, and for tests.
  Object.assign(window, { tachyfits: Object.assign(app, { text: textOf }) });
  void app.open(given, early);
} catch (error) {
  // Without WebGL2 there is no page; its words still work.
  const notice = byId("notice", HTMLElement);
  notice.textContent = error instanceof Error ? error.message : String(error);
  notice.hidden = false;
  throw error;
}
