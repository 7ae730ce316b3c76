// The image: which tiles are drawn where, moving and zooming, drawing and dragging regions.

import { Renderer } from "./gl.js";
import { Tiles } from "./tiles.js";
import { drawn, handles, holds, middle, moved, resized, rounded } from "./regions.js";
import { eachFrame } from "./dom.js";
import { collapseOf, placeOf } from "./state.js";

/** Screen pixels around a handle that take hold of it; more for fingers. */
const GRIP = 9;
const FINGER = 22;

/** From this level on a first look has one pixel of each block, not its mean: fewer bytes are read. */
const PREVIEWED = 3;

/** The largest and the smallest zoom: screen pixels per image pixel. */
const MOST = 64;
const LEAST = 1 / 512;

/** @typedef {import("./regions.js").Region} Region */
/** @typedef {import("./regions.js").Point} Point */

export class Viewer {
  /**
   * @param {import("./state.js").Store} store
   * @param {HTMLCanvasElement} canvas for the pixels
   * @param {HTMLCanvasElement} surface above it, for what is drawn over them
   * @param {(error: unknown) => void} failed
   */
  constructor(store, canvas, surface, failed) {
    this.store = store;
    this.canvas = canvas;
    this.surface = surface;
    this.renderer = new Renderer(canvas);
    this.redraw = eachFrame(() => this.draw());
    this.tiles = new Tiles(this.redraw, failed, (tile) => this.renderer.drop(tile));
    /** @type {import("./api.js").Parameters | null} the plane that was drawn whole last */
    this.shown = null;
    /** @type {import("./api.js").Parameters | null} the plane that an animation shows next */
    this.ahead = null;
    /** Called after a frame was drawn, with the plane that it shows. */
    this.drawnFrame = () => {};
    /** Called with the FITS pixel under the cursor, null outside. */
    this.pointed = (/** @type {Point | null} */ _at) => {};
    /** Called when a region is added, moved or resized; `done` at the end of a drag. */
    this.regionChanged = (/** @type {Region} */ _region, /** @type {boolean} */ _done) => {};
    /** Called for a point that was tapped without a drag. */
    this.tapped = (/** @type {Point} */ _at) => {};
    /** @type {Map<number, Point>} fingers and mouse that are down */
    this.down = new Map();
    /** @type {((at: Point) => void) | null} what moving the pointer does */
    this.drag = null;
    /** @type {() => void} what its end does */
    this.release = () => {};
    /** @type {number[] | null} corners of a polygon that is drawn */
    this.corners = null;
    this.width = 0;
    this.height = 0;
    /** Place of the surface in the window, as of `width` and `height`. */
    this.left = 0;
    this.top = 0;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(surface);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.renderer.start();
      this.redraw();
    });
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.surface;
    if (!clientWidth || !clientHeight) return;
    const first = this.width === 0;
    const { left, top } = this.surface.getBoundingClientRect();
    if (this.down.size) {
      // What is dragged stays under the finger when the layout changes.
      const { centre, scale } = this.store.state;
      const dx = left + clientWidth / 2 - this.left - this.width / 2;
      const dy = top + clientHeight / 2 - this.top - this.height / 2;
      this.store.set({ centre: [centre[0] + dx / scale, centre[1] - dy / scale] });
    }
    this.left = left;
    this.top = top;
    this.width = clientWidth;
    this.height = clientHeight;
    for (const canvas of [this.canvas, this.surface]) {
      canvas.width = Math.round(clientWidth * ratio);
      canvas.height = Math.round(clientHeight * ratio);
    }
    if (first && this.store.state.scale === 0) this.fit();
    this.draw();
  }

  /** Show the whole image. */
  fit() {
    const { dataset } = this.store.state;
    if (!dataset || !this.width) return;
    const scale = 0.94 * Math.min(this.width / dataset.width, this.height / dataset.height);
    this.store.set({
      centre: [(dataset.width + 1) / 2, (dataset.height + 1) / 2],
      scale: Math.min(MOST, Math.max(LEAST, scale)),
    });
  }

  /** @param {number} x @param {number} y @returns {Point} FITS pixel of a place on screen */
  toImage(x, y) {
    const { centre, scale } = this.store.state;
    return { x: centre[0] + (x - this.width / 2) / scale, y: centre[1] - (y - this.height / 2) / scale };
  }

  /** @param {Point} at @returns {Point} place on screen of a FITS pixel */
  toScreen(at) {
    const { centre, scale } = this.store.state;
    return { x: this.width / 2 + (at.x - centre[0]) * scale, y: this.height / 2 - (at.y - centre[1]) * scale };
  }

  /**
   * Zoom by a factor; the pixel at a place on screen stays there.
   * @param {number} factor
   */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const { scale } = this.store.state;
    const before = this.toImage(x, y);
    const next = Math.min(MOST, Math.max(LEAST, scale * factor));
    this.store.set({
      scale: next,
      centre: [before.x - (x - this.width / 2) / next, before.y + (y - this.height / 2) / next],
    });
  }

  /** Move the image by screen pixels. @param {number} dx @param {number} dy */
  pan(dx, dy) {
    const { centre, scale } = this.store.state;
    this.store.set({ centre: [centre[0] - dx / scale, centre[1] + dy / scale] });
  }

  /** @returns {import("./api.js").Parameters | null} what all tiles of the wanted plane have */
  plane() {
    const { dataset, channel, others, layer } = this.store.state;
    if (!dataset) return null;
    const common = { ...placeOf(dataset), others };
    if (layer.operation === "channel") return { ...common, channel };
    return { ...common, ...collapseOf(layer) };
  }

  /** The level at which a pixel of a tile is about one pixel of the screen. */
  level() {
    const { dataset, scale } = this.store.state;
    const wanted = Math.round(-Math.log2(scale * (devicePixelRatio || 1)));
    return Math.min(Math.max(0, wanted), (dataset?.levels ?? 1) - 1);
  }

  /**
   * List the tiles of a level that are on screen, those in the middle first.
   * @param {number} level
   */
  visible(level) {
    const { dataset } = this.store.state;
    if (!dataset) return [];
    const span = dataset.tile * 2 ** level;
    const [a, b] = [this.toImage(0, this.height), this.toImage(this.width, 0)];
    const range = (/** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ length) => [
      Math.max(0, Math.floor((low - 0.5) / span)),
      Math.min(Math.ceil(length / span) - 1, Math.floor((high - 0.5) / span)),
    ];
    const [x1, x2] = range(a.x, b.x, dataset.width);
    const [y1, y2] = range(a.y, b.y, dataset.height);
    const found = [];
    for (let y = y1; y <= y2; y++) for (let x = x1; x <= x2; x++) found.push({ level, x, y });
    const [cx, cy] = [(x1 + x2) / 2, (y1 + y2) / 2];
    return found.sort((p, q) => Math.hypot(p.x - cx, p.y - cy) - Math.hypot(q.x - cx, q.y - cy));
  }

  /**
   * Return the quads of a plane, coarse ones first, and whether they cover what is on screen.
   * @param {import("./api.js").Parameters} plane
   */
  quads(plane) {
    const levels = this.store.state.dataset?.levels ?? 1;
    const level = this.level();
    /** @type {Map<string, import("./gl.js").Quad>} */
    const coarse = new Map();
    const fine = [];
    let covered = true;
    for (const place of this.visible(level)) {
      const tile = this.tiles.find(plane, place);
      if (tile) {
        fine.push(this.quad(tile, place));
        continue;
      }
      const preview = this.tiles.find({ ...plane, preview: true }, place);
      if (preview) {
        coarse.set(`preview ${place.x} ${place.y}`, this.quad(preview, place));
        continue;
      }
      let found = false;
      for (let up = level + 1; up < levels && !found; up++) {
        const above = { level: up, x: place.x >> (up - level), y: place.y >> (up - level) };
        const larger = this.tiles.find(plane, above);
        if (larger) {
          coarse.set(`${up} ${above.x} ${above.y}`, this.quad(larger, above));
          found = true;
        }
      }
      covered &&= found;
    }
    return { quads: [...coarse.values(), ...fine], covered };
  }

  /**
   * @param {import("./tiles.js").Tile} tile
   * @param {import("./tiles.js").Place} place
   * @returns {import("./gl.js").Quad}
   */
  quad(tile, { level, x, y }) {
    const { dataset } = this.store.state;
    if (!dataset) throw new Error("a tile without an image");
    const step = 2 ** level;
    const [left, bottom] = [x * dataset.tile * step, y * dataset.tile * step];
    const right = Math.min(left + tile.width * step, dataset.width);
    const top = Math.min(bottom + tile.height * step, dataset.height);
    const ratio = this.canvas.width / this.width;
    const a = this.toScreen({ x: left + 0.5, y: bottom + 0.5 });
    const b = this.toScreen({ x: right + 0.5, y: top + 0.5 });
    return {
      tile,
      box: [a.x, this.height - a.y, b.x, this.height - b.y].map((at) => at * ratio),
      used: [(right - left) / (tile.width * step), (top - bottom) / (tile.height * step)],
    };
  }

  draw() {
    const plane = this.plane();
    if (!plane || !this.width || this.store.state.scale === 0) return;
    const level = this.level();
    const levels = this.store.state.dataset?.levels ?? 1;
    const needed = this.visible(level).map((place) => ({ plane, place }));
    // The whole plane in one tile comes first where it is small: it fills the screen at once.
    if (level < levels - 1 && levels <= 4) {
      needed.unshift({ plane, place: { level: levels - 1, x: 0, y: 0 } });
    }
    // The server keeps the levels of a map from its first answer on: they come at once.
    if (level >= PREVIEWED && plane.collapse === undefined) {
      needed.unshift(...needed.map(({ place }) => ({ plane: { ...plane, preview: true }, place })));
    }
    const { ahead } = this;
    if (ahead) needed.push(...this.visible(level).map((place) => ({ plane: ahead, place })));
    this.tiles.need(needed);
    const wanted = this.quads(plane);
    if (wanted.covered) this.shown = plane;
    // Until the new plane covers the screen the old one stays, with its labels.
    const under = this.shown && !wanted.covered ? this.quads(this.shown).quads : wanted.quads;
    this.renderer.draw(under, this.store.state);
    this.drawnFrame();
  }

  // Pointer.

  listen() {
    const at = this.surface;
    at.addEventListener("pointerdown", (event) => this.pointerDown(event));
    at.addEventListener("pointermove", (event) => this.pointerMove(event));
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
      at.addEventListener(name, (event) => this.pointerUp(event));
    }
    at.addEventListener("pointerleave", (event) => {
      // A finger leaves when it is lifted: what it touched stays named.
      if (!this.drag && event.pointerType !== "touch") this.pointed(null);
    });
    at.addEventListener("contextmenu", (event) => event.preventDefault());
    at.addEventListener("dblclick", (event) => {
      if (this.corners) this.closePolygon();
      else if (this.store.state.tool === "pan") {
        const { x, y } = this.placeOf(event);
        this.zoom(2, x, y);
      }
    });
    at.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const lines = event.deltaMode === 1 ? 16 : 1;
        const factor = Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0018));
        const { x, y } = this.placeOf(event);
        this.zoom(factor, x, y);
      },
      { passive: false },
    );
  }

  /**
   * Return where a pointer is on the surface as it was drawn last: the layout may have changed since.
   * @param {MouseEvent} event
   * @returns {Point}
   */
  placeOf(event) {
    return { x: event.clientX - this.left, y: event.clientY - this.top };
  }

  /** @param {PointerEvent} event */
  pointerDown(event) {
    this.surface.setPointerCapture(event.pointerId);
    const screen = this.placeOf(event);
    this.down.set(event.pointerId, screen);
    if (this.down.size === 2) {
      this.startPinch();
    } else if (this.down.size === 1) {
      if (event.button === 2) this.startAdjust(screen);
      else if (event.button === 1) this.startPan(screen);
      else this.startTool(screen, event.pointerType === "touch" ? FINGER : GRIP);
    }
  }

  /** @param {PointerEvent} event */
  pointerMove(event) {
    const screen = this.placeOf(event);
    if (this.down.has(event.pointerId)) this.down.set(event.pointerId, screen);
    if (this.drag) this.drag(screen);
    this.pointed(this.toImage(screen.x, screen.y));
    if (!this.down.size) this.showCursor(screen);
  }

  /** @param {PointerEvent} event */
  pointerUp(event) {
    this.down.delete(event.pointerId);
    const release = this.release;
    this.drag = null;
    this.release = () => {};
    release();
    if (this.down.size === 1) this.startPan([...this.down.values()][0]);
  }

  /** Say by the cursor what a drag would do. @param {Point} screen */
  showCursor(screen) {
    const { tool } = this.store.state;
    const held = this.heldAt(screen, GRIP);
    this.surface.style.cursor =
      held?.handle !== undefined ? "nwse-resize" : held ? "move" : tool === "pan" ? "grab" : "crosshair";
  }

  /** @param {Point} from */
  startPan(from) {
    let last = from;
    const started = from;
    this.drag = (to) => {
      this.pan(to.x - last.x, to.y - last.y);
      last = to;
    };
    this.release = () => {
      if (Math.hypot(last.x - started.x, last.y - started.y) < 3) {
        this.store.set({ selected: null });
        this.tapped(this.toImage(last.x, last.y));
      }
    };
  }

  startPinch() {
    this.release();
    let [a, b] = [...this.down.values()];
    const state = () => {
      [a, b] = [...this.down.values()];
      return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, length: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    let last = state();
    this.drag = () => {
      const next = state();
      this.pan(next.x - last.x, next.y - last.y);
      this.zoom(next.length / (last.length || 1), next.x, next.y);
      last = next;
    };
    this.release = () => {};
  }

  /** Bias and contrast, as in DS9. @param {Point} from */
  startAdjust(from) {
    const { bias, contrast } = this.store.state;
    this.drag = (to) => {
      this.store.set({
        bias: Math.min(1, Math.max(0, bias + (to.x - from.x) / this.width)),
        contrast: Math.min(10, Math.max(0.1, contrast * 2 ** ((from.y - to.y) / (this.height / 4)))),
      });
    };
  }

  /**
   * What is under a place on screen: a handle of the selected region, or a region.
   * @param {Point} screen
   * @param {number} grip
   * @returns {{region: Region, handle?: number} | null}
   */
  heldAt(screen, grip) {
    const { regions, selected, scale } = this.store.state;
    const chosen = regions.find((region) => region.id === selected);
    if (chosen) {
      const far = (/** @type {Point} */ at) => {
        const place = this.toScreen(at);
        return Math.hypot(place.x - screen.x, place.y - screen.y);
      };
      const all = handles(chosen).map(far);
      const nearest = Math.min(...all);
      // A finger covers a small region whole: nearer to its middle it moves it.
      if (nearest <= grip && nearest < far(middle(chosen))) return { region: chosen, handle: all.indexOf(nearest) };
    }
    const point = this.toImage(screen.x, screen.y);
    const ordered = chosen ? [chosen, ...regions] : regions;
    const region = ordered.find((one) => holds(one, point, grip / scale));
    return region ? { region } : null;
  }

  /** @param {Point} screen @param {number} grip */
  startTool(screen, grip) {
    const { tool } = this.store.state;
    if (tool === "polygon") {
      this.addCorner(screen);
      return;
    }
    const held = this.heldAt(screen, grip);
    if (held) this.startHeld(held, screen);
    else if (tool === "pan") this.startPan(screen);
    else this.startDrawing(tool, screen);
  }

  /**
   * @param {{region: Region, handle?: number}} held
   * @param {Point} screen
   */
  startHeld({ region, handle }, screen) {
    const from = this.toImage(screen.x, screen.y);
    this.store.set({ selected: region.id });
    let latest = region;
    this.drag = (at) => {
      const to = this.toImage(at.x, at.y);
      const values =
        handle === undefined ? moved(region, to.x - from.x, to.y - from.y) : resized(region, handle, to);
      latest = { ...region, values };
      this.put(latest, false);
    };
    this.release = () => this.regionChanged(latest, true);
  }

  /** @param {string} kind @param {Point} screen */
  startDrawing(kind, screen) {
    const from = this.toImage(screen.x, screen.y);
    const region = this.add(kind, kind === "point" ? drawn(kind, from, from) : []);
    let far = kind === "point";
    let latest = region;
    this.drag = (at) => {
      far ||= Math.hypot(at.x - screen.x, at.y - screen.y) > 3;
      if (!far) return;
      latest = { ...region, values: drawn(kind, from, this.toImage(at.x, at.y)) };
      this.put(latest, false);
    };
    this.release = () => {
      if (far) this.put(latest, true);
      else this.remove(region.id);
      // One shape at a time: the next drag moves it, as users expect.
      this.store.set({ tool: "pan" });
    };
    if (far) this.put(region, false);
  }

  /**
   * Add a region; it has no outline until it has values.
   * @param {string} kind
   * @param {number[]} values
   */
  add(kind, values) {
    const { regions } = this.store.state;
    const id = 1 + Math.max(0, ...regions.map((one) => one.id));
    let colour = 0;
    while (regions.some((one) => one.colour === colour)) colour += 1;
    const region = { id, kind, values, colour };
    if (values.length) this.put(region, true);
    return region;
  }

  /** Add or replace a region. @param {Region} region @param {boolean} done */
  put(region, done) {
    const { regions } = this.store.state;
    const known = regions.some((one) => one.id === region.id);
    const next = known ? regions.map((one) => (one.id === region.id ? region : one)) : [...regions, region];
    this.store.set({ regions: next, selected: region.id });
    this.regionChanged(region, done);
  }

  /** @param {number} id */
  remove(id) {
    const { regions, selected } = this.store.state;
    this.store.set({
      regions: regions.filter((one) => one.id !== id),
      selected: selected === id ? null : selected,
    });
  }

  /** @param {Point} screen */
  addCorner(screen) {
    const at = this.toImage(screen.x, screen.y);
    this.corners ??= [];
    if (this.corners.length >= 6) {
      const first = this.toScreen({ x: this.corners[0], y: this.corners[1] });
      if (Math.hypot(first.x - screen.x, first.y - screen.y) < GRIP) {
        this.closePolygon();
        return;
      }
    }
    this.corners.push(at.x, at.y);
    this.redraw();
  }

  closePolygon() {
    const corners = this.corners;
    this.corners = null;
    // A double click adds its place twice.
    while (corners && corners.length > 6) {
      const [x1, y1, x2, y2] = corners.slice(-4);
      if (Math.hypot(x1 - x2, y1 - y2) * this.store.state.scale > 3) break;
      corners.splice(-2);
    }
    if (corners && corners.length >= 6) this.add("polygon", rounded(corners));
    this.store.set({ tool: "pan" });
    this.redraw();
  }
}
