// The state of the page: one object, changed by `set`, with listeners for its keys.

/**
 * @typedef {object} Dataset what /api/v1/dataset says
 * @property {string} id
 * @property {number} hdu
 * @property {string} version
 * @property {string | null} object
 * @property {string | null} unit
 * @property {string} dtype
 * @property {number[]} naxis
 * @property {number} width
 * @property {number} height
 * @property {number} channels
 * @property {number} tile
 * @property {number} levels
 * @property {number} readable_channels channels that the file has whole: fewer if it is truncated
 * @property {string[]} problems what of the image is missing or cannot be used
 * @property {number} collapse_level the lowest level at which a map is one answer
 * @property {{fits: number, length: number, ctype: string, name: string, unit: string | null,
 *   spectral: boolean}[]} axes
 * @property {{sky: null | {frame: string, scale: number[], longitude: number, latitude: number},
 *   beam: null | {major: number, minor: number, angle: number},
 *   spectral: null | {name: string, unit: string | null}}} coordinates
 * @property {{hdu: number, name: string, naxis: number[]}[]} images
 */

/**
 * @typedef {object} Layer what the image shows: a channel, or an image made from a range of them
 * @property {string} operation "channel", or a statistic of the server: "moment0", "mean", ...
 * @property {number} first
 * @property {number} last
 * @property {number | null} [threshold] pixels below it are left out
 * @property {string | null} [along] unit of the spectral axis in moments, null for that of the file
 * @property {string | null} [unit] of the values, where it is not that of the pixels
 */

/**
 * @typedef {object} Contours
 * @property {number[]} levels
 * @property {string} colour
 * @property {import("./api.js").Parameters} of the plane; with an id if it is of another image
 */

/** @type {Layer} */
export const CHANNEL = { operation: "channel", first: 1, last: 1 };

/**
 * @typedef {object} State
 * @property {string} id
 * @property {number | null} hdu
 * @property {Dataset | null} dataset
 * @property {number} channel the wanted channel, from 1
 * @property {string | null} others pixels of the axes after the spectral one
 * @property {Layer} layer
 * @property {number[]} centre FITS pixel in the middle of the screen
 * @property {number} scale screen pixels per image pixel
 * @property {string} map
 * @property {boolean} inverted
 * @property {string} stretch
 * @property {number} power exponent of the stretch "power"
 * @property {string} cuts "99.5", "zscale", "minmax" or "manual"
 * @property {number} low
 * @property {number} high
 * @property {number} bias
 * @property {number} contrast
 * @property {string} tool
 * @property {import("./regions.js").Region[]} regions
 * @property {number | null} selected id of a region
 * @property {string} statistic of spectra
 * @property {string} spectralUnit "" for the file's, "channel" for numbers
 * @property {number[] | null} range channels selected on the spectrum
 * @property {boolean} follow show the spectrum under the cursor
 * @property {Contours | null} contours
 * @property {boolean} grid
 * @property {boolean} scaleBar
 * @property {boolean} beam
 * @property {string} theme "light", "dark" or "" for the system's
 */

/** @type {State} */
const INITIAL = {
  id: "",
  hdu: null,
  dataset: null,
  channel: 1,
  others: null,
  layer: CHANNEL,
  centre: [1, 1],
  scale: 0,
  map: "inferno",
  inverted: false,
  stretch: "linear",
  power: 2,
  cuts: "99.5",
  low: 0,
  high: 1,
  bias: 0.5,
  contrast: 1,
  tool: "pan",
  regions: [],
  selected: null,
  statistic: "mean",
  spectralUnit: "",
  range: null,
  follow: true,
  contours: null,
  grid: false,
  scaleBar: true,
  beam: true,
  theme: "",
};

/**
 * Return the parameters that all requests about an image have.
 * @param {Dataset} dataset
 */
export function placeOf({ id, hdu, version }) {
  return { id, hdu, version };
}

/**
 * Return the parameters of an image made from a range of channels.
 * @param {Layer} layer
 */
export function collapseOf({ operation, first, last, along, threshold }) {
  return { collapse: operation, channels: `${first}:${last}`, unit: along ?? null, threshold: threshold ?? null };
}

/**
 * Return the first pixel of the axes after the spectral one, as a parameter; null without any.
 * @param {Dataset} dataset
 */
export function firstOthers({ axes }) {
  return axes.length > 3 ? axes.slice(3).map(() => 1).join(",") : null;
}

/**
 * Return the channels that a file has whole, as a parameter; null for all.
 * @param {Dataset} dataset
 */
export function readable({ channels, readable_channels: count }) {
  return count > 0 && count < channels ? `1:${count}` : null;
}

/** The state, and the listeners of its keys. */
export class Store {
  constructor() {
    /** @type {State} */
    this.state = { ...INITIAL };
    /** @type {{keys: (keyof State)[], call: () => void}[]} */
    this.listeners = [];
  }

  /**
   * Call a function after one of some keys changed.
   * @param {(keyof State)[]} keys
   * @param {() => void} call
   */
  on(keys, call) {
    this.listeners.push({ keys, call });
  }

  /** @param {Partial<State>} changes */
  set(changes) {
    /** @type {Set<string>} */
    const changed = new Set();
    for (const [key, value] of Object.entries(changes)) {
      const name = /** @type {keyof State} */ (key);
      if (this.state[name] !== value) changed.add(name);
    }
    Object.assign(this.state, changes);
    for (const { keys, call } of this.listeners) {
      if (keys.some((key) => changed.has(key))) call();
    }
  }
}
