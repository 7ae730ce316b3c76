// The image: which parts of the stage it has, moving and zooming, drawing and dragging regions.

import { Renderer } from "./gl.js";
import { Tiles } from "./tiles.js";
import { drawn, handles, holds, middle, moved, resized, rounded } from "./regions.js";
import { eachFrame } from "./dom.js";
import { Sheet } from "./sheet.js";
import { lookOf, planeOf } from "./state.js";

/** Screen pixels around a handle that take hold of it; more for fingers. */
const GRIP = 9;
const FINGER = 22;

/** The largest and the smallest zoom: screen pixels per image pixel. */
const MOST = 64;
const LEAST = 1 / 512;

/** @typedef {import("./regions.js").Region} Region */
/** @typedef {import("./regions.js").Point} Point */
/** @typedef {import("./sheet.js").Cell} Cell */

/** Screen pixels between two cells. */
const GAP = 2;

/**
 * Divide a stage into equal cells, as large as they can be.
 * @param {number} count
 * @param {number} width
 * @param {number} height
 * @returns {Cell[]}
 */
export function divided(count, width, height) {
  let best = { columns: 1, side: 0 };
  for (let columns = 1; columns <= count; columns++) {
    const side = Math.min(width / columns, height / Math.ceil(count / columns));
    if (side > best.side) best = { columns, side };
  }
  const { columns } = best;
  const rows = Math.ceil(count / columns);
  const [w, h] = [(width - GAP * (columns - 1)) / columns, (height - GAP * (rows - 1)) / rows];
  return Array.from({ length: count }, (_, i) => ({
    x: (i % columns) * (w + GAP), y: Math.floor(i / columns) * (h + GAP), width: w, height: h,
  }));
}

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
    /** Called for a point that was tapped without a drag. */
    this.tapped = (/** @type {Point} */ _at) => {};
    /** @type {Map<number, Point>} fingers and mouse that are down */
    this.down = new Map();
    /** @type {((at: Point) => void) | null} what moving the pointer does */
    this.drag = null;
    /** Number of what the pointer does from down to up, 0 between; for the history of regions. */
    this.gesture = 0;
    this.gestures = 0;
    /** @type {() => void} what its end does */
    this.release = () => {};
    /** @type {number[] | null} corners of a polygon that is drawn */
    this.corners = null;
    /** Size of a cell: all have the same. */
    this.width = 0;
    this.height = 0;
    /** @type {Cell[]} parts of the stage; one if images lie over each other */
    this.cells = [{ x: 0, y: 0, width: 0, height: 0 }];
    /** Size of the stage. */
    this.total = { width: 0, height: 0 };
    /** Place of the surface in the window, as of `total`. */
    this.left = 0;
    this.top = 0;
    /** The cell that the pointer is in, by its number. */
    this.cell = 0;
    /** Return the sheet of another image; null if it has no place. */
    this.sheetOf = (/** @type {import("./state.js").Beside} */ _image) => /** @type {Sheet | null} */ (null);
    /** The cell that "blink" shows. */
    this.blinked = 0;
    /** @type {Map<number, import("./api.js").Parameters>} the plane that each other image showed whole last */
    this.held = new Map();
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
    const before = this.middle();
    this.left = left;
    this.top = top;
    this.total = { width: clientWidth, height: clientHeight };
    this.divide();
    if (this.down.size) {
      // What is dragged stays under the finger when the layout changes.
      const { centre, scale } = this.store.state;
      const after = this.middle();
      this.store.set({ centre: [centre[0] + (after.x - before.x) / scale, centre[1] - (after.y - before.y) / scale] });
    }
    for (const canvas of [this.canvas, this.surface]) {
      canvas.width = Math.round(clientWidth * ratio);
      canvas.height = Math.round(clientHeight * ratio);
    }
    if (first && this.store.state.scale === 0) this.fit();
    this.draw();
  }

  /** The middle of the pointer's cell in the window. @returns {Point} */
  middle() {
    const { x, y } = this.cells[this.cell];
    return { x: this.left + x + this.width / 2, y: this.top + y + this.height / 2 };
  }

  /** Divide the stage among the images. */
  divide() {
    const { beside, layout } = this.store.state;
    const count = layout === "side" ? 1 + beside.length : 1;
    this.cells = divided(count, this.total.width, this.total.height);
    this.cell = Math.min(this.cell, count - 1);
    this.width = this.cells[0].width;
    this.height = this.cells[0].height;
  }

  /** Divide the stage anew; what was in view stays so. */
  arrange() {
    const { width, height } = this;
    this.divide();
    const { scale } = this.store.state;
    if (width && scale && this.width !== width) {
      const share = Math.min(this.width / width, this.height / height);
      this.store.set({ scale: Math.min(MOST, Math.max(LEAST, scale * share)) });
    }
    this.redraw();
  }

  /** The cell of this image, and that of the n-th other one. @param {number | null} other */
  cellOf(other) {
    const { place, layout } = this.store.state;
    if (layout !== "side") return this.cells[0];
    return this.cells[other === null ? place : other + Number(other >= place)] ?? this.cells[0];
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
    return dataset && planeOf({ dataset, channel, others, layer });
  }

  /** This image as it lies in its cell. @returns {Sheet | null} */
  sheet() {
    const { dataset, centre, scale } = this.store.state;
    const plane = this.plane();
    if (!dataset || !plane) return null;
    return new Sheet({ dataset, plane, matrix: [scale, 0, 0, -scale], origin: centre, at: [this.width / 2, this.height / 2] });
  }

  /** The level at which a pixel of a tile is about one pixel of the screen. */
  level() {
    return this.sheet()?.level() ?? 0;
  }

  /**
   * List the tiles of a level that are on screen, those in the middle first.
   * @param {number} level
   */
  visible(level) {
    return this.sheet()?.visible(level, this.cells[0]) ?? [];
  }

  draw() {
    const sheet = this.sheet();
    if (!sheet || !this.width || this.store.state.scale === 0) return;
    const cell = this.cells[0];
    const { beside } = this.store.state;
    const others = beside.map((image) => ({ image, sheet: this.sheetOf(image) }));
    this.tiles.need([sheet.needed(cell, this.ahead), ...others.map((other) => other.sheet?.needed(cell) ?? [])].flat());
    const wanted = sheet.quads(sheet.plane, this.tiles, cell);
    if (wanted.covered) this.shown = sheet.plane;
    // Until the new plane covers the screen the old one stays, with its labels.
    const under = this.shown && !wanted.covered ? sheet.quads(this.shown, this.tiles, cell).quads : wanted.quads;
    const layers = [{ quads: under, look: lookOf(this.store.state) }];
    for (const { image, sheet } of others) layers.push({ quads: sheet ? this.heldQuads(image.key, sheet) : [], look: image.look });
    this.renderer.draw(this.layered(layers), this.canvas.width / this.total.width);
    this.drawnFrame();
  }

  /** Quads of another image: those of its last plane until the new one is whole. @param {number} key @param {Sheet} sheet */
  heldQuads(key, sheet) {
    const cell = this.cells[0];
    const { quads, covered } = sheet.quads(sheet.plane, this.tiles, cell);
    const held = this.held.get(key);
    if (covered) this.held.set(key, sheet.plane);
    return held && !covered ? sheet.quads(held, this.tiles, cell).quads : quads;
  }

  /**
   * Place the images: beside each other, one of them, over each other, or as three colours.
   * @param {{quads: import("./gl.js").Quad[], look: import("./gl.js").Look}[]} images this one first
   * @returns {import("./gl.js").Layer[]}
   */
  layered(images) {
    const { layout, opacity } = this.store.state;
    const layers = images.map((image, i) => ({ ...image, cell: this.cellOf(i ? i - 1 : null), opacity: 1, colours: /** @type {boolean[] | null} */ (null) }));
    if (images.length < 2 || layout === "side") return layers;
    if (layout === "over") return layers.map((layer, i) => ({ ...layer, opacity: i ? opacity : 1 }));
    const ordered = this.inOrder(layers);
    if (layout === "blink") return [ordered[this.blinked % ordered.length]];
    return ordered.slice(0, 3).map((layer, i) => ({ ...layer, look: { ...layer.look, map: "grey" }, colours: colourOf(i, ordered.length) }));
  }

  /**
   * Order this image and the others, which are given after it, by their places.
   * @template T
   * @param {T[]} images
   */
  inOrder([own, ...others]) {
    return [...others.slice(0, this.store.state.place), own, ...others.slice(this.store.state.place)];
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
   * Return where a pointer is in its cell as it was drawn last: the layout may have changed since.
   *
   * Cells show the same part of the sky, so a place in one is that place in all.
   * @param {MouseEvent} event
   * @returns {Point}
   */
  placeOf(event) {
    const [x, y] = [event.clientX - this.left, event.clientY - this.top];
    // A drag that leaves its cell goes on there.
    if (!this.down.size) this.cell = this.cellAt(x, y);
    const cell = this.cells[this.cell];
    return { x: x - cell.x, y: y - cell.y };
  }

  /** The number of the cell at a place of the stage. @param {number} x @param {number} y */
  cellAt(x, y) {
    const number = this.cells.findIndex((cell) => x >= cell.x && x < cell.x + cell.width + GAP && y >= cell.y && y < cell.y + cell.height + GAP);
    return Math.max(0, number);
  }

  /** @param {PointerEvent} event */
  pointerDown(event) {
    this.surface.setPointerCapture(event.pointerId);
    this.gestures += 1;
    this.gesture = this.gestures;
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
    this.gesture = 0;
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
    if (tool === "polygon" || tool === "polyline") {
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
    this.drag = (at) => {
      const to = this.toImage(at.x, at.y);
      const values =
        handle === undefined ? moved(region, to.x - from.x, to.y - from.y) : resized(region, handle, to);
      this.put({ ...region, values });
    };
  }

  /** @param {string} kind @param {Point} screen */
  startDrawing(kind, screen) {
    const from = this.toImage(screen.x, screen.y);
    const region = this.add(kind, kind === "point" ? drawn(kind, from, from) : []);
    let far = kind === "point";
    this.drag = (at) => {
      far ||= Math.hypot(at.x - screen.x, at.y - screen.y) > 3;
      if (!far) return;
      this.put({ ...region, values: drawn(kind, from, this.toImage(at.x, at.y)) });
    };
    this.release = () => {
      if (!far) this.remove(region.id);
      // One shape at a time: the next drag moves it, as users expect.
      this.store.set({ tool: "pan" });
    };
    if (far) this.put(region);
  }

  /**
   * Add a region; it has no outline until it has values.
   * @param {string} kind
   * @param {number[]} values
   * @param {{name?: string, paint?: string}} more
   */
  add(kind, values, more = {}) {
    const { regions } = this.store.state;
    const id = 1 + Math.max(0, ...regions.map((one) => one.id));
    let colour = 0;
    while (regions.some((one) => one.colour === colour)) colour += 1;
    const region = { id, kind, values, colour, ...more };
    if (values.length) this.put(region);
    return region;
  }

  /** Add or replace a region. @param {Region} region */
  put(region) {
    const { regions } = this.store.state;
    const known = regions.some((one) => one.id === region.id);
    const next = known ? regions.map((one) => (one.id === region.id ? region : one)) : [...regions, region];
    this.store.set({ regions: next, selected: region.id });
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
    if (this.corners.length >= 6 && this.store.state.tool === "polygon") {
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
    const kind = this.store.state.tool === "polyline" ? "polyline" : "polygon";
    while (corners && corners.length > (kind === "polygon" ? 6 : 4)) {
      const [x1, y1, x2, y2] = corners.slice(-4);
      if (Math.hypot(x1 - x2, y1 - y2) * this.store.state.scale > 3) break;
      corners.splice(-2);
    }
    if (corners && corners.length >= 6) this.add(kind, rounded(corners));
    else if (corners && corners.length === 4 && kind === "polyline") this.add("line", rounded(corners));
    this.store.set({ tool: "pan" });
    this.redraw();
  }
}

/**
 * Return which of red, green and blue an image has in a picture of two or three.
 * @param {number} number
 * @param {number} count
 */
function colourOf(number, count) {
  if (count === 2) return number ? [false, true, true] : [true, false, false];
  return [0, 1, 2].map((colour) => colour === number);
}
