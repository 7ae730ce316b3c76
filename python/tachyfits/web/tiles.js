// Tiles: asking the server for parts of a plane, decoding them and keeping the newest.

import { ask, isStale } from "./api.js";

/** Codes of quantised pixels that mean NaN. */
const NAN_CODE = -(2 ** 31);

/** Requests at a time: two connections of a browser's six stay free for spectra and pixels. */
const AT_A_TIME = 4;

/** Tiles that are kept, of at most 256 KiB each. */
const KEPT = 600;

/**
 * @typedef {object} Tile
 * @property {number} width
 * @property {number} height
 * @property {Float32Array} pixels rows from the lowest
 * @property {number} error largest difference from the pixels of the file
 * @property {number} used when it was drawn last
 */

/**
 * @typedef {object} Place where a tile lies: its level, column and row
 * @property {number} level
 * @property {number} x
 * @property {number} y
 */

/**
 * Decode the body of a tile: four planes of bytes, the lowest first, of float32 or of differences
 * of 32-bit codes along each row.
 * @param {Uint8Array} bytes
 * @param {number} width
 * @param {number} height
 * @param {number} step 0 for float32
 * @param {number} zero
 */
export function decode(bytes, width, height, step, zero) {
  const count = width * height;
  if (bytes.length !== 4 * count) {
    throw new Error(`invalid tile: expected ${4 * count} bytes, found ${bytes.length}`);
  }
  const codes = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    codes[i] =
      bytes[i] | (bytes[count + i] << 8) | (bytes[2 * count + i] << 16) | (bytes[3 * count + i] << 24);
  }
  if (step === 0) return new Float32Array(codes.buffer);
  const pixels = new Float32Array(count);
  for (let y = 0, i = 0; y < height; y++) {
    let code = 0;
    for (let x = 0; x < width; x++, i++) {
      code = (code + codes[i]) | 0;
      pixels[i] = code === NAN_CODE ? NaN : zero + code * step;
    }
  }
  return pixels;
}

/**
 * Read a tile from an answer of the server.
 * @param {Response} answer
 * @returns {Promise<Tile>}
 */
export async function tileOf(answer) {
  const number = (/** @type {string} */ name) => Number(answer.headers.get(`Tile-${name}`));
  const [width, height] = [number("Width"), number("Height")];
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const pixels = decode(bytes, width, height, number("Step"), number("Zero"));
  return { width, height, pixels, error: number("Error"), used: 0 };
}

/** Tiles by the text of their request. */
export class Tiles {
  /**
   * @param {() => void} arrived
   * @param {(error: unknown) => void} failed
   * @param {(tile: Tile) => void} dropped
   */
  constructor(arrived, failed, dropped) {
    this.arrived = arrived;
    this.failed = failed;
    this.dropped = dropped;
    /** @type {Map<string, Tile>} */
    this.kept = new Map();
    /** @type {Map<string, AbortController>} */
    this.asked = new Map();
    /** @type {Map<string, import("./api.js").Parameters>} in the order of need */
    this.wanted = new Map();
    /** @type {Set<string>} */
    this.broken = new Set();
    this.clock = 0;
  }

  /**
   * Return a tile if it is here.
   * @param {import("./api.js").Parameters} plane parameters of all tiles of a plane
   * @param {Place} place
   */
  find(plane, place) {
    const found = this.kept.get(keyOf(plane, place));
    if (found) found.used = ++this.clock;
    return found;
  }

  /**
   * Name the tiles that are needed now, the most urgent first. Others are no longer asked for.
   * @param {{plane: import("./api.js").Parameters, place: Place}[]} needed
   */
  need(needed) {
    this.wanted.clear();
    for (const { plane, place } of needed) {
      const key = keyOf(plane, place);
      if (!this.kept.has(key) && !this.broken.has(key)) {
        this.wanted.set(key, { ...plane, ...place });
      }
    }
    for (const [key, controller] of this.asked) {
      if (!this.wanted.has(key)) controller.abort();
    }
    this.pump();
  }

  /** Number of tiles that are on their way. */
  get waiting() {
    return this.wanted.size;
  }

  pump() {
    for (const [key, parameters] of this.wanted) {
      if (this.asked.size >= AT_A_TIME) return;
      if (!this.asked.has(key)) void this.load(key, parameters);
    }
  }

  /**
   * @param {string} key
   * @param {import("./api.js").Parameters} parameters
   */
  async load(key, parameters) {
    const controller = new AbortController();
    this.asked.set(key, controller);
    try {
      const options = { signal: controller.signal, doing: "Reading the image" };
      this.keep(key, await tileOf(await ask("tile", parameters, options)));
    } catch (error) {
      if (!isStale(error)) {
        this.broken.add(key);
        this.failed(error);
      }
    } finally {
      this.asked.delete(key);
      if (this.kept.has(key) || this.broken.has(key)) this.wanted.delete(key);
      this.arrived();
      this.pump();
    }
  }

  /**
   * @param {string} key
   * @param {Tile} tile
   */
  keep(key, tile) {
    tile.used = ++this.clock;
    this.kept.set(key, tile);
    if (this.kept.size <= KEPT) return;
    const oldest = [...this.kept].sort((a, b) => a[1].used - b[1].used).slice(0, KEPT / 10);
    for (const [old, gone] of oldest) {
      this.kept.delete(old);
      this.dropped(gone);
    }
  }

  /** Ask again for tiles that failed. */
  retry() {
    this.broken.clear();
  }
}

/**
 * @param {import("./api.js").Parameters} plane
 * @param {Place} place
 */
function keyOf(plane, place) {
  return `${JSON.stringify(plane)} ${place.level} ${place.x} ${place.y}`;
}
