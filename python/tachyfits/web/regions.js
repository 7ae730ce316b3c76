// Regions: shapes in FITS pixels (the centre of the first pixel is 1, 1), their text, their outline,
// and what dragging them does.

/**
 * @typedef {object} Region
 * @property {number} id
 * @property {string} kind "circle", "ellipse", "box", "polygon", "point" or "line"
 * @property {number[]} values as in the text of a region: circle(x,y,r), ellipse(x,y,a,b,angle),
 *   box(x,y,width,height,angle), polygon(x1,y1,...), point(x,y), line(x1,y1,x2,y2)
 * @property {number} colour index
 */

/** @typedef {{x: number, y: number}} Point */

/** Kinds with a name for people. */
export const KINDS = {
  circle: "Circle",
  ellipse: "Ellipse",
  box: "Box",
  polygon: "Polygon",
  point: "Point",
  line: "Line",
};

/** Colours over the image; each has a dark outline, so all are seen on any colour map. */
const COLOURS = ["#58a6ff", "#ffa657", "#3fd68f", "#ff7b93", "#c297ff", "#ffdf5d", "#39d0d8", "#f778ba"];

/** Colours of lines on white paper, with a contrast of at least 4.5. */
const DARK_COLOURS = ["#0b62c4", "#a4520b", "#116b3f", "#b8203f", "#6f3ad1", "#7a5d00", "#0a6a73", "#a92a72"];

/**
 * Return the colour of a region.
 * @param {Region} region
 * @param {boolean} onWhite
 */
export function colourOf(region, onWhite) {
  const colours = onWhite ? DARK_COLOURS : COLOURS;
  return colours[region.colour % colours.length];
}

/** @param {number} value */
function short(value) {
  return String(Math.round(value * 1000) / 1000);
}

/**
 * Return a region as the server reads it.
 * @param {Region} region
 */
export function textOf(region) {
  return `${region.kind}(${region.values.map(short).join(",")})`;
}

/**
 * Read a region from its text; null for text in another form.
 * @param {string} text
 * @returns {{kind: string, values: number[]} | null}
 */
export function parse(text) {
  const found = /^\s*([a-z]+)\s*\(([^()]*)\)\s*$/i.exec(text);
  if (!found) return null;
  const kind = found[1].toLowerCase();
  const values = found[2].split(",").map(Number);
  /** @type {Record<string, number[]>} */
  const counts = { circle: [3], ellipse: [5, 4], box: [5, 4], point: [2], line: [4] };
  const fits = kind === "polygon" ? values.length >= 6 && values.length % 2 === 0 : counts[kind]?.includes(values.length);
  if (!fits || !values.every(Number.isFinite)) return null;
  if ((kind === "box" || kind === "ellipse") && values.length === 4) values.push(0);
  return { kind, values };
}

/** Can a spectrum be taken over it? @param {Region} region */
export function hasArea(region) {
  return region.kind !== "line";
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
 * Return the points of the outline, closed where the shape is.
 * @param {Region} region
 * @returns {Point[]}
 */
export function outline({ kind, values: v }) {
  /** @type {Point[]} */
  const points = [];
  if (kind === "circle" || kind === "ellipse") {
    const [a, b, angle] = kind === "circle" ? [v[2], v[2], 0] : [v[2], v[3], v[4]];
    for (let i = 0; i <= 72; i++) {
      const at = turned(a * Math.cos((i * Math.PI) / 36), b * Math.sin((i * Math.PI) / 36), angle);
      points.push({ x: v[0] + at.x, y: v[1] + at.y });
    }
  } else if (kind === "box") {
    for (const [i, j] of [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) {
      const at = turned((i * v[2]) / 2, (j * v[3]) / 2, v[4]);
      points.push({ x: v[0] + at.x, y: v[1] + at.y });
    }
  } else {
    for (let i = 0; i + 1 < v.length; i += 2) points.push({ x: v[i], y: v[i + 1] });
    if (kind === "polygon") points.push(points[0]);
  }
  return points;
}

/**
 * Return the points by which a region is resized.
 * @param {Region} region
 * @returns {Point[]}
 */
export function handles({ kind, values: v }) {
  const from = (/** @type {Point} */ at) => ({ x: v[0] + at.x, y: v[1] + at.y });
  if (kind === "circle") return [from({ x: v[2], y: 0 })];
  if (kind === "ellipse") return [from(turned(v[2], 0, v[4])), from(turned(0, v[3], v[4]))];
  if (kind === "box") {
    return [
      from(turned(v[2] / 2, v[3] / 2, v[4])),
      from(turned(v[2] / 2, 0, v[4])),
    ];
  }
  if (kind === "polygon" || kind === "line") {
    const points = [];
    for (let i = 0; i + 1 < v.length; i += 2) points.push({ x: v[i], y: v[i + 1] });
    return points;
  }
  return [];
}

/**
 * Return the values after a handle was dragged to a point.
 * @param {Region} region
 * @param {number} handle
 * @param {Point} to
 */
export function resized({ kind, values }, handle, to) {
  const v = [...values];
  const [dx, dy] = [to.x - v[0], to.y - v[1]];
  if (kind === "circle") v[2] = Math.max(0.5, Math.hypot(dx, dy));
  if (kind === "ellipse") {
    v[2 + handle] = Math.max(0.5, Math.hypot(dx, dy));
    v[4] = (Math.atan2(dy, dx) * 180) / Math.PI - 90 * handle;
  }
  if (kind === "box" && handle === 0) {
    const at = turned(dx, dy, -v[4]);
    v[2] = Math.max(1, 2 * Math.abs(at.x));
    v[3] = Math.max(1, 2 * Math.abs(at.y));
  }
  if (kind === "box" && handle === 1) v[4] = (Math.atan2(dy, dx) * 180) / Math.PI;
  if (kind === "polygon" || kind === "line") {
    v[2 * handle] = to.x;
    v[2 * handle + 1] = to.y;
  }
  return v;
}

/**
 * Return the values after a region was moved.
 * @param {Region} region
 * @param {number} dx
 * @param {number} dy
 */
export function moved({ kind, values }, dx, dy) {
  const pairs = kind === "polygon" || kind === "line" ? values.length : 2;
  return values.map((value, i) => (i < pairs ? value + (i % 2 ? dy : dx) : value));
}

/**
 * Return the values of a new region that is dragged from one point to another.
 * @param {string} kind
 * @param {Point} from
 * @param {Point} to
 */
export function drawn(kind, from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  if (kind === "circle") return [from.x, from.y, Math.max(0.5, Math.hypot(dx, dy))];
  if (kind === "ellipse") {
    return [from.x, from.y, Math.max(0.5, Math.abs(dx)), Math.max(0.5, Math.abs(dy)), 0];
  }
  if (kind === "box") {
    const [w, h] = [Math.max(1, Math.abs(dx)), Math.max(1, Math.abs(dy))];
    return [from.x + dx / 2, from.y + dy / 2, w, h, 0];
  }
  if (kind === "line") return [from.x, from.y, to.x, to.y];
  return [Math.round(to.x), Math.round(to.y)];
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
  if (kind === "line") {
    const [dx, dy] = [v[2] - v[0], v[3] - v[1]];
    const t = ((point.x - v[0]) * dx + (point.y - v[1]) * dy) / (dx * dx + dy * dy || 1);
    const at = Math.min(1, Math.max(0, t));
    return Math.hypot(point.x - v[0] - at * dx, point.y - v[1] - at * dy) <= near;
  }
  const corners = outline(region);
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
 * @param {Region} region
 * @param {number} width
 * @param {number} height
 */
export function bounds(region, width, height) {
  const points = outline(region);
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
