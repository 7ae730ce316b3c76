// What is drawn over the pixels: the frame of the image, regions, scale bar, beam, grid, contours.

import { colourOf, handles, outlines } from "./regions.js";
import { angle } from "./words.js";

/** @typedef {import("./viewer.js").Viewer} Viewer */
/** @typedef {import("./regions.js").Point} Point */

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
  }

  /** Draw all of it, on `context` where a picture is saved. */
  draw(context = this.canvas.getContext("2d")) {
    const { dataset } = this.store.state;
    if (!context || !dataset) return;
    const ratio = this.canvas.width / this.viewer.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.viewer.width, this.viewer.height);
    this.decorate(context);
  }

  /** @param {CanvasRenderingContext2D} context scaled to screen pixels */
  decorate(context) {
    const { state } = this.store;
    context.font = "12px system-ui, sans-serif";
    context.lineJoin = "round";
    this.frame(context);
    for (const lines of this.lines.values()) this.drawLines(context, lines);
    for (const region of state.regions) {
      if (region.values.length) this.region(context, region);
    }
    this.corners(context);
    if (state.scaleBar) this.scaleBar(context);
    if (state.beam) this.beam(context);
  }

  /** @param {CanvasRenderingContext2D} context */
  frame(context) {
    const { dataset } = this.store.state;
    if (!dataset) return;
    const a = this.viewer.toScreen({ x: 0.5, y: dataset.height + 0.5 });
    const b = this.viewer.toScreen({ x: dataset.width + 0.5, y: 0.5 });
    context.strokeStyle = "rgba(128, 138, 150, 0.7)";
    context.lineWidth = 1;
    context.strokeRect(Math.round(a.x) - 0.5, Math.round(a.y) - 0.5, Math.round(b.x - a.x) + 1, Math.round(b.y - a.y) + 1);
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
   * @param {...Point[]} lines FITS pixels
   */
  path(context, ...lines) {
    context.beginPath();
    for (const points of lines) this.line(context, points);
  }

  /** @param {CanvasRenderingContext2D} context @param {Point[]} points */
  line(context, points) {
    points.forEach((point, i) => {
      const at = this.viewer.toScreen(point);
      if (i) context.lineTo(at.x, at.y);
      else context.moveTo(at.x, at.y);
    });
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./regions.js").Region} region
   */
  region(context, region) {
    const colour = colourOf(region, false);
    const chosen = region.id === this.store.state.selected;
    if (region.kind === "point") {
      const at = this.viewer.toScreen({ x: region.values[0], y: region.values[1] });
      context.beginPath();
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(at.x + 3 * dx, at.y + 3 * dy);
        context.lineTo(at.x + 10 * dx, at.y + 10 * dy);
      }
    } else {
      this.path(context, ...outlines(region));
    }
    this.stroke(context, colour, chosen ? 2 : 1.5);
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

  /** The polygon that is being drawn. @param {CanvasRenderingContext2D} context */
  corners(context) {
    const { corners } = this.viewer;
    if (!corners) return;
    const points = [];
    for (let i = 0; i < corners.length; i += 2) points.push({ x: corners[i], y: corners[i + 1] });
    this.path(context, points);
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
      this.path(context, line);
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
