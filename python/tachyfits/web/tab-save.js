// The tab "Save": cutouts as FITS with their size shown first, pictures, spectra and links.

import { Latest, askJson, linkTo, sizeOf } from "./api.js";
import { download, make, row, select } from "./dom.js";
import { figureGroup } from "./figure.js";
import { group } from "./panel.js";
import { programsGroup } from "./programs.js";
import { paint } from "./colourbar.js";
import { bounds, hasArea } from "./regions.js";
import { CURSOR } from "./spectra.js";
import { hashOf, sessionOf } from "./link.js";
import { nameOf } from "./maps.js";
import { collapseOf, placeOf } from "./state.js";
import { bytes, number, unit as unitText } from "./words.js";

/** @param {import("./main.js").App} app */
export function saveTab(app) {
  const { store, viewer } = app;
  let what = "view";
  let depth = "range";
  const whatSelect = select(
    { view: "What is on screen", region: "The box around the region", whole: "The whole plane" },
    what,
    (value) => { what = value; refresh(); },
    "Part of the plane",
  );
  const depthSelect = select(
    { range: "The selected range", channel: "The channel shown", all: "All channels" },
    depth,
    (value) => { depth = value; refresh(); },
    "Channels",
  );
  const size = make("p", { class: "note", role: "status", id: "cutout-size" });
  const save = make("a", { class: "button primary", download: "", id: "cutout-link" }, "Download FITS");
  const asking = new Latest(load, (error) => {
    size.textContent = error instanceof Error ? error.message : String(error);
  });
  const mapSize = make("p", { class: "note", role: "status", id: "map-size" });
  const mapSave = make("a", { class: "button primary", download: "", id: "map-link" }, "Download the map");
  const sizing = new Latest(loadMapSize, (error) => {
    mapSize.textContent = error instanceof Error ? error.message : String(error);
    mapSave.removeAttribute("href");
  });

  /** Parameters of the cutout; null if nothing is chosen. */
  function wanted() {
    const { dataset, regions, selected, range, channel } = store.state;
    if (!dataset) return null;
    const { width, height, channels } = dataset;
    let box = [1, width, 1, height];
    if (what === "view") {
      const [a, b] = [viewer.toImage(0, viewer.height), viewer.toImage(viewer.width, 0)];
      box = bounds({ kind: "line", values: [a.x, a.y, b.x, b.y] }, width, height);
    }
    const region = regions.find((one) => one.id === selected) ?? regions.at(-1);
    if (what === "region") {
      if (!region || !hasArea(region)) return null;
      box = bounds(region, width, height);
    }
    const chosen = depth === "channel" ? [channel, channel] : depth === "range" && range ? range : [1, channels];
    // The axes of the view, x first, in the order of the file.
    const parts = dataset.naxis.map(() => "*");
    const ranges = [`${box[0]}:${box[1]}`, `${box[2]}:${box[3]}`, `${chosen[0]}:${chosen[1]}`];
    dataset.axes.slice(0, 3).forEach(({ fits }, i) => {
      // A spectrum has no axes along x and y.
      if (fits <= parts.length) parts[fits - 1] = ranges[i];
    });
    return { ...placeOf(dataset), section: `[${parts.join(",")}]` };
  }

  function refresh() {
    const asked = wanted();
    depthSelect.disabled = (store.state.dataset?.channels ?? 1) < 2;
    if (!asked) {
      size.textContent = "Select a region with an area first.";
      save.removeAttribute("href");
      return;
    }
    save.href = linkTo("cutout", asked);
    size.dataset.section = asked.section;
    asking.ask(asked);
  }

  /** @param {import("./api.js").Parameters} asked @param {AbortSignal} signal */
  async function load(asked, signal) {
    const found = await askJson("cutout/size", asked, { signal });
    size.textContent = `${found.naxis.join(" × ")} pixels, ${bytes(found.bytes)} · ${asked.section}`;
  }

  /** Parameters of the plane that is shown, as a file; null before an image is open. */
  function wantedMap() {
    const { dataset, layer, others, channel } = store.state;
    if (!dataset) return null;
    const what = layer.operation === "channel" ? { channel } : { ...collapseOf(layer), level: dataset.collapse_level };
    return { ...placeOf(dataset), others, ...what, format: "fits" };
  }

  function refreshMap() {
    const asked = wantedMap();
    if (!asked) return;
    mapSave.href = linkTo("image", asked);
    sizing.ask(asked);
  }

  /** @param {import("./api.js").Parameters} asked @param {AbortSignal} signal */
  async function loadMapSize(asked, signal) {
    const { dataset, layer } = store.state;
    const count = await sizeOf("image", asked, signal);
    const what = layer.operation === "channel" ? `Channel ${asked.channel}` : `${nameOf(layer.operation)}, channels ${layer.first} to ${layer.last}`;
    const level = Number(asked.level ?? 0);
    const [width, height] = [dataset?.width ?? 0, dataset?.height ?? 0].map((length) => Math.ceil(length / 2 ** level));
    const means = level ? `, means of ${2 ** level} × ${2 ** level}` : "";
    mapSize.textContent = `${what}: ${width} × ${height} pixels${means}, ${bytes(count)}`;
  }

  /** The image with what is drawn over it, and the colour bar. */
  function savePicture() {
    const { canvas, surface } = viewer;
    const bar = Math.round(46 * devicePixelRatio);
    const made = document.createElement("canvas");
    made.width = canvas.width;
    made.height = canvas.height + bar;
    const context = made.getContext("2d");
    if (!context) return;
    viewer.draw();
    context.fillStyle = "#000";
    context.fillRect(0, 0, made.width, made.height);
    context.drawImage(canvas, 0, 0);
    app.catalogues.paint(context);
    context.drawImage(surface, 0, 0);
    const strip = document.createElement("canvas");
    strip.width = 256;
    strip.height = 1;
    paint(strip, store.state);
    const [margin, top] = [12 * devicePixelRatio, canvas.height + 8 * devicePixelRatio];
    context.drawImage(strip, margin, top, made.width - 2 * margin, 12 * devicePixelRatio);
    context.fillStyle = "#fff";
    context.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    const { low, high } = store.state;
    [low, (low + high) / 2, high].forEach((value, i) => {
      context.textAlign = /** @type {const} */ (["left", "center", "right"])[i];
      context.fillText(`${number(value, 4)} ${unitText(app.unit())}`, margin + (i / 2) * (made.width - 2 * margin), top + 28 * devicePixelRatio);
    });
    made.toBlob((blob) => blob && download(blob, `${stem()}.png`), "image/png");
  }

  /** The curves of the chart as a table. */
  function saveSpectra() {
    const { axis, curves, unit: valueUnit } = app.dock.spectra;
    if (!axis) return;
    const shown = [...curves].filter(([id]) => id !== CURSOR);
    const unit = (/** @type {string | null | undefined} */ text) => (text ? ` (${text})` : "");
    const head = [`${axis.name}${unit(axis.unit)}`, ...shown.map(([, { text }]) => `"${store.state.statistic} ${text}${unit(valueUnit)}"`)];
    const lines = axis.values.map((x, i) => [x, ...shown.map(([, { values }]) => values[i])].join(","));
    download(new Blob([[head.join(","), ...lines].join("\n") + "\n"], { type: "text/csv" }), `${stem()}-spectra.csv`);
  }

  function stem() {
    const name = store.state.id.split("/").at(-1) ?? "image";
    return name.replace(/\.(fits?|fts)?(\.(gz|fz|bz2|xz|zst))?$/i, "");
  }

  const copied = make("span", { class: "note", role: "status" });
  async function copyLink() {
    app.keepLinkNow();
    await navigator.clipboard.writeText(location.href).then(
      () => (copied.textContent = "Copied."),
      () => (copied.textContent = "Copy the address of this page: it holds the view."),
    );
  }

  const session = make("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "Session file" });
  session.addEventListener("change", () => {
    const [file] = session.files ?? [];
    if (file) void openSession(file);
    session.value = "";
  });

  function saveSession() {
    app.keepLinkNow();
    download(new Blob([sessionOf(location.hash)], { type: "application/json" }), `${stem()}-session.json`);
  }

  /** @param {File} file */
  async function openSession(file) {
    try {
      location.hash = hashOf(await file.text());
    } catch (error) {
      app.tell(error);
    }
  }

  store.on(["regions", "selected", "range", "channel", "dataset", "centre", "scale"], () => {
    if (!content.hidden) refresh();
  });
  store.on(["channel", "layer", "others", "dataset"], () => {
    if (!content.hidden) refreshMap();
  });
  const content = make(
    "div",
    {},
    group("Cutout", row("Plane", whatSelect), row("Channels", depthSelect), size, make("div", { class: "buttons" }, save)),
    group("What is shown", mapSize, make("div", { class: "buttons" }, mapSave)),
    figureGroup(app),
    group("Picture and spectra", make("div", { class: "buttons" }, make("button", { type: "button", onclick: savePicture }, "Picture (PNG)"), make("button", { type: "button", onclick: saveSpectra }, "Spectra (CSV)"))),
    programsGroup(app, { cutout: wanted, map: wantedMap }),
    group(
      "Link and session",
      make("p", { class: "note" }, "The address of this page restores the view. A session is the same as a small file."),
      make(
        "div",
        { class: "buttons" },
        make("button", { type: "button", onclick: () => void copyLink() }, "Copy the link"),
        make("button", { type: "button", onclick: saveSession }, "Save the session"),
        make("button", { type: "button", onclick: () => session.click() }, "Open a session…"),
        copied,
        session,
      ),
    ),
  );
  content.addEventListener("shown", () => {
    refresh();
    refreshMap();
  });
  return content;
}
