// Catalogues over the image: points in typed arrays, drawn with those outside the screen left out.

import { Latest, ask, askJson } from "./api.js";
import { byId, make } from "./dom.js";
import { placeOf } from "./state.js";

/** @typedef {import("./api.js").Parameters} Parameters */
/** @typedef {import("./regions.js").Point} Point */

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {string | null} unit
 * @property {string | null} ucd
 * @property {string | null} description
 * @property {string} type
 */

/**
 * @typedef {object} Catalogue what /api/v1/catalogue says
 * @property {string} catalogue
 * @property {number} table
 * @property {{table: number, name: string}[]} tables
 * @property {number} rows
 * @property {Column[]} columns
 * @property {{longitude: string, latitude: string, frame: string} | null} positions
 * @property {string | null} problem
 */

/** Cells along each side of the grid that finds the points on screen. */
const CELLS = 128;

/** Up to this number of points on screen each is a circle; more are dots. */
const CIRCLES = 3000;

/** Screen pixels around a point that take hold of it. */
const GRIP = 10;

/** Milliseconds after a drag until the canvas is drawn anew. */
const REST = 300;

/** Points of a layer, sorted by cells of a grid over the image, rows of cells from below. */
export class PointGrid {
  /**
   * @param {Float32Array} x FITS pixels
   * @param {Float32Array} y
   * @param {Uint32Array} rows of the table, which ascend
   * @param {number} width of the image
   * @param {number} height
   */
  constructor(x, y, rows, width, height) {
    this.count = x.length;
    this.rows = rows;
    this.width = width;
    this.height = height;
    const cells = new Uint32Array(this.count);
    const start = new Uint32Array(CELLS * CELLS + 1);
    for (let i = 0; i < this.count; i++) {
      const cell = this.row(y[i]) * CELLS + this.column(x[i]);
      cells[i] = cell;
      start[cell + 1] += 1;
    }
    for (let i = 0; i < CELLS * CELLS; i++) start[i + 1] += start[i];
    const next = start.slice();
    /** Sorted positions, and where each point was before. */
    this.x = new Float32Array(this.count);
    this.y = new Float32Array(this.count);
    this.order = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const at = next[cells[i]]++;
      this.x[at] = x[i];
      this.y[at] = y[i];
      this.order[at] = i;
    }
    this.start = start;
    /** Where a point is after sorting. */
    this.place = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) this.place[this.order[i]] = i;
  }

  /** @param {number} x */
  column(x) {
    return Math.min(CELLS - 1, Math.max(0, Math.floor(((x - 0.5) / this.width) * CELLS)));
  }

  /** @param {number} y */
  row(y) {
    return Math.min(CELLS - 1, Math.max(0, Math.floor(((y - 0.5) / this.height) * CELLS)));
  }

  /**
   * Return runs of sorted points that cover a box: [first, end, first, end, ...].
   * @param {Point} low
   * @param {Point} high
   */
  runs(low, high) {
    /** @type {number[]} */
    const found = [];
    if (high.x < 0.5 || high.y < 0.5 || low.x >= this.width + 0.5 || low.y >= this.height + 0.5) return found;
    const [left, right] = [this.column(low.x), this.column(high.x)];
    for (let row = this.row(low.y); row <= this.row(high.y); row++) {
      const [first, end] = [this.start[row * CELLS + left], this.start[row * CELLS + right + 1]];
      if (end > first) found.push(first, end);
    }
    return found;
  }

  /** Return the place of the point of a row of the table; -1 if the image has none. @param {number} row */
  ofRow(row) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low < this.count && this.rows[low] === row ? this.place[low] : -1;
  }
}

/**
 * @typedef {Omit<import("./state.js").CatalogueOf, "current"> & {id: number, described: Catalogue,
 *   points: PointGrid | null, rows: number, problem: string}} Layer a catalogue over the image;
 *   `rows`: rows of the condition; `problem`: why no points are drawn
 */

const COLOURS = ["#39d0d8", "#ffdf5d", "#ff7b93", "#3fd68f", "#c297ff", "#ffa657"];

export class Catalogues {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    const surface = byId("surface", HTMLCanvasElement);
    this.canvas = make("canvas", { id: "catalogue", "aria-hidden": true });
    surface.before(this.canvas);
    /** @type {Layer[]} */
    this.layers = [];
    this.ids = 0;
    /** @type {Layer | null} the one whose rows are listed */
    this.current = null;
    /** Called after layers, their points or the selected row changed. */
    this.changed = () => {};
    /** The view that the canvas was drawn for: all of it except the centre, and this. */
    this.drawn = { view: "", centre: [0, 0], x: 0, y: 0 };
    this.rest = 0;
    /** Place of the canvas in the cell of the image, and its pixels per pixel of the screen. */
    this.box = { x: 0, y: 0, ratio: 1 };
    this.version = 0;
    /** @type {ImageData | null} */
    this.dots = null;
    this.asking = new Latest((/** @type {Layer} */ layer, signal) => this.load(layer, signal), (error) => app.tell(error));
    const { tapped } = app.viewer;
    app.viewer.tapped = (at) => {
      tapped(at);
      this.tap(at);
    };
    app.store.on(["dataset"], () => void this.follow());
  }

  /**
   * Open a catalogue and draw its points.
   * @param {Parameters} source
   * @param {string} name
   * @param {Partial<import("./state.js").CatalogueOf>} look
   */
  async add(source, name, look = {}) {
    const { dataset } = this.app.store.state;
    if (!dataset) return;
    const described = await askJson("catalogue", { ...placeOf(dataset), ...source }, { doing: "Opening the catalogue" });
    const id = ++this.ids;
    const colour = COLOURS.find((one) => !this.layers.some((layer) => layer.colour === one)) ?? COLOURS[0];
    /** @type {Layer} */
    const layer = { id, name, colour, shown: true, source, columns: {}, where: "", described, points: null, rows: described.rows, selected: null, problem: described.problem ?? "", ...look };
    this.layers = [...this.layers, layer];
    if (look.current ?? true) this.current = layer;
    this.redraw();
    if (isPlaced(layer)) await this.load(layer);
  }

  /** Show the catalogues of a link, and no others. @param {import("./state.js").CatalogueOf[]} catalogues */
  async restore(catalogues) {
    this.layers = [];
    this.current = null;
    this.redraw();
    for (const { source, name, ...look } of catalogues) {
      try {
        await this.add(source, name, look);
      } catch (error) {
        this.app.tell(error);
      }
    }
  }

  /** @param {Layer} layer */
  remove(layer) {
    this.layers = this.layers.filter((one) => one !== layer);
    if (this.current === layer) this.current = this.layers.at(-1) ?? null;
    this.redraw();
  }

  /** Another image was opened: its pixels are others. */
  async follow() {
    for (const layer of this.layers) layer.points = null;
    this.redraw();
    for (const layer of this.layers) {
      try {
        await this.load(layer);
      } catch (error) {
        layer.problem = error instanceof Error ? error.message : String(error);
        this.redraw();
      }
    }
  }

  /** Parameters of requests about a layer. @param {Layer} layer @returns {Parameters | null} */
  parameters({ source, columns, where }) {
    const { dataset } = this.app.store.state;
    return dataset && { ...placeOf(dataset), ...source, ...columns, where: where || null };
  }

  /** @param {Layer} layer @param {AbortSignal} [signal] */
  async load(layer, signal) {
    const asked = this.parameters(layer);
    const { dataset } = this.app.store.state;
    if (!asked || !dataset) return;
    const options = signal ? { signal, view: `catalogue-${layer.id}` } : {};
    try {
      const answer = await ask("catalogue/points", asked, { ...options, doing: "Placing the catalogue" });
      const body = await answer.arrayBuffer();
      const count = Number(answer.headers.get("Catalogue-Points"));
      if (dataset !== this.app.store.state.dataset) return;
      layer.rows = Number(answer.headers.get("Catalogue-Rows"));
      layer.points = new PointGrid(new Float32Array(body, 0, count), new Float32Array(body, 4 * count, count), new Uint32Array(body, 8 * count, count), dataset.width, dataset.height);
      layer.problem = "";
    } catch (error) {
      if (error instanceof DOMException) throw error;
      layer.points = null;
      layer.problem = error instanceof Error ? error.message : String(error);
    }
    this.redraw();
  }

  /** Change a layer; its points are asked for again if they may be others. @param {Layer} layer @param {Partial<Layer>} changes */
  change(layer, changes) {
    Object.assign(layer, changes);
    if (isPlaced(layer) && ("where" in changes || "columns" in changes)) this.asking.ask(layer);
    this.redraw();
  }

  redraw() {
    this.version += 1;
    const { store, viewer } = this.app;
    const catalogues = this.layers.map((layer) => {
      const { source, name, colour, shown, columns, where, selected } = layer;
      return { source, name, colour, shown, columns, where, selected, current: layer === this.current };
    });
    // Links follow what was changed, not what arrived.
    if (JSON.stringify(catalogues) !== JSON.stringify(store.state.catalogues)) store.set({ catalogues });
    viewer.redraw();
    this.changed();
  }

  /** Draw all layers, if the view or they changed. */
  draw() {
    const { viewer, store } = this.app;
    const { centre, scale, dataset, layout, place } = store.state;
    const shown = this.layers.filter((layer) => layer.shown && layer.points);
    // A canvas that has nothing on it costs time in each frame.
    this.canvas.hidden = !shown.length || !dataset || !viewer.width;
    if (this.canvas.hidden || !dataset) return;
    const { total, canvas } = viewer;
    const view = [scale, layout, place, viewer.cells.length, total.width, total.height, canvas.width, this.version].join(" ");
    if (view === this.drawn.view && this.move(dataset)) return;
    clearTimeout(this.rest);
    this.cover(dataset);
    this.drawn = { view, centre, x: this.box.x, y: this.box.y };
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const { x, y, ratio } = this.box;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const [low, high] = [viewer.toImage(-GRIP, viewer.height + GRIP), viewer.toImage(viewer.width + GRIP, -GRIP)];
    const drawn = shown.map((layer) => {
      const runs = /** @type {PointGrid} */ (layer.points).runs(low, high);
      let count = 0;
      for (let i = 0; i < runs.length; i += 2) count += runs[i + 1] - runs[i];
      return { layer, runs, count };
    });
    // Dots are pixels of the canvas: they go below what is drawn with lines.
    const many = drawn.filter(({ count }) => count > CIRCLES);
    if (many.length) this.drawDots(context, many);
    context.setTransform(ratio, 0, 0, ratio, -x * ratio, -y * ratio);
    for (const one of drawn) if (one.count <= CIRCLES) this.circles(context, one);
    for (const layer of shown) this.mark(context, layer);
  }

  /**
   * Move the canvas with the image, by whole pixels; say whether it covers what is seen of the image.
   *
   * It does if all of the image was in view when it was drawn: then a million points are drawn once for a drag.
   * @param {import("./state.js").Dataset} dataset
   */
  move(dataset) {
    const { viewer, store } = this.app;
    const { centre, scale } = store.state;
    const { ratio } = this.box;
    const [dx, dy] = [this.drawn.centre[0] - centre[0], centre[1] - this.drawn.centre[1]].map((by) => Math.round(by * scale * ratio) / ratio);
    const [x, y] = [this.drawn.x + dx, this.drawn.y + dy];
    if (x === this.box.x && y === this.box.y) return true;
    const seen = this.extent(dataset, 0);
    const [right, bottom] = [x + this.canvas.width / ratio, y + this.canvas.height / ratio];
    // In cells beside each other it would lie over its neighbours.
    if (viewer.cells.length > 1 || x > seen.x || y > seen.y || right < seen.right || bottom < seen.bottom) return false;
    this.box = { x, y, ratio };
    this.canvas.style.transform = `translate(${dx}px, ${dy}px)`;
    clearTimeout(this.rest);
    const rest = () => {
      if (viewer.down.size) {
        this.rest = setTimeout(rest, REST);
        return;
      }
      this.drawn.view = "";
      viewer.redraw();
    };
    this.rest = setTimeout(rest, REST);
    return true;
  }

  /** The part of the cell that has the image, and pixels around it. @param {import("./state.js").Dataset} dataset @param {number} around */
  extent({ width, height }, around) {
    const { viewer } = this.app;
    const cell = viewer.cellOf(null);
    const [a, b] = [viewer.toScreen({ x: 0.5, y: height + 0.5 }), viewer.toScreen({ x: width + 0.5, y: 0.5 })];
    const [x, y] = [a.x, a.y].map((at) => Math.max(0, Math.floor(at) - around));
    const right = Math.min(Math.ceil(cell.width), Math.ceil(b.x) + around);
    const bottom = Math.min(Math.ceil(cell.height), Math.ceil(b.y) + around);
    return { x, y, right, bottom };
  }

  /** Let the canvas cover what is seen of the image, and no more: its pixels are sent to the screen. @param {import("./state.js").Dataset} dataset */
  cover(dataset) {
    const { viewer } = this.app;
    const cell = viewer.cellOf(null);
    const { x, y, right, bottom } = this.extent(dataset, GRIP);
    const ratio = viewer.canvas.width / viewer.total.width;
    this.box = { x, y, ratio };
    const [wide, tall] = [Math.max(1, right - x), Math.max(1, bottom - y)];
    const [w, h] = [Math.round(wide * ratio), Math.round(tall * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    // The server's policy forbids attributes of style.
    Object.assign(this.canvas.style, { left: `${cell.x + x}px`, top: `${cell.y + y}px`, width: `${wide}px`, height: `${tall}px`, transform: "" });
  }

  /** @param {CanvasRenderingContext2D} context @param {{layer: Layer, runs: number[]}[]} many */
  drawDots(context, many) {
    const { viewer, store } = this.app;
    const { width, height } = this.canvas;
    if (!this.dots || this.dots.width !== width || this.dots.height !== height) this.dots = context.createImageData(width, height);
    const pixels = new Uint32Array(this.dots.data.buffer);
    pixels.fill(0);
    const { ratio, ...box } = this.box;
    const side = Math.max(1, Math.round(2 * ratio));
    const { centre, scale } = store.state;
    // x and y on the canvas are linear in the pixels of the image.
    const step = scale * ratio;
    const left = (viewer.width / 2 - box.x) * ratio - centre[0] * step - (side - 1) / 2 + 0.5;
    const top = (viewer.height / 2 - box.y) * ratio + centre[1] * step - (side - 1) / 2 + 0.5;
    const [right, bottom] = [width - side, height - side];
    for (const { layer, runs } of many) {
      const { x, y } = /** @type {PointGrid} */ (layer.points);
      const colour = packed(layer.colour);
      for (let run = 0; run < runs.length; run += 2) {
        for (let i = runs[run]; i < runs[run + 1]; i++) {
          // Truncation is faster than rounding; half a pixel was added.
          const px = (left + x[i] * step) | 0;
          const py = (top - y[i] * step) | 0;
          if (px <= 0 || py <= 0 || px > right || py > bottom) continue;
          let at = py * width + px;
          if (side === 2) {
            pixels[at] = pixels[at + 1] = colour;
            at += width;
            pixels[at] = pixels[at + 1] = colour;
            continue;
          }
          for (let dy = 0; dy < side; dy++, at += width) pixels.fill(colour, at, at + side);
        }
      }
    }
    context.putImageData(this.dots, 0, 0);
  }

  /** @param {CanvasRenderingContext2D} context @param {{layer: Layer, runs: number[]}} one */
  circles(context, { layer, runs }) {
    const { viewer } = this.app;
    const { x, y } = /** @type {PointGrid} */ (layer.points);
    context.beginPath();
    for (let run = 0; run < runs.length; run += 2) {
      for (let i = runs[run]; i < runs[run + 1]; i++) {
        const at = viewer.toScreen({ x: x[i], y: y[i] });
        context.moveTo(at.x + 4, at.y);
        context.arc(at.x, at.y, 4, 0, 2 * Math.PI);
      }
    }
    context.strokeStyle = "rgba(0, 0, 0, 0.6)";
    context.lineWidth = 3;
    context.stroke();
    context.strokeStyle = layer.colour;
    context.lineWidth = 1.3;
    context.stroke();
  }

  /** Mark the point of the selected row. @param {CanvasRenderingContext2D} context @param {Layer} layer */
  mark(context, layer) {
    const at = this.placeOfRow(layer, layer.selected);
    if (!at) return;
    const place = this.app.viewer.toScreen(at);
    for (const [colour, width] of /** @type {const} */ ([["#000", 5], ["#fff", 2]])) {
      context.beginPath();
      context.arc(place.x, place.y, 9, 0, 2 * Math.PI);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke();
    }
  }

  /** Draw the catalogues on the picture of the stage. @param {CanvasRenderingContext2D} context whose pixels are those of the stage */
  paint(context) {
    const cell = this.app.viewer.cellOf(null);
    const { x, y, ratio } = this.box;
    if (!this.canvas.hidden) context.drawImage(this.canvas, (cell.x + x) * ratio, (cell.y + y) * ratio);
  }

  /** Return where the point of a row is; null if the image has none. @param {Layer} layer @param {number | null} row @returns {Point | null} */
  placeOfRow({ points }, row) {
    const at = points && row !== null ? points.ofRow(row) : -1;
    return points && at >= 0 ? { x: points.x[at], y: points.y[at] } : null;
  }

  /**
   * Return the point nearest to a place within some screen pixels.
   * @param {Point} place FITS pixels
   * @returns {{layer: Layer, row: number} | null}
   */
  nearest({ x, y }) {
    const near = GRIP / this.app.store.state.scale;
    let found = null;
    let best = near * near;
    for (const layer of this.layers) {
      const { points } = layer;
      if (!layer.shown || !points) continue;
      const runs = points.runs({ x: x - near, y: y - near }, { x: x + near, y: y + near });
      for (let run = 0; run < runs.length; run += 2) {
        for (let i = runs[run]; i < runs[run + 1]; i++) {
          const far = (points.x[i] - x) ** 2 + (points.y[i] - y) ** 2;
          if (far <= best) {
            best = far;
            found = { layer, row: points.rows[points.order[i]] };
          }
        }
      }
    }
    return found;
  }

  /** Select the row of a point that was clicked. @param {Point} at */
  tap(at) {
    const found = this.nearest(at);
    if (!found) return;
    this.current = found.layer;
    this.app.panel.show("catalogues");
    this.select(found.layer, found.row);
  }

  /** Select a row, and show its point. @param {Layer} layer @param {number | null} row */
  select(layer, row) {
    layer.selected = row;
    const at = this.placeOfRow(layer, row);
    const { viewer, store } = this.app;
    if (at) {
      const place = viewer.toScreen(at);
      const isSeen = place.x > 0 && place.y > 0 && place.x < viewer.width && place.y < viewer.height;
      if (!isSeen) store.set({ centre: [at.x, at.y] });
    }
    this.redraw();
  }
}

/** Are the columns of its positions known? @param {Layer} layer */
function isPlaced(layer) {
  return layer.described.positions !== null || Boolean(layer.columns.longitude);
}

/** Return an opaque colour as a pixel of a canvas in memory. @param {string} colour as #rrggbb */
function packed(colour) {
  const value = Number.parseInt(colour.slice(1), 16);
  const bytes = new Uint8Array([value >> 16, (value >> 8) & 255, value & 255, 255]);
  return new Uint32Array(bytes.buffer)[0];
}
