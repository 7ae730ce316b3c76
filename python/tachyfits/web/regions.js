// Regions: shapes in FITS pixels (the centre of the first pixel is 1, 1), their text, their outline,
// and what dragging them does.

/**
 * @typedef {object} Region
 * @property {number} id
 * @property {string} kind a key of `KINDS`
 * @property {number[]} values as in the text of a region: circle(x,y,r), ellipse(x,y,a,b,angle),
 *   box(x,y,width,height,angle), annulus(x,y,r1,r2), ellipse(x,y,a1,b1,a2,b2,angle) for the kind
 *   "ring", polygon(x1,y1,...), point(x,y), line(x1,y1,x2,y2)
 * @property {number} colour index
 * @property {string} [name] given by people, or by a region file
 * @property {string} [paint] #rrggbb, in place of the colour of the index
 */

/** @typedef {{x: number, y: number}} Point */

/** Kinds with a name for people. */
export const KINDS = {
  circle: "Circle",
  ellipse: "Ellipse",
  box: "Box",
  annulus: "Annulus",
  ring: "Elliptical annulus",
  polygon: "Polygon",
  point: "Point",
  line: "Line",
  polyline: "Polyline",
};

/** What a region is called. @param {Region} region */
export function titleOf({ id, kind, name }) {
  return name || `${KINDS[/** @type {keyof typeof KINDS} */ (kind)]} ${id}`;
}

/** Colours over the image; each has a dark outline, so all are seen on any colour map. */
const COLOURS = ["#58a6ff", "#ffa657", "#3fd68f", "#ff7b93", "#c297ff", "#ffdf5d", "#39d0d8", "#f778ba"];

/** Colours of lines on white paper, with a contrast of at least 4.5. */
const DARK_COLOURS = ["#0b62c4", "#a4520b", "#116b3f", "#b8203f", "#6f3ad1", "#7a5d00", "#0a6a73", "#a92a72"];

/**
 * Return the colour of a region.
 * @param {{colour: number, paint?: string}} region
 * @param {boolean} onWhite
 */
export function colourOf(region, onWhite) {
  if (region.paint) return region.paint;
  const colours = onWhite ? DARK_COLOURS : COLOURS;
  return colours[region.colour % colours.length];
}

/**
 * Return a region as the server reads it, with all digits, so that the server measures the region drawn.
 * @param {Region} region
 */
export function textOf({ kind, values }) {
  const word = kind === "ring" ? "ellipse" : kind === "polyline" ? "line" : kind;
  return `${word}(${values.join(",")})`;
}

/** Return values with three decimals, as a drag sets them. @param {number[]} values */
export function rounded(values) {
  return values.map((value) => Math.round(value * 1000) / 1000);
}

/** How many numbers the text of a kind has. @type {Record<string, number[]>} */
const COUNTS = { circle: [3], ellipse: [4, 5, 6, 7], box: [4, 5], annulus: [4], point: [2], line: [4] };

/**
 * Read a region from its text; null for text in another form.
 * @param {string} text
 * @returns {{kind: string, values: number[]} | null}
 */
export function parse(text) {
  const found = /^\s*([a-z]+)\s*\(([^()]*)\)\s*$/i.exec(text);
  if (!found) return null;
  let kind = found[1].toLowerCase();
  const words = found[2].split(",");
  const values = words.map(Number);
  if (kind === "line" && values.length > 4 && values.length % 2 === 0) kind = "polyline";
  const fits = kind === "polyline" ? values.length > 4 : kind === "polygon" ? values.length >= 6 && values.length % 2 === 0 : COUNTS[kind]?.includes(values.length);
  if (!fits || !values.every(Number.isFinite) || !words.every((word) => word.trim())) return null;
  // The angle of boxes and ellipses may be left out.
  if ((kind === "box" && values.length === 4) || (kind === "ellipse" && values.length % 2 === 0)) values.push(0);
  if (kind === "ellipse" && values.length === 7) kind = "ring";
  return problemOf({ kind, values }) ? null : { kind, values };
}

/**
 * Return what is wrong with the sizes of a region, as the server has it; "" if nothing is.
 * @param {{kind: string, values: number[]}} region
 */
export function problemOf({ kind, values: v }) {
  /** @type {Record<string, number[]>} */
  const sizes = { circle: [2], ellipse: [2, 3], box: [2, 3], annulus: [2, 3], ring: [2, 3, 4, 5] };
  if (!v.every(Number.isFinite)) return "expected a number";
  if (sizes[kind]?.some((i) => v[i] < 0)) return "expected 0 or more";
  return kind === "annulus" && v[2] >= v[3] ? "expected the inner radius below the outer one" : "";
}

/** Are its values the places of corners? @param {string} kind */
export function isPath(kind) {
  return kind === "polygon" || kind === "line" || kind === "polyline";
}

/** Can a spectrum be taken over it? @param {Region} region */
export function hasArea(region) {
  return region.kind !== "line" && region.kind !== "polyline";
}

/**
 * Turn a vector by an angle in degrees, counter-clockwise.
 * @param {number} x
 * @param {number} y
 * @param {number} angle
 * @returns {Point}
 */
function turned(x, y, angle) {
  const [c, s] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  return { x: c * x - s * y, y: s * x + c * y };
}

/**
 * Return the points of an ellipse, closed.
 * @param {number} x
 * @param {number} y
 * @param {number} a
 * @param {number} b
 * @param {number} angle
 * @returns {Point[]}
 */
function ellipse(x, y, a, b, angle) {
  return Array.from({ length: 73 }, (_, i) => {
    const at = turned(a * Math.cos((i * Math.PI) / 36), b * Math.sin((i * Math.PI) / 36), angle);
    return { x: x + at.x, y: y + at.y };
  });
}

/** Return pairs of numbers as points. @param {number[]} v @returns {Point[]} */
function pairs(v) {
  return Array.from({ length: Math.floor(v.length / 2) }, (_, i) => ({ x: v[2 * i], y: v[2 * i + 1] }));
}

/**
 * Return the lines of the outline, the outer one first; each is closed where the shape is.
 * @param {{kind: string, values: number[]}} region
 * @returns {Point[][]}
 */
export function outlines({ kind, values: v }) {
  const [x, y] = v;
  if (kind === "circle") return [ellipse(x, y, v[2], v[2], 0)];
  if (kind === "ellipse") return [ellipse(x, y, v[2], v[3], v[4])];
  if (kind === "annulus") return [ellipse(x, y, v[3], v[3], 0), ellipse(x, y, v[2], v[2], 0)];
  if (kind === "ring") return [ellipse(x, y, v[4], v[5], v[6]), ellipse(x, y, v[2], v[3], v[6])];
  if (kind === "box") {
    return [[[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]].map(([i, j]) => {
      const at = turned((i * v[2]) / 2, (j * v[3]) / 2, v[4]);
      return { x: x + at.x, y: y + at.y };
    })];
  }
  const points = pairs(v);
  return [kind === "polygon" ? [...points, points[0]] : points];
}

/**
 * Return the points by which a region is resized.
 * @param {Region} region
 * @returns {Point[]}
 */
export function handles({ kind, values: v }) {
  const from = (/** @type {Point} */ at) => ({ x: v[0] + at.x, y: v[1] + at.y });
  if (kind === "circle") return [from({ x: v[2], y: 0 })];
  if (kind === "annulus") return [from({ x: v[2], y: 0 }), from({ x: v[3], y: 0 })];
  if (kind === "ellipse") return [from(turned(v[2], 0, v[4])), from(turned(0, v[3], v[4]))];
  if (kind === "ring") {
    return [from(turned(v[2], 0, v[6])), from(turned(0, v[3], v[6])), from(turned(v[4], 0, v[6])), from(turned(0, v[5], v[6]))];
  }
  if (kind === "box") {
    return [
      from(turned(v[2] / 2, v[3] / 2, v[4])),
      from(turned(v[2] / 2, 0, v[4])),
    ];
  }
  return isPath(kind) ? pairs(v) : [];
}

/** Return the middle of a region, by which a finger moves it. @param {Region} region @returns {Point} */
export function middle({ kind, values }) {
  if (!isPath(kind)) return { x: values[0], y: values[1] };
  const points = pairs(values);
  const mean = (/** @type {"x" | "y"} */ name) => points.reduce((sum, at) => sum + at[name], 0) / points.length;
  return { x: mean("x"), y: mean("y") };
}

/** The least size of a side or a radius, and of the space between two. */
const LEAST = 0.5;

/**
 * Return the values after a handle was dragged to a point.
 * @param {Region} region
 * @param {number} handle
 * @param {Point} to
 */
export function resized({ kind, values }, handle, to) {
  const v = [...values];
  const [dx, dy] = [to.x - v[0], to.y - v[1]];
  const far = Math.max(LEAST, Math.hypot(dx, dy));
  const angle = (Math.atan2(dy, dx) * 180) / Math.PI;
  /** Keep a size of a ring inside, or outside, the other. @param {number} at @param {number} other */
  const apart = (at, other) => (at < other ? Math.min(far, v[other] - LEAST) : Math.max(far, v[other] + LEAST));
  if (kind === "circle") v[2] = far;
  if (kind === "annulus") v[2 + handle] = apart(2 + handle, 3 - handle);
  if (kind === "ellipse") {
    v[2 + handle] = far;
    v[4] = angle - 90 * handle;
  }
  if (kind === "ring") {
    v[2 + handle] = apart(2 + handle, 2 + ((handle + 2) % 4));
    v[6] = angle - 90 * (handle % 2);
  }
  if (kind === "box" && handle === 0) {
    const at = turned(dx, dy, -v[4]);
    v[2] = Math.max(1, 2 * Math.abs(at.x));
    v[3] = Math.max(1, 2 * Math.abs(at.y));
  }
  if (kind === "box" && handle === 1) v[4] = angle;
  if (isPath(kind)) {
    v[2 * handle] = to.x;
    v[2 * handle + 1] = to.y;
  }
  return rounded(v);
}

/**
 * Return the values after a region was moved.
 * @param {Region} region
 * @param {number} dx
 * @param {number} dy
 */
export function moved({ kind, values }, dx, dy) {
  const count = isPath(kind) ? values.length : 2;
  // Sizes stay as they are; places get three decimals.
  return values.map((value, i) => (i < count ? rounded([value + (i % 2 ? dy : dx)])[0] : value));
}

/**
 * Return the values of a new region that is dragged from one point to another.
 * @param {string} kind
 * @param {Point} from
 * @param {Point} to
 */
export function drawn(kind, from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const far = Math.max(2 * LEAST, Math.hypot(dx, dy));
  /** @type {Record<string, () => number[]>} */
  const values = {
    circle: () => [from.x, from.y, Math.max(LEAST, Math.hypot(dx, dy))],
    annulus: () => [from.x, from.y, far / 2, far],
    ellipse: () => [from.x, from.y, Math.max(LEAST, Math.abs(dx)), Math.max(LEAST, Math.abs(dy)), 0],
    box: () => [from.x + dx / 2, from.y + dy / 2, Math.max(1, Math.abs(dx)), Math.max(1, Math.abs(dy)), 0],
    line: () => [from.x, from.y, to.x, to.y],
  };
  return rounded(values[kind]?.() ?? [Math.round(to.x), Math.round(to.y)]);
}

/**
 * Is a point inside a region, or nearer to it than some distance where it has no area?
 * @param {Region} region
 * @param {Point} point
 * @param {number} near
 */
export function holds(region, point, near) {
  const { kind, values: v } = region;
  if (kind === "point") return Math.hypot(point.x - v[0], point.y - v[1]) <= near;
  if (kind === "line" || kind === "polyline") {
    return v.some((_, i) => i % 2 === 0 && i + 3 < v.length && isNear(point, v.slice(i, i + 4), near));
  }
  const [outer, inner] = outlines(region);
  return surrounds(outer, point) && !(inner && surrounds(inner, point));
}

/** Is a point within a distance of a line between two points? @param {Point} point @param {number[]} v @param {number} near */
function isNear(point, v, near) {
  const [dx, dy] = [v[2] - v[0], v[3] - v[1]];
  const t = ((point.x - v[0]) * dx + (point.y - v[1]) * dy) / (dx * dx + dy * dy || 1);
  const at = Math.min(1, Math.max(0, t));
  return Math.hypot(point.x - v[0] - at * dx, point.y - v[1] - at * dy) <= near;
}

/** Is a point inside a closed line? @param {Point[]} corners @param {Point} point */
function surrounds(corners, point) {
  let inside = false;
  for (let i = 1; i < corners.length; i++) {
    const [a, b] = [corners[i - 1], corners[i]];
    if (a.y > point.y !== b.y > point.y) {
      if (point.x < a.x + ((point.y - a.y) / (b.y - a.y)) * (b.x - a.x)) inside = !inside;
    }
  }
  return inside;
}

/**
 * Return the box around a region, in whole pixels inside an image: x1, x2, y1, y2, from 1.
 * @param {{kind: string, values: number[]}} region
 * @param {number} width
 * @param {number} height
 */
export function bounds(region, width, height) {
  const [points] = outlines(region);
  const [xs, ys] = [points.map((at) => at.x), points.map((at) => at.y)];
  const inside = (/** @type {number} */ at, /** @type {number} */ most) =>
    Math.min(most, Math.max(1, at));
  return [
    inside(Math.ceil(Math.min(...xs)), width),
    inside(Math.floor(Math.max(...xs)), width),
    inside(Math.ceil(Math.min(...ys)), height),
    inside(Math.floor(Math.max(...ys)), height),
  ];
}
