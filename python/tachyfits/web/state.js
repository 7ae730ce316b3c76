// The state of the page: one object, changed by `set`, with listeners for its keys.

/**
 * @typedef {object} Dataset what /api/v1/dataset says
 * @property {string} id
 * @property {number} hdu
 * @property {string} version
 * @property {string | null} object
 * @property {string | null} unit
 * @property {number | null} redshift of the source, as the header has it
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
 *   spectral: boolean, stokes: string[] | null}[]} axes
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
 * @property {string | null} [rest] rest frequency of velocities in moments, null for the header's
 * @property {string | null} [convention] of these velocities, null for that of the axis
 * @property {string | null} [unit] of the values, where it is not that of the pixels
 */

/**
 * @typedef {object} Contours
 * @property {number[]} levels
 * @property {string} colour
 * @property {import("./api.js").Parameters} of the plane; with an id if it is of another image
 */

/**
 * @typedef {object} Beside an image beside the one that the page's tools work on
 * @property {number} key names it while the page is open
 * @property {Dataset} dataset
 * @property {number} channel
 * @property {string | null} others
 * @property {Layer} layer
 * @property {import("./gl.js").Look & {cuts: string}} look
 */

/**
 * @typedef {object} CatalogueOf a catalogue over the image, as links restore it
 * @property {import("./api.js").Parameters} source catalogue and table, or service and cone
 * @property {string} name
 * @property {string} colour #rrggbb
 * @property {boolean} shown
 * @property {import("./api.js").Parameters} columns longitude, latitude and frame, where people chose them
 * @property {string} where condition of rows
 * @property {number | null} selected a row of the table
 * @property {boolean} current whether its rows are listed
 */

/**
 * @typedef {object} VectorsOf the vectors of polarisation over the image, as links restore them
 * @property {number} step pixels along each side of a block, which has one vector
 * @property {number | null} least intensity of a vector, null for any
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
 * @property {string} rest rest frequency or wavelength of velocities, "" for the header's
 * @property {string} redshift of the lines, "" for 0
 * @property {string} convention of velocities, "" for that of the axis
 * @property {string} frame reference frame of the axis, "" for the header's
 * @property {string} lines groups of lines over the spectrum, with commas between
 * @property {number} smooth width of the Gaussian that smooths spectra, in channels; 0: none
 * @property {number} bin channels that are averaged to one in spectra
 * @property {boolean} fitted whether the spectrum of a region is fitted
 * @property {number} gaussians of the fit
 * @property {string} baseline order of the baseline of the fit, "" without one
 * @property {string} fitChannels channels of the fit: "10:40,60:80"
 * @property {string} fitFree line-free channels, for the noise
 * @property {number[] | null} range channels selected on the spectrum
 * @property {boolean} follow show the spectrum under the cursor
 * @property {Contours | null} contours
 * @property {VectorsOf | null} vectors null: they are not shown
 * @property {boolean} grid
 * @property {boolean} scaleBar
 * @property {boolean} beam
 * @property {string} theme "light", "dark" or "" for the system's
 * @property {string} tab of the panel
 * @property {string} below what is below the image: "spectrum" or "pv"
 * @property {number[] | null} zoom part of the axis that the chart shows, in its unit; null for all
 * @property {Beside[]} beside the other images, in the order of their cells
 * @property {number} place of this image among the cells, from 0
 * @property {string} layout "side", "blink", "over" or "rgb"
 * @property {number} opacity of the images that lie over this one
 * @property {boolean} together channels of the other images follow by the spectral coordinate
 * @property {CatalogueOf[]} catalogues over the image
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
  rest: "",
  redshift: "",
  convention: "",
  frame: "",
  lines: "",
  smooth: 0,
  bin: 1,
  fitted: false,
  gaussians: 1,
  baseline: "",
  fitChannels: "",
  fitFree: "",
  range: null,
  follow: true,
  contours: null,
  vectors: null,
  grid: false,
  scaleBar: true,
  beam: true,
  theme: "",
  tab: "image",
  below: "spectrum",
  zoom: null,
  beside: [],
  place: 0,
  layout: "side",
  opacity: 0.5,
  together: true,
  catalogues: [],
};

/**
 * Return the parameters that all requests about an image have.
 * @param {Dataset} dataset
 */
export function placeOf({ id, hdu, version }) {
  return { id, hdu, version };
}

/**
 * Return the parameters that all tiles of the plane of an image have.
 * @param {{dataset: Dataset, channel: number, others: string | null, layer: Layer}} image
 * @returns {import("./api.js").Parameters}
 */
export function planeOf({ dataset, channel, others, layer }) {
  const common = { ...placeOf(dataset), others };
  return layer.operation === "channel" ? { ...common, channel } : { ...common, ...collapseOf(layer) };
}

/**
 * Return how values become colours, as a value of its own.
 * @param {import("./gl.js").Look & {cuts: string}} look
 */
export function lookOf({ map, inverted, stretch, power, low, high, bias, contrast, cuts }) {
  return { map, inverted, stretch, power, low, high, bias, contrast, cuts };
}

/**
 * Return the parameters of an image made from a range of channels.
 * @param {Layer} layer
 */
export function collapseOf({ operation, first, last, along, threshold, rest, convention }) {
  const about = along ? { rest: rest || null, convention: convention || null } : {};
  return { collapse: operation, channels: `${first}:${last}`, unit: along ?? null, threshold: threshold ?? null, ...about };
}

/** Is this a unit of velocity? @param {string | null | undefined} unit */
export function isVelocity(unit) {
  return /^k?m(\/s| s-1)$/.test(unit ?? "");
}

/**
 * Return the parameters of the spectral axis as it is shown: unit, line and frame.
 * @param {State} state
 */
export function axisOf({ dataset, spectralUnit, rest, redshift, convention, frame }) {
  const own = dataset?.coordinates.spectral?.unit ?? null;
  const unit = spectralUnit === "channel" ? null : spectralUnit || null;
  const isAbout = isVelocity(unit ?? own) && Boolean(rest || redshift || convention);
  const about = isAbout ? { rest: rest || null, redshift: redshift || null, convention: convention || null } : {};
  return { unit: unit ?? (isAbout ? own : null), ...about, frame: frame || null };
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
