// The link: the state of the view in the part of the address after "#".

import { parse, textOf } from "./regions.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Layer} Layer */

/**
 * @typedef {Omit<Partial<State>, "beside"> & {beside?: (OfBeside | import("./state.js").Beside)[], files?: number}} View what a link holds;
 *   `files`: the number of served files that are shown beside each other
 */

/** @typedef {{id: string, hdu: number | null, channel?: number, others?: string | null, layer?: Layer, look?: Partial<import("./gl.js").Look>}} OfBeside */

/** The version of links that this page writes; it reads those without one, too. */
export const VERSION = 3;

/** Keys that are text or numbers as they are, with their short names in the link. */
const PLAIN = /** @type {const} */ ({
  ch: "channel", others: "others", map: "map", inv: "inverted", stretch: "stretch", power: "power",
  cuts: "cuts", low: "low", high: "high", bias: "bias", contrast: "contrast", stat: "statistic",
  unit: "spectralUnit", rest: "rest", z: "redshift", conv: "convention", frame: "frame", lines: "lines",
  smooth: "smooth", bin: "bin", fitted: "fitted", gauss: "gaussians", base: "baseline", fit: "fitChannels", free: "fitFree", follow: "follow", grid: "grid", bar: "scaleBar", beam: "beam", theme: "theme",
  layout: "layout", place: "place", opacity: "opacity", together: "together", tab: "tab", below: "below",
});

/** Keys of an image beside the others. */
const LOOK = /** @type {const} */ (["map", "inverted", "stretch", "power", "cuts", "low", "high", "bias", "contrast"]);

/** Regions of a link: each asks for a spectrum. */
const MOST_REGIONS = 1000;

/** Parts of a link that may be there several times. */
const REPEATED = ["r", "with", "cat"];

/** Catalogues of a link: each is a request for its points. */
const MOST_CATALOGUES = 20;

/** Largest block of a vector, as the server takes it. */
export const MOST_STEP = 10_000;

/** Parameters of the source of a catalogue, and of its columns. */
const SOURCE = ["catalogue", "table", "service", "cone"];
const COLUMNS = ["longitude", "latitude", "frame"];

/** Parameters of a plane that contours may name. */
const OF = ["id", "hdu", "others", "channel", "collapse", "channels", "unit", "threshold", "rest", "convention"];

/**
 * @param {State} state
 * @param {State} initial values that are left out
 * @param {boolean} hasCuts whether the cuts are chosen already
 */
export function linkOf(state, initial, hasCuts) {
  const found = new URLSearchParams();
  found.set("v", String(VERSION));
  found.set("id", state.id);
  if (state.dataset) found.set("hdu", String(state.dataset.hdu));
  for (const [short, key] of Object.entries(PLAIN)) {
    const value = state[key];
    // Cuts were chosen for one channel, and stay when another is shown.
    const isCut = key === "low" || key === "high";
    if (isCut ? hasCuts : value !== initial[key] && value !== null) found.set(short, String(value));
  }
  putLayer(found, state.layer);
  if (state.range) found.set("range", state.range.join(","));
  if (state.zoom) found.set("zoom", state.zoom.join(","));
  // All digits: lines are drawn at whole pixels of the screen, so rounding would move some.
  found.set("at", [...state.centre, state.scale].join(","));
  if (state.contours) found.set("contours", JSON.stringify(state.contours, (_, value) => value ?? undefined));
  if (state.vectors) found.set("vectors", vectorsText(state.vectors));
  for (const region of state.regions) {
    if (region.values.length) found.append("r", `${region.colour}:${textOf(region)}${wordsOf(region)}`);
  }
  const selected = state.regions.filter(({ values }) => values.length).findIndex(({ id }) => id === state.selected);
  if (selected >= 0) found.set("sel", String(selected + 1));
  for (const image of state.beside) found.append("with", besideText(image, initial));
  for (const catalogue of state.catalogues) found.append("cat", catalogueText(catalogue));
  // Commas and brackets are allowed in a fragment, and read better.
  return found.toString().replace(/%2C/g, ",").replace(/%28/g, "(").replace(/%29/g, ")").replace(/%3A/g, ":").replace(/%2F/g, "/");
}

/** Return the colour and the name of a region after its shape. @param {import("./regions.js").Region} region */
function wordsOf({ paint, name }) {
  return `${paint ? `|${paint}` : ""}${name ? `|=${name.replaceAll("|", "/")}` : ""}`;
}

/**
 * Read a link; what it does not hold, or holds wrongly, keeps its value.
 * @param {string} hash
 * @param {State} initial
 * @returns {View}
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
  const layer = layerOf(given);
  if (layer) found.layer = layer;
  const beside = given.getAll("with").slice(0, 3).flatMap((text) => besideOf(text, initial) ?? []);
  if (beside.length) found.beside = beside;
  found.catalogues = given.getAll("cat").slice(0, MOST_CATALOGUES).flatMap((text) => catalogueOf(text) ?? []);
  const files = Number(given.get("files"));
  if (files > 1) found.files = files;
  const contours = contoursOf(given.get("contours") ?? "");
  if (contours) found.contours = contours;
  found.vectors = vectorsOf(given.get("vectors") ?? "");
  const range = /^(\d+),(\d+)$/.exec(given.get("range") ?? "");
  if (range) found.range = [Number(range[1]), Number(range[2])];
  const at = (given.get("at") ?? "").split(",").map(Number);
  if (at.length === 3 && at.every(Number.isFinite) && at[2] > 0) {
    found.centre = [at[0], at[1]];
    found.scale = at[2];
  }
  // A link to a file alone leaves the first region to the page.
  if (given.has("at") || given.has("r")) found.regions = given.getAll("r").slice(0, MOST_REGIONS).flatMap((text, i) => {
    const [, colour, rest] = /^(\d+):(.*)$/s.exec(text) ?? [];
    const [shape, ...words] = (rest ?? text).split("|");
    const region = parse(shape);
    const paint = words.find((word) => /^#[\da-f]{6}$/i.test(word));
    const name = words.find((word) => word.startsWith("="))?.slice(1, 101);
    return region ? [{ ...region, id: i + 1, colour: Number(colour ?? i), ...(paint ? { paint } : {}), ...(name ? { name } : {}) }] : [];
  });
  if (/^\d+$/.test(given.get("sel") ?? "")) found.selected = Number(given.get("sel"));
  const zoom = (given.get("zoom") ?? "").split(",").map(Number);
  if (zoom.length === 2 && zoom.every(Number.isFinite) && zoom[0] < zoom[1]) found.zoom = zoom;
  return /** @type {View} */ (found);
}

/** The version of a link: 1 for those that name none. @param {string} hash */
export function versionOf(hash) {
  return Number(new URLSearchParams(hash.replace(/^#/, "")).get("v") ?? 1) || 1;
}

/**
 * Return a session as the text of a file: the parts of a link by their names, as JSON.
 * @param {string} hash
 */
export function sessionOf(hash) {
  /** @type {Record<string, string | string[]>} */
  const view = {};
  const link = new URLSearchParams(hash.replace(/^#/, ""));
  for (const key of new Set(link.keys())) {
    if (key === "v" || key === "token") continue;
    const values = link.getAll(key);
    view[key] = REPEATED.includes(key) ? values : values[0];
  }
  return `${JSON.stringify({ program: "tachyfits", session: VERSION, view }, null, 1)}\n`;
}

/**
 * Return the link of a session.
 * @param {string} text of its file
 */
export function hashOf(text) {
  let session;
  try {
    session = JSON.parse(text);
  } catch {
    throw new Error("the file is not a session: expected JSON");
  }
  if (session?.program !== "tachyfits" || typeof session.view !== "object" || session.view === null) {
    throw new Error("the file is not a session of tachyfits: choose one that this page saved");
  }
  if (!(session.session <= VERSION)) {
    throw new Error(`the session has version ${session.session}, and this page reads up to ${VERSION}: update tachyfits`);
  }
  const link = new URLSearchParams({ v: String(session.session) });
  for (const [key, value] of Object.entries(session.view)) {
    for (const one of Array.isArray(value) ? value : [value]) link.append(key, String(one));
  }
  return `#${link}`;
}

/** @param {URLSearchParams} link @param {Layer} layer */
function putLayer(link, { operation, first, last, threshold, along, rest, convention }) {
  if (operation === "channel") return;
  link.set("image", [operation, first, last, ...(threshold == null ? [] : [threshold])].join(","));
  if (along) link.set("along", along);
  if (rest) link.set("about", rest);
  if (convention) link.set("as", convention);
}

/** @param {URLSearchParams} link @returns {Layer | null} */
function layerOf(link) {
  const image = /^(\w+),(\d+),(\d+)(?:,([-+.\de]+))?$/.exec(link.get("image") ?? "");
  if (!image) return null;
  const threshold = image[4] === undefined || !Number.isFinite(Number(image[4])) ? null : Number(image[4]);
  return { operation: image[1], first: Number(image[2]), last: Number(image[3]), threshold, along: link.get("along"), rest: link.get("about"), convention: link.get("as") };
}

/** An image beside the others as a link of its own. @param {import("./state.js").Beside} image @param {State} initial */
function besideText({ dataset, channel, others, layer, look }, initial) {
  const link = new URLSearchParams({ id: dataset.id, hdu: String(dataset.hdu), ch: String(channel) });
  if (others) link.set("others", others);
  putLayer(link, layer);
  for (const key of LOOK) if (look[key] !== initial[key] || key === "low" || key === "high") link.set(key, String(look[key]));
  return link.toString();
}

/** @param {string} text @param {State} initial @returns {OfBeside | null} */
function besideOf(text, initial) {
  const link = new URLSearchParams(text);
  const id = link.get("id");
  if (!id) return null;
  /** @type {Record<string, unknown>} */
  const look = {};
  for (const key of LOOK) {
    const value = link.get(key);
    if (value === null) continue;
    if (typeof initial[key] === "boolean") look[key] = value === "true";
    else if (typeof initial[key] === "string") look[key] = value;
    else if (Number.isFinite(Number(value))) look[key] = Number(value);
  }
  const whole = (/** @type {string} */ key) => (/^\d+$/.test(link.get(key) ?? "") ? Number(link.get(key)) : undefined);
  return { id, hdu: whole("hdu") ?? null, channel: whole("ch"), others: link.get("others") ?? undefined, layer: layerOf(link) ?? undefined, look };
}

/** A catalogue as a link of its own. @param {import("./state.js").CatalogueOf} catalogue */
function catalogueText({ source, name, colour, shown, columns, where, selected, current }) {
  const link = new URLSearchParams();
  const values = { ...source, ...columns, name, colour, hidden: shown ? null : true, where: where || null, row: selected, current: current || null };
  for (const [key, value] of Object.entries(values)) if (value !== null && value !== undefined) link.set(key, String(value));
  return link.toString();
}

/** @param {string} text @returns {import("./state.js").CatalogueOf | null} null without a source */
function catalogueOf(text) {
  const link = new URLSearchParams(text);
  const parts = (/** @type {string[]} */ keys) => Object.fromEntries(keys.flatMap((key) => (link.has(key) ? [[key, link.get(key)]] : [])));
  const source = parts(SOURCE);
  if (!source.catalogue && !source.service) return null;
  const colour = link.get("colour") ?? "";
  const row = link.get("row") ?? "";
  return {
    source,
    name: (link.get("name") ?? String(source.catalogue ?? source.service)).slice(0, 100),
    colour: /^#[\da-f]{6}$/i.test(colour) ? colour : "#39d0d8",
    shown: !link.has("hidden"),
    columns: parts(COLUMNS),
    where: link.get("where") ?? "",
    selected: /^\d+$/.test(row) ? Number(row) : null,
    current: link.has("current"),
  };
}

/** The vectors of polarisation: "8", or "8,0.5" with the least intensity. @param {import("./state.js").VectorsOf} vectors */
function vectorsText({ step, least }) {
  return [step, ...(least === null ? [] : [least])].join(",");
}

/** @param {string} text @returns {import("./state.js").VectorsOf | null} null for none, or for an invalid text */
function vectorsOf(text) {
  const [step, least] = /^\d+(,[-+.\de]+)?$/.test(text) ? text.split(",").map(Number) : [0];
  if (step < 1 || step > MOST_STEP) return null;
  return { step, least: least >= 0 && Number.isFinite(least) ? least : null };
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
