// The link: the state of the view in the part of the address after "#".

import { parse, textOf } from "./regions.js";

/** @typedef {import("./state.js").State} State */

/** Keys that are text or numbers as they are, with their short names in the link. */
const PLAIN = /** @type {const} */ ({
  ch: "channel", others: "others", map: "map", inv: "inverted", stretch: "stretch", power: "power",
  cuts: "cuts", low: "low", high: "high", bias: "bias", contrast: "contrast", stat: "statistic",
  unit: "spectralUnit", grid: "grid", theme: "theme",
});

/** @param {State} state @param {State} initial values that are left out */
export function linkOf(state, initial) {
  const found = new URLSearchParams();
  found.set("id", state.id);
  if (state.dataset) found.set("hdu", String(state.dataset.hdu));
  const digits = (/** @type {number} */ value) => String(Number(value.toPrecision(7)));
  for (const [short, key] of Object.entries(PLAIN)) {
    const value = state[key];
    const manual = state.cuts === "manual" || (key !== "low" && key !== "high");
    if (value !== initial[key] && value !== null && manual) {
      found.set(short, typeof value === "number" ? digits(value) : String(value));
    }
  }
  if (state.layer.operation !== "channel") {
    const { operation, first, last, threshold } = state.layer;
    found.set("image", [operation, first, last, ...(threshold == null ? [] : [threshold])].join(","));
  }
  if (state.range) found.set("range", state.range.join(","));
  found.set("at", [...state.centre, state.scale].map(digits).join(","));
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
    found.layer = { operation: image[1], first: Number(image[2]), last: Number(image[3]), threshold };
  }
  const range = /^(\d+),(\d+)$/.exec(given.get("range") ?? "");
  if (range) found.range = [Number(range[1]), Number(range[2])];
  const at = (given.get("at") ?? "").split(",").map(Number);
  if (at.length === 3 && at.every(Number.isFinite) && at[2] > 0) {
    found.centre = [at[0], at[1]];
    found.scale = at[2];
  }
  // A link to a file alone leaves the first region to the page.
  if (given.has("at") || given.has("r")) found.regions = given.getAll("r").slice(0, 100).flatMap((text, i) => {
    const [, colour, rest] = /^(\d+):(.*)$/.exec(text) ?? [];
    const region = parse(rest ?? text);
    return region ? [{ ...region, id: i + 1, colour: Number(colour ?? i) }] : [];
  });
  return /** @type {Partial<State>} */ (found);
}
