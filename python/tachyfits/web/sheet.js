// A sheet: a plane of an image as it lies on the screen, and which of its tiles are drawn where.

/** From this level on a first look has one pixel of each block, not its mean: fewer bytes are read. */
const PREVIEWED = 3;

/** @typedef {import("./regions.js").Point} Point */
/** @typedef {import("./api.js").Parameters} Parameters */

/**
 * @typedef {object} Cell a part of the stage, in screen pixels from its upper left
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 */

export class Sheet {
  /**
   * @param {object} of
   * @param {import("./state.js").Dataset} of.dataset
   * @param {Parameters} of.plane
   * @param {number[]} of.matrix a step of a pixel on the screen, by rows: along x, along y
   * @param {number[]} of.origin a FITS pixel
   * @param {number[]} of.at its place in the cell
   */
  constructor({ dataset, plane, matrix, origin, at }) {
    this.dataset = dataset;
    this.plane = plane;
    this.matrix = matrix;
    this.origin = origin;
    this.at = at;
  }

  /** @param {Point} pixel @returns {Point} place in the cell of a FITS pixel */
  toScreen({ x, y }) {
    const [a, b, c, d] = this.matrix;
    const [dx, dy] = [x - this.origin[0], y - this.origin[1]];
    return { x: this.at[0] + a * dx + b * dy, y: this.at[1] + c * dx + d * dy };
  }

  /** @param {number} x @param {number} y @returns {Point} FITS pixel of a place in the cell */
  toImage(x, y) {
    const [a, b, c, d] = this.matrix;
    const [dx, dy] = [x - this.at[0], y - this.at[1]];
    const det = a * d - b * c;
    return { x: this.origin[0] + (d * dx - b * dy) / det, y: this.origin[1] + (a * dy - c * dx) / det };
  }

  /** Screen pixels per image pixel. */
  get scale() {
    const [a, b, c, d] = this.matrix;
    return Math.sqrt(Math.abs(a * d - b * c));
  }

  /** The level at which a pixel of a tile is about one pixel of the screen. */
  level() {
    const wanted = Math.round(-Math.log2(this.scale * (devicePixelRatio || 1)));
    return Math.min(Math.max(0, wanted), this.dataset.levels - 1);
  }

  /**
   * List the tiles of a level that are in a cell, those in the middle first.
   * @param {number} level
   * @param {Cell} cell
   */
  visible(level, { width, height }) {
    const { dataset } = this;
    const span = dataset.tile * 2 ** level;
    const corners = [[0, 0], [width, 0], [0, height], [width, height]].map(([x, y]) => this.toImage(x, y));
    const range = (/** @type {number[]} */ places, /** @type {number} */ length) => [
      Math.max(0, Math.floor((Math.min(...places) - 0.5) / span)),
      Math.min(Math.ceil(length / span) - 1, Math.floor((Math.max(...places) - 0.5) / span)),
    ];
    const [x1, x2] = range(corners.map((at) => at.x), dataset.width);
    const [y1, y2] = range(corners.map((at) => at.y), dataset.height);
    const places = [];
    for (let y = y1; y <= y2; y++) for (let x = x1; x <= x2; x++) places.push({ level, x, y });
    const [cx, cy] = [(x1 + x2) / 2, (y1 + y2) / 2];
    return places.sort((p, q) => Math.hypot(p.x - cx, p.y - cy) - Math.hypot(q.x - cx, q.y - cy));
  }

  /**
   * List the tiles that are needed, the most urgent first.
   * @param {Cell} cell
   * @param {Parameters | null} ahead a plane that an animation shows next
   */
  needed(cell, ahead = null) {
    const { plane } = this;
    const level = this.level();
    const { levels } = this.dataset;
    const places = this.visible(level, cell);
    const tiles = places.map((place) => ({ plane, place }));
    // The whole plane in one tile comes first where it is small: it fills the screen at once.
    if (level < levels - 1 && levels <= 4) tiles.unshift({ plane, place: { level: levels - 1, x: 0, y: 0 } });
    // The server keeps the levels of a map from its first answer on: they come at once.
    if (level >= PREVIEWED && plane.collapse === undefined) {
      tiles.unshift(...places.map((place) => ({ plane: { ...plane, preview: true }, place })));
    }
    if (ahead) tiles.push(...places.map((place) => ({ plane: ahead, place })));
    return tiles;
  }

  /**
   * Return the quads of a plane, coarse ones first, and whether they cover what is in a cell.
   * @param {Parameters} plane
   * @param {import("./tiles.js").Tiles} tiles
   * @param {Cell} cell
   */
  quads(plane, tiles, cell) {
    const { levels } = this.dataset;
    const level = this.level();
    /** @type {Map<string, import("./gl.js").Quad>} */
    const coarse = new Map();
    const fine = [];
    let covered = true;
    for (const place of this.visible(level, cell)) {
      const tile = tiles.find(plane, place);
      if (tile) {
        fine.push(this.quad(tile, place));
        continue;
      }
      const preview = tiles.find({ ...plane, preview: true }, place);
      if (preview) {
        coarse.set(`preview ${place.x} ${place.y}`, this.quad(preview, place));
        continue;
      }
      let isCovered = false;
      for (let up = level + 1; up < levels && !isCovered; up++) {
        const above = { level: up, x: place.x >> (up - level), y: place.y >> (up - level) };
        const larger = tiles.find(plane, above);
        if (larger) {
          coarse.set(`${up} ${above.x} ${above.y}`, this.quad(larger, above));
          isCovered = true;
        }
      }
      covered &&= isCovered;
    }
    return { quads: [...coarse.values(), ...fine], covered };
  }

  /**
   * @param {import("./tiles.js").Tile} tile
   * @param {import("./tiles.js").Place} place
   * @returns {import("./gl.js").Quad}
   */
  quad(tile, { level, x, y }) {
    const { dataset } = this;
    const step = 2 ** level;
    const [left, bottom] = [x * dataset.tile * step, y * dataset.tile * step];
    const right = Math.min(left + tile.width * step, dataset.width);
    const top = Math.min(bottom + tile.height * step, dataset.height);
    return {
      tile,
      corner: this.toScreen({ x: left + 0.5, y: bottom + 0.5 }),
      right: this.toScreen({ x: right + 0.5, y: bottom + 0.5 }),
      top: this.toScreen({ x: left + 0.5, y: top + 0.5 }),
      used: [(right - left) / (tile.width * step), (top - bottom) / (tile.height * step)],
    };
  }
}
