// The noise of channels without a line, from which thresholds and levels are counted.

import { askJson } from "./api.js";
import { placeOf } from "./state.js";

/** Thresholds of moments in units of the noise. */
export const SIGMAS = 3;

/**
 * Return the channels whose noise counts, and what people are told of them: those given as
 * line-free, else those beside the range, else all.
 * @param {import("./state.js").State} state
 * @returns {{channels: string | null, words: string}}
 */
export function lineFree({ fitFree, range, dataset }) {
  const most = dataset?.channels ?? 1;
  if (fitFree.trim()) return { channels: fitFree.trim(), words: `of the line-free channels ${fitFree.trim()}` };
  const [first, last] = range ?? [1, most];
  const parts = [];
  if (first > 1) parts.push(`1:${first - 1}`);
  if (last < most) parts.push(`${last + 1}:${most}`);
  if (!parts.length) return { channels: null, words: "of all channels, for want of line-free ones" };
  return { channels: parts.join(","), words: `of the channels beside the range, ${parts.join(",")}` };
}

/**
 * Return the noise of the line-free channels.
 * @param {import("./state.js").State} state
 * @param {AbortSignal} [signal]
 * @returns {Promise<{noise: number, unit: string | null, words: string}>}
 */
export async function noiseOf(state, signal) {
  const { dataset, others } = state;
  if (!dataset) throw new Error("no image is open");
  const { channels, words } = lineFree(state);
  const options = signal ? { signal } : {};
  const found = await askJson("noise", { ...placeOf(dataset), others, channels }, { ...options, doing: "Measuring the noise" });
  return { noise: found.noise, unit: found.unit, words };
}
