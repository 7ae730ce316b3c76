// What is drawn over the pixels: the frame of the image, regions, scale bar, beam, grid, contours.

import { eachFrame } from "./dom.js";
import { colourOf, handles, outlines } from "./regions.js";
import { angle } from "./words.js";

/** @typedef {import("./viewer.js").Viewer} Viewer */
/** @typedef {import("./regions.js").Point} Point */

/** @typedef {{toScreen: (pixel: Point) => Point}} Places where pixels are in a cell */
/** @typedef {{at: Point, text: string, align: CanvasTextAlign}} Label */

/**
 * @typedef {object} Lines lines in FITS pixels that another module wants drawn
 * @property {Point[][]} lines
 * @property {string} colour
 * @property {Label[]} labels
 * @property {boolean} dashed
 */

export class Overlay {
  /**
   * @param {import("./state.js").Store} store
   * @param {Viewer} viewer
   * @param {HTMLCanvasElement} canvas
   */
  constructor(store, viewer, canvas) {
    this.store = store;
    this.viewer = viewer;
    this.canvas = canvas;
    /** @type {Map<string, Lines>} by the name of the module that wants them */
    this.lines = new Map();
    /** Return the shape of a region in the pixels of another image. */
    this.shapeOf = (/** @type {number} */ _key, /** @type {number} */ _region) => /** @type {{kind: string, values: number[]} | null} */ (null);
    /** @type {Point | null} FITS pixel under the cursor */
    this.cursor = null;
    this.redraw = eachFrame(() => this.draw());
  }

  /** Show in all cells where the cursor is. @param {Point | null} at */
  follow(at) {
    this.cursor = at;
    if (this.store.state.beside.length) this.redraw();
  }

  /** Draw all of it, on `context` where a picture is saved. */
  draw(context = this.canvas.getContext("2d")) {
    const { dataset } = this.store.state;
    if (!context || !dataset) return;
    const ratio = this.canvas.width / this.viewer.total.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.viewer.total.width, this.viewer.total.height);
    const { beside, layout } = this.store.state;
    this.inCell(context, this.viewer.cellOf(null), () => this.decorate(context));
    if (layout !== "side") return;
    beside.forEach((image, n) => {
      const sheet = this.viewer.sheetOf(image);
      const cell = this.viewer.cellOf(n);
      this.inCell(context, cell, () => {
        this.besides(context, image, sheet);
        this.showCursor(context, cell);
      });
    });
  }

  /**
   * Draw in a cell, in whose coordinates the places of the viewer are.
   * @param {CanvasRenderingContext2D} context
   * @param {import("./sheet.js").Cell} cell
   * @param {() => void} call
   */
  inCell(context, { x, y, width, height }, call) {
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.translate(x, y);
    call();
    context.restore();
  }

  /**
   * Draw what lies over another image: its frame, the regions in its pixels, contours, the cursor.
   * @param {CanvasRenderingContext2D} context
   * @param {import("./state.js").Beside} image
   * @param {import("./sheet.js").Sheet | null} sheet
   */
  besides(context, image, sheet) {
    this.prepare(context);
    if (sheet) this.frame(context, image.dataset, sheet);
    for (const lines of this.lines.values()) this.drawLines(context, lines);
    for (const region of this.store.state.regions) {
      const shape = this.shapeOf(image.key, region.id);
      if (shape && sheet) this.outline(context, { ...region, ...shape }, sheet);
    }
  }

  /** @param {CanvasRenderingContext2D} context */
  prepare(context) {
    context.font = "12px system-ui, sans-serif";
    context.lineJoin = "round";
  }

  /**
   * Draw a cross in the cells in which the cursor is not, at the same place of the sky.
   * @param {CanvasRenderingContext2D} context
   * @param {import("./sheet.js").Cell} cell
   */
  showCursor(context, cell) {
    if (!this.cursor || cell === this.viewer.cells[this.viewer.cell]) return;
    const at = this.viewer.toScreen(this.cursor);
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(at.x + 4 * dx, at.y + 4 * dy);
      context.lineTo(at.x + 12 * dx, at.y + 12 * dy);
    }
    this.stroke(context, "#fff", 1);
  }

  /** @param {CanvasRenderingContext2D} context scaled to screen pixels */
  decorate(context) {
    const { state } = this.store;
    this.prepare(context);
    if (state.dataset) this.frame(context, state.dataset, this.viewer);
    for (const lines of this.lines.values()) this.drawLines(context, lines);
    for (const region of state.regions) {
      if (region.values.length) this.region(context, region);
    }
    this.corners(context);
    if (state.scaleBar) this.scaleBar(context);
    if (state.beam) this.beam(context);
    if (state.beside.length && state.layout === "side") this.showCursor(context, this.viewer.cellOf(null));
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./state.js").Dataset} dataset
   * @param {Places} places
   */
  frame(context, { width, height }, places) {
    const corners = [[0, 0], [width, 0], [width, height], [0, height]];
    context.beginPath();
    corners.forEach(([x, y], i) => {
      const at = places.toScreen({ x: x + 0.5, y: y + 0.5 });
      const [left, top] = [Math.round(at.x) - 0.5, Math.round(at.y) - 0.5];
      if (i) context.lineTo(left, top);
      else context.moveTo(left, top);
    });
    context.closePath();
    context.strokeStyle = "rgba(128, 138, 150, 0.7)";
    context.lineWidth = 1;
    context.stroke();
  }

  /**
   * Stroke a path in a colour with a dark outline, so that it is seen on any background.
   * @param {CanvasRenderingContext2D} context
   * @param {string} colour
   * @param {number} width
   */
  stroke(context, colour, width) {
    context.strokeStyle = "rgba(0, 0, 0, 0.65)";
    context.lineWidth = width + 2;
    context.stroke();
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Point[][]} lines FITS pixels
   * @param {Places} places
   */
  path(context, lines, places = this.viewer) {
    context.beginPath();
    for (const points of lines) this.line(context, points, places);
  }

  /** @param {CanvasRenderingContext2D} context @param {Point[]} points @param {Places} places */
  line(context, points, places) {
    points.forEach((point, i) => {
      const at = places.toScreen(point);
      if (i) context.lineTo(at.x, at.y);
      else context.moveTo(at.x, at.y);
    });
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./regions.js").Region} region
   */
  region(context, region) {
    const chosen = region.id === this.store.state.selected;
    const colour = this.outline(context, region, this.viewer);
    if (!chosen) return;
    for (const handle of handles(region)) {
      const at = this.viewer.toScreen(handle);
      context.beginPath();
      context.arc(at.x, at.y, 4.5, 0, 2 * Math.PI);
      context.fillStyle = colour;
      context.fill();
      context.strokeStyle = "#000";
      context.lineWidth = 1;
      context.stroke();
    }
  }

  /**
   * Draw the outline of a region; return its colour.
   * @param {CanvasRenderingContext2D} context
   * @param {import("./regions.js").Region} region
   * @param {Places} places
   */
  outline(context, region, places) {
    const colour = colourOf(region, false);
    if (region.kind === "point") {
      const at = places.toScreen({ x: region.values[0], y: region.values[1] });
      context.beginPath();
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(at.x + 3 * dx, at.y + 3 * dy);
        context.lineTo(at.x + 10 * dx, at.y + 10 * dy);
      }
    } else {
      this.path(context, outlines(region), places);
    }
    this.stroke(context, colour, region.id === this.store.state.selected ? 2 : 1.5);
    return colour;
  }

  /** The polygon that is being drawn. @param {CanvasRenderingContext2D} context */
  corners(context) {
    const { corners } = this.viewer;
    if (!corners) return;
    const points = [];
    for (let i = 0; i < corners.length; i += 2) points.push({ x: corners[i], y: corners[i + 1] });
    this.path(context, [points]);
    this.stroke(context, "#fff", 1.5);
    for (const point of points) {
      const at = this.viewer.toScreen(point);
      context.fillStyle = "#fff";
      context.fillRect(at.x - 3, at.y - 3, 6, 6);
    }
  }

  /** @param {CanvasRenderingContext2D} context */
  scaleBar(context) {
    const { dataset, scale } = this.store.state;
    const sky = dataset?.coordinates.sky;
    if (!sky) return;
    const perPixel = Math.abs(sky.scale[0]) / scale;
    const wanted = perPixel * Math.min(140, this.viewer.width / 4);
    const length = roundAngle(wanted);
    const [right, y] = [this.viewer.width - 18, this.viewer.height - 20];
    const left = right - length / perPixel;
    context.beginPath();
    context.moveTo(left, y - 4);
    context.lineTo(left, y);
    context.lineTo(right, y);
    context.lineTo(right, y - 4);
    this.stroke(context, "#fff", 1.5);
    this.label(context, angle(length), { x: (left + right) / 2, y: y - 8 }, "center");
  }

  /** @param {CanvasRenderingContext2D} context */
  beam(context) {
    const { dataset, scale } = this.store.state;
    const { sky, beam } = dataset?.coordinates ?? {};
    if (!sky || !beam || !(beam.major > 0)) return;
    const perPixel = Math.abs(sky.scale[1]);
    const [a, b] = [beam.major, beam.minor].map((axis) => (axis / perPixel / 2) * scale);
    if (a < 2 || a > this.viewer.height / 4) return;
    // Position angles run from north to east: up and left where longitudes grow to the left.
    const turn = (-(beam.angle + 90) * Math.PI) / 180;
    const [x, y] = [18 + a, this.viewer.height - (this.viewer.width < 700 ? 76 : 18) - a];
    context.beginPath();
    context.ellipse(x, y, a, b, turn, 0, 2 * Math.PI);
    context.fillStyle = "rgba(255, 255, 255, 0.35)";
    context.fill();
    this.stroke(context, "#fff", 1);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Lines} wanted
   */
  drawLines(context, { lines, colour, labels, dashed }) {
    context.save();
    if (dashed) context.setLineDash([4, 4]);
    context.strokeStyle = colour;
    context.lineWidth = 1.2;
    for (const line of lines) {
      this.path(context, [line]);
      context.stroke();
    }
    context.restore();
    for (const { at, text, align } of labels) {
      const place = this.viewer.toScreen(at);
      const [dx, dy] = align === "right" ? [-5, -4] : [0, -6];
      this.label(context, text, { x: place.x + dx, y: place.y + dy }, align);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {string} text
   * @param {Point} at
   * @param {CanvasTextAlign} align
   */
  label(context, text, at, align) {
    context.textAlign = align;
    context.lineWidth = 3;
    context.strokeStyle = "rgba(0, 0, 0, 0.75)";
    context.strokeText(text, at.x, at.y);
    context.fillStyle = "#fff";
    context.fillText(text, at.x, at.y);
  }
}

/**
 * Return the largest round angle that is not above some degrees.
 * @param {number} degrees
 */
export function roundAngle(degrees) {
  const unit = [1, 1 / 60, 1 / 3600].find((one) => degrees >= one) ?? 1 / 3600;
  const steps = unit === 1 ? [90, 60, 45, 30, 20, 10, 5, 2, 1] : [30, 20, 10, 5, 2, 1];
  const size = degrees / unit;
  if (size >= 1) return unit * (steps.find((step) => step <= size) ?? 1);
  const power = 10 ** Math.floor(Math.log10(size));
  return unit * power * ([5, 2, 1].find((step) => step * power <= size) ?? 1);
}
