// The link: the state of the view in the part of the address after "#".

import { parse, textOf } from "./regions.js";

/** @typedef {import("./state.js").State} State */

/** Keys that are text or numbers as they are, with their short names in the link. */
const PLAIN = /** @type {const} */ ({
  ch: "channel", others: "others", map: "map", inv: "inverted", stretch: "stretch", power: "power",
  cuts: "cuts", low: "low", high: "high", bias: "bias", contrast: "contrast", stat: "statistic",
  unit: "spectralUnit", follow: "follow", grid: "grid", bar: "scaleBar", beam: "beam", theme: "theme",
});

/** Regions of a link: each asks for a spectrum. */
const MOST_REGIONS = 1000;

/** Parameters of a plane that contours may name. */
const OF = ["id", "hdu", "others", "channel", "collapse", "channels", "unit", "threshold"];

/**
 * @param {State} state
 * @param {State} initial values that are left out
 * @param {boolean} hasCuts whether the cuts are chosen already
 */
export function linkOf(state, initial, hasCuts) {
  const found = new URLSearchParams();
  found.set("id", state.id);
  if (state.dataset) found.set("hdu", String(state.dataset.hdu));
  for (const [short, key] of Object.entries(PLAIN)) {
    const value = state[key];
    // Cuts were chosen for one channel, and stay when another is shown.
    const isCut = key === "low" || key === "high";
    if (isCut ? hasCuts : value !== initial[key] && value !== null) found.set(short, String(value));
  }
  if (state.layer.operation !== "channel") {
    const { operation, first, last, threshold } = state.layer;
    found.set("image", [operation, first, last, ...(threshold == null ? [] : [threshold])].join(","));
    if (state.layer.along) found.set("along", state.layer.along);
  }
  if (state.range) found.set("range", state.range.join(","));
  found.set("at", [...state.centre, state.scale].map((value) => Number(value.toPrecision(10))).join(","));
  if (state.contours) found.set("contours", JSON.stringify(state.contours, (_, value) => value ?? undefined));
  for (const region of state.regions) {
    if (region.values.length) found.append("r", `${region.colour}:${textOf(region)}`);
  }
  // Commas and brackets are allowed in a fragment, and read better.
  return found.toString().replace(/%2C/g, ",").replace(/%28/g, "(").replace(/%29/g, ")").replace(/%3A/g, ":").replace(/%2F/g, "/");
}

/**
 * Read a link; what it does not hold, or holds wrongly, keeps its value.
 * @param {string} hash
 * @param {State} initial
 * @returns {Partial<State>}
 */
export function stateOf(hash, initial) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  /** @type {Record<string, unknown>} */
  const found = {};
  const id = given.get("id");
  if (id) found.id = id;
  if (/^\d+$/.test(given.get("hdu") ?? "")) found.hdu = Number(given.get("hdu"));
  for (const [short, key] of Object.entries(PLAIN)) {
    const text = given.get(short);
    if (text === null) continue;
    if (typeof initial[key] === "boolean") found[key] = text === "true";
    else if (typeof initial[key] !== "number") found[key] = text;
    else if (Number.isFinite(Number(text))) found[key] = Number(text);
  }
  const image = /^(\w+),(\d+),(\d+)(?:,([-+.\de]+))?$/.exec(given.get("image") ?? "");
  if (image) {
    const threshold = image[4] === undefined || !Number.isFinite(Number(image[4])) ? null : Number(image[4]);
    found.layer = { operation: image[1], first: Number(image[2]), last: Number(image[3]), threshold, along: given.get("along") };
  }
  const contours = contoursOf(given.get("contours") ?? "");
  if (contours) found.contours = contours;
  const range = /^(\d+),(\d+)$/.exec(given.get("range") ?? "");
  if (range) found.range = [Number(range[1]), Number(range[2])];
  const at = (given.get("at") ?? "").split(",").map(Number);
  if (at.length === 3 && at.every(Number.isFinite) && at[2] > 0) {
    found.centre = [at[0], at[1]];
    found.scale = at[2];
  }
  // A link to a file alone leaves the first region to the page.
  if (given.has("at") || given.has("r")) found.regions = given.getAll("r").slice(0, MOST_REGIONS).flatMap((text, i) => {
    const [, colour, rest] = /^(\d+):(.*)$/.exec(text) ?? [];
    const region = parse(rest ?? text);
    return region ? [{ ...region, id: i + 1, colour: Number(colour ?? i) }] : [];
  });
  return /** @type {Partial<State>} */ (found);
}

/**
 * Read the contours of a link; null where it has none, or others than this page writes.
 * @param {string} text
 * @returns {import("./state.js").Contours | null}
 */
function contoursOf(text) {
  try {
    const { levels, colour, of } = JSON.parse(text);
    const isList = Array.isArray(levels) && levels.length > 0 && levels.length <= 50 && levels.every(Number.isFinite);
    if (!isList || !/^#[\da-f]{6}$/i.test(colour) || typeof of !== "object" || of === null) return null;
    const known = Object.entries(of).filter(([key, value]) => OF.includes(key) && ["string", "number"].includes(typeof value));
    return { levels, colour, of: Object.fromEntries(known) };
  } catch {
    return null;
  }
}
