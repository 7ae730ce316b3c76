// The position–velocity diagram along the selected line, in the dock; it follows while the line moves.

import { Latest, ask } from "./api.js";
import { cutsOf } from "./cuts.js";
import { colourTable } from "./gl.js";
import { make } from "./dom.js";
import { pvCursor } from "./pv-cursor.js";
import { placeOf } from "./state.js";
import { tileOf } from "./tiles.js";
import { number, unit as unitText } from "./words.js";

/** Space for the axes: left, right, top, bottom. */
const MARGINS = [76, 14, 10, 38];

export class Diagram {
  /**
   * @param {import("./main.js").App} app
   * @param {HTMLElement} place
   */
  constructor(app, place) {
    this.app = app;
    this.place = place;
    this.canvas = make("canvas", { role: "img", "aria-label": "Position–velocity diagram" });
    place.append(this.canvas);
    this.width = 1;
    /** @type {{x: number, y: number, w: number, h: number} | null} where the diagram is on the canvas */
    this.box = null;
    this.cursor = pvCursor(this);
    /** @type {{tile: import("./tiles.js").Tile, step: number, unit: string, path: string} | null} */
    this.found = null;
    this.asking = new Latest((path, signal) => this.load(path, signal), (error) => app.tell(error));
    app.store.on(["regions", "selected", "others", "dataset"], () => this.follow());
    app.store.on(["map", "inverted"], () => this.draw());
    document.addEventListener("themechange", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** The line that is selected, else the newest. */
  line() {
    const { regions, selected } = this.app.store.state;
    const lines = regions.filter((region) => (region.kind === "line" || region.kind === "polyline") && region.values.length);
    return lines.find((region) => region.id === selected) ?? lines.at(-1);
  }

  path() {
    const line = this.line();
    if (!line) return "";
    const values = line.values.map((value) => value.toFixed(2));
    return values.flatMap((x, i) => (i % 2 ? [] : [`${x},${values[i + 1]}`])).join(" ");
  }

  /** Parameters of the diagram, for the picture and for the download. @param {string} path */
  parameters(path) {
    const { dataset, others } = this.app.store.state;
    if (!dataset) return null;
    return { ...placeOf(dataset), others, path, width: this.width };
  }

  follow() {
    this.cursor.refresh();
    if (this.place.hidden) return;
    const path = this.path();
    if (path) this.asking.ask(path);
    else {
      this.asking.stop();
      this.found = null;
      this.draw();
    }
  }

  /** @param {string} path @param {AbortSignal} signal */
  async load(path, signal) {
    const asked = this.parameters(path);
    if (!asked) return;
    const answer = await ask("pv", asked, { signal, view: "pv", doing: "Cutting along the line" });
    const [step, unit] = [Number(answer.headers.get("Pv-Step")), answer.headers.get("Pv-Unit") ?? ""];
    const tile = await tileOf(answer);
    // Offsets on the sky are written in the unit in which a ruler would be.
    const [factor, name] = unit === "deg" ? rulerOf(step * tile.width) : [1, unit];
    this.found = { tile, step: step * factor, unit: name, path };
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.place;
    const context = this.canvas.getContext("2d");
    if (!context || !width || this.place.hidden) return;
    const ratio = devicePixelRatio;
    this.box = null;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    context.scale(ratio, ratio);
    const theme = getComputedStyle(this.place);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = theme.color;
    if (!this.found) {
      context.textAlign = "center";
      context.fillText("Draw a line over the image (L) to cut the cube along it", width / 2, height / 2);
      return;
    }
    const { tile, step, unit } = this.found;
    const [left, right, top, bottom] = MARGINS;
    const box = { x: left, y: top, w: width - left - right, h: height - top - bottom };
    if (box.w < 20 || box.h < 20) return;
    this.box = box;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture(tile), box.x, box.y, box.w, box.h);
    context.strokeStyle = theme.getPropertyValue("--edge").trim();
    context.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);

    context.textAlign = "center";
    for (const value of ticks(0, step * (tile.width - 1), 7)) {
      const x = box.x + ((value / step + 0.5) / tile.width) * box.w;
      context.fillRect(x, box.y + box.h, 1, 4);
      context.fillText(number(value, 4), x, box.y + box.h + 15);
    }
    context.fillText(`Offset (${unit})`, box.x + box.w / 2, height - 6);
    const axis = this.app.dock.spectra.axis;
    if (!axis) return;
    const last = axis.values.length - 1;
    const [first, end] = [axis.values[0], axis.values[last]];
    context.textAlign = "right";
    for (const value of ticks(Math.min(first, end), Math.max(first, end), 5)) {
      // Where channels are not equally wide the nearest one is marked.
      const at = nearest(axis.values, value);
      const y = box.y + box.h - ((at + 0.5) / tile.height) * box.h;
      context.fillRect(box.x - 5, y, 4, 1);
      context.fillText(number(value, 5), box.x - 8, y + 4);
    }
    context.save();
    context.translate(11, box.y + box.h / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(`${axis.name}${axis.unit ? ` (${unitText(axis.unit)})` : ""}`, 0, 0);
    context.restore();
  }

  /** @param {import("./tiles.js").Tile} tile */
  picture(tile) {
    const { map, inverted } = this.app.store.state;
    const made = document.createElement("canvas");
    made.width = tile.width;
    made.height = tile.height;
    const context = made.getContext("2d");
    const cuts = cutsOf(tile.pixels, "99.5");
    if (!context || !cuts) return made;
    const table = colourTable(map, inverted);
    const image = context.createImageData(tile.width, tile.height);
    for (let y = 0; y < tile.height; y++) {
      for (let x = 0; x < tile.width; x++) {
        const value = tile.pixels[y * tile.width + x];
        if (Number.isNaN(value)) continue;
        const t = Math.min(1, Math.max(0, (value - cuts[0]) / (cuts[1] - cuts[0])));
        const at = 4 * Math.round(255 * t);
        image.data.set(table.subarray(at, at + 4), 4 * ((tile.height - 1 - y) * tile.width + x));
      }
    }
    context.putImageData(image, 0, 0);
    return made;
  }
}

/**
 * Return the factor from degrees and the name of the unit for lengths up to some degrees.
 * @param {number} degrees
 * @returns {[number, string]}
 */
function rulerOf(degrees) {
  if (degrees > 3) return [1, "°"];
  return degrees > 3 / 60 ? [60, "arcmin"] : [3600, "arcsec"];
}

/**
 * Return round values between two ends.
 * @param {number} low
 * @param {number} high
 * @param {number} count about how many
 */
export function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((one) => one * power >= raw) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12); i++) found.push(i * step);
  return found;
}

/** @param {number[]} values @param {number} wanted */
function nearest(values, wanted) {
  let best = 0;
  values.forEach((value, i) => {
    if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = i;
  });
  return best;
}
