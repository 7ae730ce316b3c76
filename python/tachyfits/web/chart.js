// The chart of spectra, drawn by uPlot: one curve a region, the channel shown, a range selected.

import uPlot from "./vendor/uPlot.esm.js";
import { ticks, unit } from "./words.js";

/**
 * @typedef {object} Series
 * @property {string} label
 * @property {string} colour
 * @property {ArrayLike<number>} values
 * @property {boolean} dashed
 */

export class Chart {
  /**
   * @param {HTMLElement} place
   * @param {(channel: number) => void} picked a channel was clicked
   * @param {(range: number[]) => void} selected channels were selected
   */
  constructor(place, picked, selected) {
    this.place = place;
    this.picked = picked;
    this.selected = selected;
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
    new ResizeObserver(() => this.fit()).observe(place);
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (this.plot && width > 60 && height > 40) this.plot.setSize({ width, height });
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
    const zoom = identity === this.axis ? this.zoom() : null;
    this.axis = identity;
    const order = axis.values.map((_, i) => i).sort((a, b) => axis.values[a] - axis.values[b]);
    this.xs = order.map((i) => axis.values[i]);
    this.channels = order.map((i) => i + 1);
    const data = [this.xs, ...series.map(({ values }) => order.map((i) => finite(values[i])))];
    const theme = getComputedStyle(this.place);
    const shape = JSON.stringify([
      axis.name, axis.unit, valueName, theme.color, series.map(({ label, colour, dashed }) => [label, colour, dashed]),
    ]);
    if (this.plot && shape === this.shape) {
      this.plot.setData(/** @type {any} */ (data), !zoom);
      return;
    }
    this.shape = shape;
    this.plot?.destroy();
    this.plot = new uPlot(this.options(axis, series, valueName, theme), /** @type {any} */ (data), this.place);
    if (zoom) this.plot.setScale("x", zoom);
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
   * @param {string} valueName
   * @param {CSSStyleDeclaration} theme
   * @returns {uPlot.Options}
   */
  options(axis, series, valueName, theme) {
    const text = theme.color;
    const grid = { stroke: theme.getPropertyValue("--line").trim(), width: 1 };
    const font = "11px system-ui, sans-serif";
    const common = { stroke: text, grid, ticks: { ...grid, size: 4 }, font, labelFont: font };
    const name = axis.unit ? `${axis.name} (${unit(axis.unit)})` : axis.name;
    return {
      width: Math.max(100, this.place.clientWidth),
      height: Math.max(80, this.place.clientHeight),
      legend: { show: false },
      padding: [8, 20, 0, 0],
      cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, points: { size: 6 } },
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      scales: { x: { time: false } },
      axes: [
        { ...common, label: name, labelSize: 18, size: 26 },
        { ...common, label: unit(valueName), labelSize: 16, size: 62, values: (_, at) => ticks(at) },
      ],
      series: [
        {},
        ...series.map(({ label, colour, dashed }) => ({
          label,
          stroke: colour,
          width: dashed ? 1 : 1.5,
          paths: steps,
          points: { show: false },
        })),
      ],
      hooks: {
        setSelect: [(plot) => this.selectionEnded(plot)],
        draw: [(plot) => this.mark(plot)],
        ready: [(plot) => this.listen(plot)],
      },
    };
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
    ctx.strokeStyle = theme.getPropertyValue("--accent").trim();
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    const at = x(this.channel);
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
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
 * @param {number} index
 * @param {number} first
 * @param {number} last
 */
function steps(plot, index, first, last) {
  const stroke = new Path2D();
  const [xs, ys] = [plot.data[0], plot.data[index]];
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
    const y = plot.valToPos(value, "y", true);
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
