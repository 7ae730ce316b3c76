// Cuts: the values that the colour map begins and ends with, chosen from the pixels of a plane.

/** Cuts by their name in the state, with the words on the page. */
export const CUTS = {
  "99.9": "99.9 %",
  "99.5": "99.5 %",
  99: "99 %",
  98: "98 %",
  95: "95 %",
  90: "90 %",
  minmax: "Minimum, maximum",
  zscale: "zscale",
  manual: "By hand",
};

/**
 * Return the cuts for some pixels.
 * @param {Float32Array} pixels
 * @param {string} kind a key of `CUTS`
 * @returns {number[] | null} null if no pixel is defined
 */
export function cutsOf(pixels, kind) {
  const sorted = pixels.filter((value) => Number.isFinite(value)).sort();
  if (!sorted.length) return null;
  const cuts = kind === "zscale" ? zscale(pixels, sorted) : percentiles(sorted, kind === "minmax" ? 100 : Number(kind));
  return cuts[1] > cuts[0] ? cuts : [sorted[0], sorted[sorted.length - 1] > sorted[0] ? sorted[sorted.length - 1] : sorted[0] + 1];
}

/**
 * The middle part of the values: 99.5 % leaves a quarter of a percent out at each end.
 * @param {Float32Array} sorted
 * @param {number} part
 */
function percentiles(sorted, part) {
  const outside = (100 - part) / 200;
  const at = (/** @type {number} */ share) => sorted[Math.round(share * (sorted.length - 1))];
  return [at(outside), at(1 - outside)];
}

/**
 * IRAF's zscale: a line through the sorted values around the median, with outliers rejected.
 * @param {Float32Array} pixels
 * @param {Float32Array} all sorted
 */
function zscale(pixels, all) {
  const most = 1000;
  const step = Math.max(1, Math.floor(pixels.length / most));
  const sample = Float32Array.from({ length: Math.floor(pixels.length / step) }, (_, i) => pixels[i * step])
    .filter((value) => Number.isFinite(value))
    .sort();
  const count = sample.length;
  const [low, high] = [all[0], all[all.length - 1]];
  if (count < 5) return [low, high];
  let kept = Array.from({ length: count }, (_, i) => i);
  let [slope, middle] = [0, 0];
  for (let pass = 0; pass < 5; pass++) {
    const n = kept.length;
    const mx = kept.reduce((sum, i) => sum + i, 0) / n;
    const my = kept.reduce((sum, i) => sum + sample[i], 0) / n;
    const sxx = kept.reduce((sum, i) => sum + (i - mx) ** 2, 0);
    const sxy = kept.reduce((sum, i) => sum + (i - mx) * (sample[i] - my), 0);
    slope = sxx ? sxy / sxx : 0;
    middle = my - slope * mx;
    const rest = kept.map((i) => sample[i] - (middle + slope * i));
    const sigma = Math.sqrt(rest.reduce((sum, r) => sum + r * r, 0) / n);
    const next = kept.filter((_, j) => Math.abs(rest[j]) <= 2.5 * sigma);
    if (next.length === n || next.length < Math.max(5, count / 2)) {
      if (next.length < Math.max(5, count / 2)) return [low, high];
      break;
    }
    kept = next;
  }
  const median = sample[Math.floor((count - 1) / 2)];
  const reach = (slope / 0.25) * (count / 2);
  return [Math.max(low, median - reach), Math.min(high, median + reach)];
}
