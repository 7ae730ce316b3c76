// The chart of spectra, drawn by uPlot: one curve a region, the channel shown, a range selected.

import uPlot from "./vendor/uPlot.esm.js";
import { ticks, unit } from "./words.js";

/**
 * @typedef {object} Series
 * @property {string} label
 * @property {string} colour
 * @property {ArrayLike<number>} values
 * @property {boolean} dashed
 * @property {boolean} [smooth] a line from centre to centre, as of a model
 * @property {{xs: number[], unit: string}} [own] its coordinates and unit, where they are not those of the axis
 */

export class Chart {
  /**
   * @param {HTMLElement} place
   * @param {(channel: number) => void} picked a channel was clicked
   * @param {(range: number[]) => void} selected channels were selected
   * @param {(zoom: number[] | null) => void} zoomed another part of the axis is shown
   */
  constructor(place, picked, selected, zoomed) {
    this.place = place;
    this.picked = picked;
    this.selected = selected;
    this.zoomed = zoomed;
    /** @type {number[] | null} part of the next axis that a link restores */
    this.restored = null;
    /** @type {uPlot | null} */
    this.plot = null;
    this.shape = "";
    /** Identity of the axis that is shown. */
    this.axis = "";
    /** @type {number[]} */
    this.xs = [];
    /** @type {number[]} channel of each x: x ascends, channels may not */
    this.channels = [];
    this.channel = 1;
    /** @type {number[] | null} */
    this.range = null;
    /** @type {Map<number, {xs: number[], ys: (number | null)[], scale: string}>} curves with coordinates of their own, by number */
    this.own = new Map();
    /** @type {{name: string, at: number}[]} spectral lines, by their coordinate */
    this.lines = [];
    new ResizeObserver(() => this.fit()).observe(place);
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (this.plot && width > 60 && height > 30) this.plot.setSize({ width, height });
  }

  /**
   * Show curves. uPlot wants ascending x, so an axis that descends is turned around.
   * @param {{name: string, unit: string | null, values: number[]}} axis
   * @param {Series[]} series
   * @param {string} valueName
   */
  show(axis, series, valueName) {
    // The zoom is a range of one axis: in another unit it means nothing.
    const identity = JSON.stringify([axis.name, axis.unit, axis.values.length, axis.values[0], axis.values.at(-1)]);
    let zoom = identity === this.axis ? this.zoom() : null;
    if (this.restored) zoom = { min: this.restored[0], max: this.restored[1] };
    this.restored = null;
    this.axis = identity;
    const order = axis.values.map((_, i) => i).sort((a, b) => axis.values[a] - axis.values[b]);
    this.xs = order.map((i) => axis.values[i]);
    this.channels = order.map((i) => i + 1);
    const data = [this.xs, ...series.map(({ values, own }) => order.map((i) => (own ? null : finite(values[i]))))];
    const second = series.find(({ own }) => own && own.unit !== valueName)?.own?.unit ?? "";
    this.own = new Map(series.flatMap(({ values, own }, n) => (own ? [[n + 1, ordered(own.xs, values, own.unit === valueName ? "y" : `y ${own.unit}`)]] : [])));
    const theme = getComputedStyle(this.place);
    const shape = JSON.stringify([
      axis.name, axis.unit, valueName, theme.color, series.map(({ label, colour, dashed, own }) => [label, colour, dashed, own?.unit]),
    ]);
    if (this.plot && shape === this.shape) {
      this.plot.setData(/** @type {any} */ (data), !zoom);
      if (zoom) this.plot.setScale("x", zoom);
      if (this.own.size) this.plot.redraw();
      return;
    }
    this.shape = shape;
    this.plot?.destroy();
    this.plot = new uPlot(this.options(axis, series, [valueName, second], theme), /** @type {any} */ (data), this.place);
    if (zoom) this.plot.setScale("x", zoom);
  }

  tellZoom() {
    const zoom = this.zoom();
    this.zoomed(zoom && [zoom.min, zoom.max]);
  }

  /** The part of the axis that is shown; null if it is whole. */
  zoom() {
    const { min, max } = this.plot?.scales.x ?? {};
    if (min == null || max == null) return null;
    return min > this.xs[0] || max < this.xs[this.xs.length - 1] ? { min, max } : null;
  }

  /**
   * @param {{name: string, unit: string | null}} axis
   * @param {Series[]} series
   * @param {string[]} names units of the values at the left and at the right, "" for none
   * @param {CSSStyleDeclaration} theme
   * @returns {uPlot.Options}
   */
  options(axis, series, [valueName, second], theme) {
    const text = theme.color;
    const grid = { stroke: theme.getPropertyValue("--line").trim(), width: 1 };
    const font = "11px system-ui, sans-serif";
    const common = { stroke: text, grid, ticks: { ...grid, size: 4 }, font, labelFont: font };
    const name = axis.unit ? `${axis.name} (${unit(axis.unit)})` : axis.name;
    return {
      width: Math.max(100, this.place.clientWidth),
      height: Math.max(40, this.place.clientHeight),
      legend: { show: false },
      padding: [8, 20, 0, 0],
      cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, points: { size: 6 } },
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      scales: {
        x: { time: false },
        ...Object.fromEntries(["y", ...[...this.own.values()].map(({ scale }) => scale)].map((key) => [key, { range: (plot, low, high) => this.rangeOf(plot, key, low, high) }])),
      },
      axes: [
        { ...common, label: name, labelSize: 18, size: 26 },
        { ...common, label: unit(valueName), labelSize: 16, size: 62, values: (_, at) => ticks(at) },
        ...(second ? [{ ...common, grid: { show: false }, side: 1, scale: `y ${second}`, label: unit(second), labelSize: 16, size: 62, values: (/** @type {uPlot} */ _, /** @type {number[]} */ at) => ticks(at) }] : []),
      ],
      series: [
        {},
        ...series.map(({ label, colour, dashed, smooth }, n) => ({
          label,
          stroke: colour,
          width: dashed ? 1 : 1.5,
          scale: this.own.get(n + 1)?.scale ?? "y",
          ...(smooth ? {} : { paths: (/** @type {uPlot} */ plot, /** @type {number} */ index, /** @type {number} */ first, /** @type {number} */ last) => this.steps(plot, index, first, last) }),
          points: { show: false },
        })),
      ],
      hooks: {
        setSelect: [(plot) => this.selectionEnded(plot)],
        setScale: [(_, key) => key === "x" && this.tellZoom()],
        draw: [(plot) => this.mark(plot)],
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  /**
   * The range of a scale, with the curves that have coordinates of their own.
   * @param {uPlot} plot
   * @param {string} scale
   * @param {number | null} low
   * @param {number | null} high
   * @returns {[number | null, number | null]}
   */
  rangeOf(plot, scale, low, high) {
    let [least, most] = [low ?? Infinity, high ?? -Infinity];
    // The channels in view: the scale of x is not set yet while others are ranged.
    const [first, last] = plot.series[0].idxs ?? [0, this.xs.length - 1];
    const [min, max] = [this.xs[Math.max(0, first - 1)], this.xs[Math.min(this.xs.length - 1, last + 1)]];
    for (const { xs, ys, scale: own } of this.own.values()) {
      if (own !== scale) continue;
      ys.forEach((value, i) => {
        if (value === null || xs[i] < min || xs[i] > max) return;
        least = Math.min(least, value);
        most = Math.max(most, value);
      });
    }
    return least > most ? [null, null] : /** @type {[number, number]} */ (uPlot.rangeNum(least, most, 0.1, true));
  }

  /**
   * The path of a curve: a level step for each channel, as wide as the channel.
   * @param {uPlot} plot
   * @param {number} index
   * @param {number} first
   * @param {number} last
   */
  steps(plot, index, first, last) {
    const own = this.own.get(index);
    if (own) return steps(plot, own.scale, own.xs, own.ys, 0, own.xs.length - 1);
    return steps(plot, "y", plot.data[0], plot.data[index], first, last);
  }

  /** @param {uPlot} plot */
  listen(plot) {
    const { over } = plot;
    let started = 0;
    over.addEventListener("mousedown", (event) => (started = event.clientX));
    over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - started) < 4) this.picked(this.channelAt(plot, event.offsetX));
    });
    over.addEventListener("dblclick", () => plot.setScale("x", { min: this.xs[0], max: this.xs[this.xs.length - 1] }));
    over.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const factor = Math.exp(event.deltaY * 0.002);
        const at = plot.posToVal(event.offsetX, "x");
        const { min = 0, max = 1 } = /** @type {{min: number, max: number}} */ (plot.scales.x);
        const [first, last] = [this.xs[0], this.xs[this.xs.length - 1]];
        plot.setScale("x", {
          min: Math.max(first, at - (at - min) * factor),
          max: Math.min(last, at + (max - at) * factor),
        });
      },
      { passive: false },
    );
  }

  /** @param {uPlot} plot @param {number} left */
  channelAt(plot, left) {
    return this.channels[plot.valToIdx(plot.posToVal(left, "x"))];
  }

  /** @param {uPlot} plot */
  selectionEnded(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    const ends = [this.channelAt(plot, left), this.channelAt(plot, left + width)];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.selected([Math.min(...ends), Math.max(...ends)]);
  }

  /** Draw the channel that the image shows, and the range. @param {uPlot} plot */
  mark(plot) {
    const { ctx, bbox } = plot;
    const theme = getComputedStyle(this.place);
    const x = (/** @type {number} */ channel) => {
      const at = this.channels.indexOf(channel);
      return plot.valToPos(this.xs[at], "x", true);
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (this.range) {
      const [a, b] = this.range.map(x);
      const half = Math.abs(b - a) / Math.max(1, this.range[1] - this.range[0]) / 2;
      ctx.fillStyle = theme.getPropertyValue("--range").trim();
      ctx.fillRect(Math.min(a, b) - half, bbox.top, Math.abs(b - a) + 2 * half, bbox.height);
    }
    this.drawLines(plot, theme);
    ctx.strokeStyle = theme.getPropertyValue("--accent").trim();
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    const at = x(this.channel);
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  /**
   * Draw spectral lines with their names upright at the top; a name that has no room is left out.
   * @param {uPlot} plot
   * @param {CSSStyleDeclaration} theme
   */
  drawLines(plot, theme) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.strokeStyle = ctx.fillStyle = theme.getPropertyValue("--mark").trim();
    ctx.lineWidth = ratio;
    ctx.font = `${10 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    const places = this.lines.map(({ name, at }) => ({ name, x: plot.valToPos(at, "x", true) })).sort((a, b) => a.x - b.x);
    let free = -Infinity;
    for (const { name, x } of places) {
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
      if (x < free) continue;
      free = x + 12 * ratio;
      ctx.save();
      ctx.translate(x - 2 * ratio, bbox.top + 3 * ratio);
      ctx.rotate(-Math.PI / 2);
      ctx.fillText(name, 0, 0);
      ctx.restore();
    }
  }

  /** @param {{name: string, at: number}[]} lines */
  setLines(lines) {
    this.lines = lines;
    this.plot?.redraw(false, false);
  }

  /** @param {number} channel @param {number[] | null} range */
  setMarks(channel, range) {
    this.channel = channel;
    this.range = range;
    this.plot?.redraw(false, false);
  }
}

/**
 * The path of a curve: a level step for each channel, as wide as the channel.
 * @param {uPlot} plot
 * @param {string} scale
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number | null | undefined>} ys
 * @param {number} first
 * @param {number} last
 */
function steps(plot, scale, xs, ys, first, last) {
  const stroke = new Path2D();
  const x = (/** @type {number} */ at) => plot.valToPos(at, "x", true);
  let drawing = false;
  for (let i = first; i <= last; i++) {
    const value = ys[i];
    if (value === null || value === undefined) {
      drawing = false;
      continue;
    }
    const before = i > 0 ? xs[i] - xs[i - 1] : xs[i + 1] - xs[i];
    const after = i + 1 < xs.length ? xs[i + 1] - xs[i] : before;
    const y = plot.valToPos(value, scale, true);
    if (drawing) stroke.lineTo(x(xs[i] - before / 2), y);
    else stroke.moveTo(x(xs[i] - before / 2), y);
    stroke.lineTo(x(xs[i] + after / 2), y);
    drawing = true;
  }
  return { stroke, flags: 1 };
}

/** @param {number} value */
function finite(value) {
  return Number.isFinite(value) ? value : null;
}

/**
 * Return a curve in the order of ascending coordinates.
 * @param {number[]} xs
 * @param {ArrayLike<number>} values
 * @param {string} scale
 * @returns {{xs: number[], ys: (number | null)[], scale: string}}
 */
function ordered(xs, values, scale) {
  const order = xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
  return { xs: order.map((i) => xs[i]), ys: order.map((i) => finite(values[i])), scale };
}
