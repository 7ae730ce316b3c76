// The page in a notebook's cell: it tells the widget around it what is shown, and takes regions from it.

import { hexOf } from "./dom.js";
import { parse, textOf } from "./regions.js";

/** Milliseconds between two messages: each reaches the kernel of the notebook. */
const PAUSE = 100;

/** @param {import("./main.js").App} app */
export function connectNotebook(app) {
  if (window.parent === window) return;
  const { store, viewer } = app;
  /** @type {number[] | null} */
  let clicked = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  function tell() {
    timer = undefined;
    const { dataset, channel, others, statistic, regions } = store.state;
    if (!dataset) return;
    const shown = regions.filter(({ values }) => values.length).map((region) => ({ text: textOf(region), name: region.name ?? "", color: region.paint ?? "" }));
    // The origin of notebooks is any; only a page that has the token of the link shows an image.
    window.parent.postMessage({ tachyfits: { id: dataset.id, hdu: dataset.hdu, channel, others, statistic, regions: shown, clicked } }, "*");
  }

  function later() {
    timer ??= setTimeout(tell, PAUSE);
  }

  const { tapped } = viewer;
  viewer.tapped = (at) => {
    tapped(at);
    clicked = [at.x, at.y];
    later();
  };
  store.on(["dataset"], () => (clicked = null));
  store.on(["dataset", "channel", "others", "statistic", "regions"], later);

  addEventListener("message", (event) => {
    const given = event.data?.tachyfits?.regions;
    if (event.source !== window.parent || !Array.isArray(given)) return;
    const regions = given.flatMap(({ text, name, color }, colour) => {
      const shape = parse(String(text));
      const paint = hexOf(String(color ?? ""));
      return shape ? [{ ...shape, id: colour + 1, colour, ...(paint ? { paint } : {}), ...(name ? { name: String(name) } : {}) }] : [];
    });
    store.set({ regions, selected: null });
  });
}
