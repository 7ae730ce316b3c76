// Images beside the one that the tools work on: matched with it by the sky, with channels and spectra.

import { Latest, askJson, isStale } from "./api.js";
import { byId, make } from "./dom.js";
import { hasArea, parse, textOf } from "./regions.js";
import { Sheet } from "./sheet.js";
import { CURSOR, byChannel } from "./spectra.js";
import { CHANNEL, axisOf, firstOthers, isVelocity, lookOf, placeOf, planeOf, readable } from "./state.js";
import { number, unit as unitText } from "./words.js";

/** Images on the page, at most. */
export const MOST = 4;

/** Layouts by their name in the state. */
export const LAYOUTS = { side: "Beside each other", blink: "One after the other", over: "Over each other", rgb: "Red, green, blue" };

/** Milliseconds after which the outline of a region no longer waits for its spectrum. */
const OUTLINE = 150;

/** Milliseconds that an image is shown before the next one. */
const BLINK = 900;

/** @typedef {import("./state.js").Beside} Beside */
/** @typedef {import("./state.js").Dataset} Dataset */
/** @typedef {import("./regions.js").Point} Point */
/** @typedef {import("./spectra.js").Axis} Axis */

/**
 * @typedef {object} Match a place of the leading image in another one
 * @property {number[]} from in the pixels of the leading image
 * @property {number[]} to
 * @property {number[]} matrix a step of a pixel, by rows
 */

/** What the page computes about an image for the one that leads. */
class Companion {
  constructor() {
    /** @type {Match | null} */
    this.match = null;
    /** @type {Map<string, string>} what is wrong with its place or its axis, by the request */
    this.problems = new Map();
    /** @type {Axis | null} in the unit of the chart */
    this.axis = null;
    /** Whether the channel of the leading image is beyond its axis. */
    this.isOutside = false;
    /** @type {Map<number, {of: string, shape: {kind: string, values: number[]} | null}>} regions in its pixels */
    this.shapes = new Map();
    /** @type {Map<number, {of: string, unit: string, values: Float64Array}>} spectra by region */
    this.curves = new Map();
    /** @type {{value: number | null, unit: string | null} | null} under the cursor */
    this.value = null;
    /** @type {Map<string, Latest<any>>} */
    this.running = new Map();
  }

  stop() {
    for (const running of this.running.values()) running.stop();
  }
}

export class Images {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<number, Companion>} by the key of the image */
    this.companions = new Map();
    this.keys = 0;
    /** @type {Set<number>} images whose cuts are those of no channel that was shown */
    this.fresh = new Set();
    /** @type {{dataset: Dataset, channel: number} | null} the image that began to lead, until its channel changes */
    this.led = null;
    /** Requests without which the picture is not complete. */
    this.waiting = 0;
    /** Whether "blink" goes on by itself. */
    this.plays = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.place = byId("cells", HTMLElement);
    const { store, viewer } = app;
    viewer.sheetOf = (image) => this.sheetOf(image);
    store.on(["dataset"], () => this.forget());
    store.on(["dataset", "beside", "centre"], () => this.matchAll());
    store.on(["beside", "layout", "place"], () => {
      viewer.arrange();
      this.blink();
    });
    store.on(["channel"], () => this.followChannel());
    store.on(["beside", "regions", "statistic", "smooth", "bin"], () => this.followRegions());
    store.on(["beside", "opacity"], viewer.redraw);
    store.on(["beside"], () => {
      this.prune();
      this.followAxes();
    });
  }

  /** @param {number} key */
  of(key) {
    let companion = this.companions.get(key);
    if (!companion) this.companions.set(key, (companion = new Companion()));
    return companion;
  }

  /** Another image leads: nothing that was computed holds. */
  forget() {
    for (const companion of this.companions.values()) companion.stop();
    this.companions.clear();
    this.app.viewer.held.clear();
  }

  /** Forget images that are gone. */
  prune() {
    const known = new Set(this.app.store.state.beside.map(({ key }) => key));
    for (const [key, companion] of this.companions) {
      if (known.has(key)) continue;
      companion.stop();
      this.companions.delete(key);
      this.app.viewer.held.delete(key);
    }
  }

  /**
   * Run a request of an image; only the newest of a name runs.
   * @template T
   * @param {Beside} image
   * @param {string} name
   * @param {T} wanted
   * @param {(wanted: T, signal: AbortSignal) => Promise<void>} run
   */
  latest(image, name, wanted, run) {
    const companion = this.of(image.key);
    let latest = companion.running.get(name);
    if (!latest) {
      const failed = (/** @type {unknown} */ error) => {
        companion.problems.set(name, error instanceof Error ? error.message : String(error));
        this.show();
        this.app.viewer.redraw();
      };
      latest = new Latest(run, failed);
      companion.running.set(name, latest);
    }
    latest.run = run;
    latest.ask(wanted);
  }

  /** @param {Beside} image @returns {Sheet | null} */
  sheetOf(image) {
    const { match } = this.of(image.key);
    if (!match) return null;
    const { centre, scale } = this.app.store.state;
    const { width, height } = this.app.viewer;
    const [a, b, c, d] = match.matrix;
    const share = scale / (a * d - b * c);
    return new Sheet({
      dataset: image.dataset,
      plane: planeOf(image),
      matrix: [share * d, -share * b, share * c, -share * a],
      origin: match.to,
      at: [width / 2 + scale * (match.from[0] - centre[0]), height / 2 - scale * (match.from[1] - centre[1])],
    });
  }

  // Matching by the sky.

  /**
   * Ask where a point and a region of the leading image are in another one.
   * @param {Beside} image
   * @param {{point?: number[], region?: string}} wanted
   * @param {AbortSignal} signal
   * @returns {Promise<{x: number | null, y: number | null, matrix: number[][] | null, region: string | null}>}
   */
  async matched(image, { point, region }, signal) {
    const { dataset } = this.app.store.state;
    if (!dataset) throw new Error("no image is open");
    const other = image.dataset;
    if (isBySky(dataset, other)) {
      const asked = { ...placeOf(dataset), onto: other.id, onto_hdu: other.hdu, point: point?.join(",") ?? null, region: region ?? null };
      return askJson("match", asked, { signal });
    }
    if (dataset.width !== other.width || dataset.height !== other.height) {
      throw new Error("an image without sky coordinates is matched only with one of its size");
    }
    return { x: point?.[0] ?? null, y: point?.[1] ?? null, matrix: [[1, 0], [0, 1]], region: region ?? null };
  }

  /** Match all images at the middle of the screen. */
  matchAll() {
    const { dataset, beside, centre } = this.app.store.state;
    if (!dataset) return;
    for (const image of beside) {
      const { match } = this.of(image.key);
      if (match && match.from[0] === centre[0] && match.from[1] === centre[1]) continue;
      this.latest(image, "match", centre, (at, signal) => this.loadMatch(image, at, signal));
    }
  }

  /** @param {Beside} image @param {number[]} from @param {AbortSignal} signal */
  async loadMatch(image, from, signal) {
    const companion = this.of(image.key);
    this.waiting += 1;
    try {
      const { x, y, matrix } = await this.matched(image, { point: from }, signal);
      if (this.companions.get(image.key) !== companion) return;
      if (x === null || y === null || !matrix) {
        companion.problems.set("match", "its projection does not reach this part of the sky");
        companion.match = null;
      } else {
        companion.match = { from, to: [x, y], matrix: matrix.flat() };
        companion.problems.delete("match");
      }
    } finally {
      this.waiting -= 1;
    }
    this.show();
    this.app.viewer.redraw();
  }

  // Channels.

  /** Load the axes in the unit of the chart. */
  followAxes() {
    const { store, dock } = this.app;
    const { axis } = dock.spectra;
    if (!axis) return;
    for (const image of store.state.beside) {
      const { channels } = image.dataset;
      if (channels < 2) continue;
      const companion = this.of(image.key);
      if (companion.axis?.of === axis) continue;
      this.latest(image, "axis", axis, (wanted, signal) => this.loadAxis(image, wanted, signal));
    }
  }

  /** @param {Beside} image @param {Axis} like @param {AbortSignal} signal */
  async loadAxis(image, like, signal) {
    const companion = this.of(image.key);
    if (!like.unit) {
      companion.axis = { name: like.name, unit: null, values: Array.from({ length: image.dataset.channels }, (_, i) => i + 1), of: like };
    } else {
      const form = formOf(this.app.store.state, image.dataset, like.unit);
      companion.axis = null;
      const axis = await askJson("axis", { ...placeOf(image.dataset), ...form }, { signal });
      if (this.companions.get(image.key) !== companion) return;
      companion.axis = { ...axis, of: like };
    }
    companion.problems.delete("axis");
    this.followChannel();
    this.app.dock.redraw();
  }

  /** Give the other images the channels whose coordinates are nearest to that of the leading one. */
  followChannel() {
    const { store, dock } = this.app;
    const { state } = store;
    const { axis } = dock.spectra;
    const at = axis?.values[state.channel - 1];
    // An image that begins to lead does not change what the others show.
    const isHeld = this.led?.dataset === state.dataset && this.led?.channel === state.channel;
    if (!isHeld) this.led = null;
    if (at === undefined || !axis || !state.together || isHeld || state.layer.operation !== "channel") {
      this.show();
      return;
    }
    let isChanged = false;
    const beside = state.beside.map((image) => {
      const companion = this.of(image.key);
      const own = companion.axis;
      // Units are spelled as in the header or by the server: what counts is for which axis it was loaded.
      if (own?.of !== axis || image.layer.operation !== "channel") return image;
      const index = nearest(own.values, at);
      const widest = Math.max(stepOf(own.values, index), stepOf(axis.values, state.channel - 1));
      companion.isOutside = Math.abs(own.values[index] - at) > widest / 2 + 1e-9 * Math.abs(at);
      if (image.channel === index + 1) return image;
      isChanged = true;
      return { ...image, channel: index + 1 };
    });
    if (isChanged) store.set({ beside });
    for (const { key } of beside) if (this.of(key).axis && this.fresh.delete(key)) void this.refresh(key);
    this.show();
  }

  /** Choose the cuts of the channel that an image shows first. @param {number} key */
  async refresh(key) {
    const { store } = this.app;
    const image = { ...store.state.beside.find((one) => one.key === key) };
    if (!image.dataset) return;
    this.waiting += 1;
    try {
      await this.chooseCuts(/** @type {Beside} */ (image));
      const { look } = image;
      store.set({ beside: store.state.beside.map((one) => (one.key === key && look ? { ...one, look } : one)) });
    } catch (error) {
      this.app.tell(error);
    } finally {
      this.waiting -= 1;
      this.app.viewer.redraw();
    }
  }

  // Regions and spectra.

  /** Ask for the regions in the pixels of the other images, and for their spectra. */
  followRegions() {
    const { regions, beside } = this.app.store.state;
    for (const image of beside) {
      const companion = this.of(image.key);
      const known = new Set([CURSOR, ...regions.map(({ id }) => id)]);
      for (const id of companion.shapes.keys()) {
        if (!known.has(id)) {
          companion.shapes.delete(id);
          companion.curves.delete(id);
        }
      }
      for (const region of regions) if (region.values.length) this.followRegion(image, region);
    }
  }

  /** @param {Beside} image @param {import("./regions.js").Region} region */
  followRegion(image, region) {
    const of = this.identityOf(image, textOf(region));
    if (this.of(image.key).shapes.get(region.id)?.of === of) return;
    this.latest(image, `region ${region.id}`, region, (wanted, signal) => this.loadRegion(image, wanted, signal));
  }

  /** Text that changes whenever the spectrum of a region does. @param {Beside} image @param {string} text */
  identityOf(image, text) {
    const { statistic, smooth, bin } = this.app.store.state;
    return JSON.stringify([text, image.others, statistic, smooth, bin]);
  }

  /** @param {Beside} image @param {import("./regions.js").Region} region @param {AbortSignal} signal */
  async loadRegion(image, region, signal) {
    const companion = this.of(image.key);
    const { dataset } = this.app.store.state;
    const given = textOf(region);
    const of = this.identityOf(image, given);
    let text = null;
    if (dataset && hasArea(region) && image.dataset.channels > 1) {
      // The answer has the region in the pixels of this image: a drag waits for one request.
      const from = isBySky(dataset, image.dataset) ? { region_in: dataset.id, region_in_hdu: dataset.hdu } : {};
      const outline = setTimeout(() => this.loadShape(image, region, of, signal).catch(() => {}), OUTLINE);
      text = await this.loadCurve(image, region.id, of, { region: given, ...from }, signal).finally(() => clearTimeout(outline));
    } else companion.curves.delete(region.id);
    await this.loadShape(image, region, of, signal, text);
  }

  /**
   * Show the outline of a region in another image.
   * @param {Beside} image
   * @param {import("./regions.js").Region} region
   * @param {string} of identity of the region and its spectrum
   * @param {AbortSignal} signal
   * @param {string | null} known the region in the pixels of the image, if that was answered
   */
  async loadShape(image, region, of, signal, known = null) {
    const companion = this.of(image.key);
    const text = known ?? (await this.matched(image, { region: textOf(region) }, signal)).region;
    if (this.companions.get(image.key) !== companion) return;
    companion.problems.delete(`region ${region.id}`);
    companion.shapes.set(region.id, { of, shape: text === null ? null : parse(text) });
    this.app.overlay.redraw();
  }

  /**
   * Load the spectrum of a region; return the region in the pixels of the image, null without a spectrum.
   * @param {Beside} image
   * @param {number} id
   * @param {string} of
   * @param {import("./api.js").Parameters} pixels region, and the image in whose pixels it is
   * @param {AbortSignal} signal
   * @returns {Promise<string | null>}
   */
  async loadCurve(image, id, of, pixels, signal) {
    const { dataset, others } = image;
    const companion = this.of(image.key);
    const { statistic, smooth, bin } = this.app.store.state;
    const asked = { ...placeOf(dataset), others, statistic, channels: readable(dataset), smooth: smooth || null, bin: bin > 1 ? bin : null, ...pixels };
    let region = null;
    try {
      const found = await askJson("spectrum", asked, { signal, view: `spectrum-${image.key}-${id}`, doing: "Computing a spectrum" });
      if (this.companions.get(image.key) !== companion) return null;
      region = found.region;
      const unit = (statistic === "flux" ? found.unit : dataset.unit) ?? "";
      companion.curves.set(id, { of, unit, values: byChannel(found.values, dataset.channels, bin) });
    } catch (error) {
      if (isStale(error)) throw error;
      // The region is outside of this image.
      companion.curves.delete(id);
    }
    this.app.dock.redraw();
    return region;
  }

  /** Follow the cursor: null when it left. @param {Point | null} pixel */
  point(pixel) {
    for (const image of this.app.store.state.beside) {
      const companion = this.of(image.key);
      if (pixel) {
        this.latest(image, "cursor", pixel, (wanted, signal) => this.loadPoint(image, wanted, signal));
        continue;
      }
      companion.running.get("cursor")?.stop();
      if (companion.curves.delete(CURSOR)) this.app.dock.redraw();
    }
  }

  /** @param {Beside} image @param {Point} pixel @param {AbortSignal} signal */
  async loadPoint(image, pixel, signal) {
    const companion = this.of(image.key);
    const { follow } = this.app.store.state;
    const found = await this.matched(image, { point: [pixel.x, pixel.y] }, signal);
    if (this.companions.get(image.key) !== companion) return;
    const [x, y] = [Math.round(found.x ?? 0), Math.round(found.y ?? 0)];
    companion.value = null;
    if (x >= 1 && y >= 1 && x <= image.dataset.width && y <= image.dataset.height) {
      const now = this.app.store.state.beside.find(({ key }) => key === image.key) ?? image;
      companion.value = await askJson("pixel", { channel: now.channel, ...planeOf(now), x, y }, { signal, view: `pixel-${image.key}` });
      const text = `point(${x},${y})`;
      if (follow && now.dataset.channels > 1 && this.app.cursor.at && !this.app.viewer.drag) await this.loadCurve(now, CURSOR, this.identityOf(now, text), { region: text }, signal);
    } else {
      companion.curves.delete(CURSOR);
    }
    this.app.cursor.showOthers();
  }

  /** Values under the cursor, by the name of the image. @returns {[string, string][]} */
  values() {
    return this.app.store.state.beside.map((image) => {
      const { value } = this.of(image.key);
      return [nameOf(image.dataset), value ? `${number(value.value, 7)}${value.unit ? ` ${unitText(value.unit)}` : ""}` : "outside"];
    });
  }

  /**
   * List the curves of a region in the other images.
   * @param {number} id
   * @returns {{name: string, index: number, axis: Axis, values: Float64Array, unit: string}[]}
   */
  curvesOf(id) {
    return this.app.store.state.beside.flatMap((image, index) => {
      const { axis, curves } = this.of(image.key);
      const curve = curves.get(id);
      if (!axis || !curve) return [];
      return [{ name: nameOf(image.dataset), index, axis, values: curve.values, unit: curve.unit }];
    });
  }

  // Opening, closing and leading.

  /** Add an image. @param {{id: string, hdu?: number | null}} which */
  async add({ id, hdu }) {
    const { app } = this;
    const { state } = app.store;
    if (1 + state.beside.length >= MOST) {
      app.tell(new Error(`the page shows ${MOST} images at most: close one first`));
      return;
    }
    app.store.set({ beside: await this.all([...state.beside, { id, hdu }]) });
    await this.chooseUnit();
  }

  /**
   * Describe images that are shown beside the leading one: those that are open already, and those of
   * a link. An image that cannot be opened is left out, with a notice.
   * @param {(Beside | {id: string, hdu?: number | null})[]} images
   */
  async all(images) {
    const beside = await Promise.all(images.slice(0, MOST - 1).map((image) => this.described(image)));
    return beside.filter((image) => image !== null);
  }

  /** @param {any} image @returns {Promise<Beside | null>} */
  async described(image) {
    if (image.key) return image;
    const { id, hdu, channel, others, layer, look } = image;
    try {
      /** @type {Dataset} */
      const dataset = await askJson("dataset", { id, hdu: hdu ?? null }, { doing: "Opening the file" });
      /** @type {Beside} */
      const made = {
        key: ++this.keys,
        dataset,
        channel: Math.min(channel ?? Math.ceil(dataset.readable_channels / 2), dataset.channels) || 1,
        others: others ?? firstOthers(dataset),
        layer: layer ?? CHANNEL,
        look: { ...lookOf({ ...this.app.initial, map: this.app.store.state.map }), ...look },
      };
      if (look?.low === undefined || look?.high === undefined) {
        await this.chooseCuts(made);
        if (channel === undefined) this.fresh.add(made.key);
      }
      return made;
    } catch (error) {
      this.app.tell(error);
      return null;
    }
  }

  /** @param {Beside} image which is changed */
  async chooseCuts(image) {
    const { cuts } = image.look;
    const method = /^\d/.test(cuts) ? `percentile${50 + Number(cuts) / 2}` : cuts;
    const plane = planeOf(image);
    const { low, high } = await askJson("limits", { ...plane, method }, { doing: "Choosing cuts" });
    if (high > low) image.look = { ...image.look, low, high };
  }

  /** Show velocities where all images have them: spectra are compared by these. */
  async chooseUnit() {
    const { store, dock } = this.app;
    const { dataset, beside, spectralUnit } = store.state;
    const cubes = [dataset, ...beside.map((image) => image.dataset)].filter((one) => one && one.channels > 1);
    await dock.spectra.axisLoaded;
    if (cubes.length < 2 || isVelocity(dock.spectra.axis?.unit) || spectralUnit === "channel") return;
    try {
      await Promise.all(cubes.map((one) => one && askJson("axis", { ...placeOf(one), ...formOf(store.state, one, "km/s") })));
      store.set({ spectralUnit: "km/s" });
    } catch {
      // An axis without velocities keeps the unit.
    }
  }

  /** Let another image lead: the tools work on it, and each image keeps its cell. @param {number} key */
  async lead(key) {
    const { store, viewer } = this.app;
    const { state } = store;
    const index = state.beside.findIndex((image) => image.key === key);
    const image = state.beside[index];
    if (!image || !state.dataset) return;
    const companion = this.of(key);
    const { match } = companion;
    const own = { key: ++this.keys, dataset: state.dataset, channel: state.channel, others: state.others, layer: state.layer, look: lookOf(state) };
    const cells = viewer.inOrder([own, ...state.beside]);
    const place = cells.indexOf(image);
    /** @type {import("./regions.js").Region[]} */
    const regions = [];
    for (const region of state.regions) {
      const shape = companion.shapes.get(region.id)?.shape;
      if (shape) regions.push({ ...region, ...shape });
    }
    this.led = { dataset: image.dataset, channel: image.channel };
    const view = match && viewOf(match, state.centre, state.scale);
    const { fitted, gaussians, statistic, smooth, bin, follow, grid, scaleBar, beam, layout, opacity, together, lines, contours, spectralUnit, theme } = state;
    await this.app.open(
      {
        id: image.dataset.id, hdu: image.dataset.hdu, channel: image.channel, others: image.others, layer: image.layer, ...image.look,
        fitted, gaussians, statistic, smooth, bin, follow, grid, scaleBar, beam, layout, opacity, together, lines, spectralUnit, theme,
        contours: contours?.of.id ? contours : null,
        regions, place, ...(view ?? {}),
        beside: cells.filter((one) => one !== image),
      },
      Promise.resolve(image.dataset),
    );
  }

  /** Let the image of the next cell lead. */
  async leadNext() {
    const { beside, place } = this.app.store.state;
    const next = beside[place] ?? beside[0];
    if (next) await this.lead(next.key);
  }

  /** Close an image. @param {number | null} key null for the one that leads */
  async close(key) {
    const { store } = this.app;
    const { beside, place } = store.state;
    if (key === null) {
      if (!beside.length) return;
      const before = new Set(beside.map((image) => image.key));
      await this.lead(beside[0].key);
      const left = store.state.beside.find((image) => !before.has(image.key));
      if (left) await this.close(left.key);
      return;
    }
    const index = beside.findIndex((image) => image.key === key);
    store.set({ beside: beside.filter((image) => image.key !== key), place: index < place ? place - 1 : place });
  }

  // What is on the screen.

  /** Go on with "blink", or stop it. */
  blink() {
    clearInterval(this.timer);
    const { layout, beside } = this.app.store.state;
    if (layout === "blink" && beside.length && this.plays) this.timer = setInterval(() => this.next(), BLINK);
    this.show();
  }

  /** Show the next image of "blink". */
  next() {
    const { viewer, store } = this.app;
    viewer.blinked = (viewer.blinked + 1) % (1 + store.state.beside.length);
    this.show();
    viewer.redraw();
  }

  /** Name the images in their cells: a press lets one lead. */
  show() {
    const { store, viewer, dock } = this.app;
    const { state } = store;
    if (!state.dataset || !state.beside.length) {
      this.place.replaceChildren();
      return;
    }
    const { axis } = dock.spectra;
    const labels = viewer.inOrder([
      { key: /** @type {number | null} */ (null), dataset: state.dataset, at: coordinate(axis, state.channel, state.layer), problem: "" },
      ...state.beside.map((image) => {
        const { axis: own, problems, isOutside } = this.of(image.key);
        const problem = problems.get("match") ?? problems.get("axis") ?? "";
        return { key: image.key, dataset: image.dataset, at: isOutside && state.together ? "no such channel" : coordinate(own, image.channel, image.layer), problem };
      }),
    ]);
    const isSide = state.layout === "side";
    const focused = document.activeElement instanceof HTMLElement && this.place.contains(document.activeElement) ? document.activeElement.dataset.cell : null;
    const chips = labels.map(({ key, dataset, at, problem }, i) => {
      const leads = key === null;
      const isShown = state.layout !== "blink" || i === viewer.blinked % labels.length;
      const colour = state.layout === "rgb" ? (labels.length === 2 ? ["red", "green and blue"] : ["red", "green", "blue"])[i] ?? "not shown" : "";
      const name = make(
        "button",
        { type: "button", class: "cell-name", "data-cell": i, "aria-pressed": leads, title: leads ? "The tools work on this image" : "Let the tools work on this image", onclick: () => key !== null && void this.lead(key) },
        make("span", {}, nameOf(dataset)),
        make("span", { class: "cell-at" }, [problem || at, colour].filter(Boolean).join(" · ")),
      );
      const chip = make("div", { class: `chip${leads ? " leads" : ""}${isShown ? "" : " hides"}` }, name);
      if (!isSide) return chip;
      const { x, y, width, height } = viewer.cells[i] ?? viewer.cells[0];
      const cell = make("div", { class: `cell${leads ? " leads" : ""}` }, chip);
      // The server's policy forbids attributes of style.
      Object.assign(cell.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
      return cell;
    });
    this.place.replaceChildren(...(isSide ? chips : [make("div", { class: "chips" }, ...chips)]));
    if (focused) /** @type {HTMLElement | null} */ (this.place.querySelector(`[data-cell="${focused}"]`))?.focus();
  }
}

/** Are two images matched by their coordinates on the sky? @param {Dataset} one @param {Dataset} other */
function isBySky(one, other) {
  return Boolean(one.coordinates.sky && other.coordinates.sky);
}

/** The name of an image for people. @param {Dataset} dataset */
export function nameOf({ id, hdu, images }) {
  const name = id.split("/").at(-1) ?? id;
  return images.length > 1 ? `${name}[${hdu}]` : name;
}

/**
 * The parameters of the spectral axis of another image: lines are those of its own header.
 * @param {import("./state.js").State} state
 * @param {Dataset} dataset
 * @param {string} unit
 */
function formOf(state, dataset, unit) {
  const isOwn = dataset === state.dataset;
  const redshift = isOwn ? state.redshift : dataset.redshift ? String(dataset.redshift) : "";
  return axisOf({ ...state, dataset, spectralUnit: unit, rest: isOwn ? state.rest : "", redshift });
}

/** @param {Axis | null} axis @param {number} channel @param {import("./state.js").Layer} layer */
function coordinate(axis, channel, layer) {
  if (layer.operation !== "channel") return `${layer.operation} ${layer.first}–${layer.last}`;
  const value = axis?.values[channel - 1];
  if (!axis || value === undefined) return "";
  return axis.unit ? `${number(value, 6)} ${unitText(axis.unit)}` : `channel ${channel}`;
}

/** The index of the value that is nearest to another. @param {number[]} values @param {number} at */
function nearest(values, at) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (Math.abs(values[i] - at) < Math.abs(values[best] - at)) best = i;
  return best;
}

/** The width of a channel. @param {number[]} values @param {number} index */
function stepOf(values, index) {
  const other = index + 1 < values.length ? index + 1 : index - 1;
  return other < 0 ? Infinity : Math.abs(values[other] - values[index]);
}

/**
 * The view of an image that shows what the leading one shows.
 * @param {Match} match
 * @param {number[]} centre
 * @param {number} scale
 */
function viewOf({ from, to, matrix: [a, b, c, d] }, centre, scale) {
  const [dx, dy] = [centre[0] - from[0], centre[1] - from[1]];
  return { centre: [to[0] + a * dx + b * dy, to[1] + c * dx + d * dy], scale: scale / Math.sqrt(Math.abs(a * d - b * c)) };
}
