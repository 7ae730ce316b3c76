// The tab "Lines": the line and the frame of velocities, and lines over the spectrum.

import { make, row, select } from "./dom.js";
import { fitGroup, shownGroup } from "./tab-fit.js";
import { group } from "./panel.js";
import { isVelocity } from "./state.js";
import { frequency, number, unit } from "./words.js";

const CONVENTIONS = { "": "As the axis has it", radio: "Radio", optical: "Optical", relativistic: "Relativistic" };

/** Names of reference frames by the Standard's words. @type {Record<string, string>} */
const FRAMES = {
  TOPOCENT: "Topocentric", GEOCENT: "Geocentric", BARYCENT: "Barycentric", HELIOCEN: "Heliocentric", LSRK: "LSRK", LSRD: "LSRD",
};

/** @param {import("./main.js").App} app */
export function linesTab(app) {
  const { store, dock } = app;
  const { lines } = dock;
  const line = select({ "": "The header's", other: "Another" }, "", (value) => chooseLine(value), "Line of velocities");
  const rest = make("input", { type: "text", placeholder: "1.420406 GHz", "aria-label": "Rest frequency or wavelength", spellcheck: false });
  const redshift = make("input", { type: "text", inputmode: "decimal", placeholder: "0", "aria-label": "Redshift" });
  const convention = select(CONVENTIONS, "", (value) => setAbout({ convention: value }), "Convention of velocities");
  const frame = select({ "": "The header's" }, "", (value) => store.set({ frame: value }), "Reference frame");
  const about = make("p", { class: "note", role: "status", id: "velocity-note" });
  const problem = make("p", { class: "problem", role: "status", id: "lines-problem" });
  const groups = make("div", { class: "list" });
  const inside = make("ul", { class: "list", "aria-label": "Lines on the axis" });
  const source = make("p", { class: "note" });

  /** Velocities are what a line is for. @param {Partial<import("./state.js").State>} changes */
  function setAbout(changes) {
    const { spectralUnit, dataset } = store.state;
    const shown = spectralUnit || dataset?.coordinates.spectral?.unit;
    store.set(isVelocity(shown) ? changes : { ...changes, spectralUnit: "km/s" });
  }

  /** @param {string} name */
  function chooseLine(name) {
    if (name === "other") {
      rest.focus();
      return;
    }
    const found = lines.table.find((one) => one.name === name);
    if (found) setAbout({ rest: `${found.rest_hz} Hz` });
    else store.set({ rest: "" });
  }

  rest.addEventListener("change", () => {
    const text = rest.value.trim();
    if (text) setAbout({ rest: text });
    else store.set({ rest: "" });
  });
  redshift.addEventListener("change", () => {
    const text = redshift.value.trim().replace(",", ".");
    const good = text === "" || (Number.isFinite(Number(text)) && Number(text) > -1);
    redshift.toggleAttribute("aria-invalid", !good);
    if (good) store.set({ redshift: text });
  });

  /** @param {string} name @param {boolean} on */
  function choose(name, on) {
    const others = store.state.lines.split(",").filter((one) => one && one !== name);
    store.set({ lines: [...others, ...(on ? [name] : [])].join(",") });
  }

  /** Fill the lists once the server has told them. */
  function fill() {
    if (line.options.length === 2 && lines.table.length) {
      for (const [name, label] of Object.entries(lines.groups)) {
        const members = lines.table.filter((one) => one.group === name);
        line.append(make("optgroup", { label }, ...members.map((one) => make("option", { value: one.name }, one.name))));
      }
    }
    if (!groups.children.length) {
      for (const [name, label] of Object.entries(lines.groups)) {
        const box = make("input", { type: "checkbox", "data-group": name, onchange: (event) => choose(name, event.target.checked) });
        groups.append(make("label", { class: "check" }, box, label, make("span", { class: "dim" })));
      }
    }
    frame.replaceChildren(
      make("option", { value: "" }, `The header's${lines.facts?.frame ? ` (${FRAMES[lines.facts.frame] ?? lines.facts.frame})` : ""}`),
      ...(lines.facts?.frames ?? []).map(({ name, factor, problem: why }) =>
        make("option", { value: name, disabled: factor === null, title: why ?? "" }, FRAMES[name] ?? name)),
    );
    source.textContent = lines.source ? `Rest frequencies: ${lines.source}.` : "";
  }

  function showInside() {
    const { axis } = dock.spectra;
    const name = axis?.unit ? unit(axis.unit) : "";
    for (const box of groups.querySelectorAll("input")) {
      const here = lines.table.filter((one) => one.group === box.dataset.group && one.channel !== null).length;
      box.checked = store.state.lines.split(",").includes(box.dataset.group ?? "");
      const count = box.parentElement?.querySelector("span");
      if (count) count.textContent = here ? `${here} on the axis` : "";
    }
    inside.replaceChildren(
      ...lines.shown().map((one) => make("li", {}, make(
        "button",
        { type: "button", class: "item", "data-line": one.name, onclick: () => app.channels.go(Number(one.channel)) },
        make("span", { class: "space" }, one.name),
        make("span", { class: "dim" }, `${number(one.value, 7)} ${name}`),
      ))),
    );
  }

  function refresh() {
    const { state } = store;
    const { axis } = dock.spectra;
    fill();
    const known = lines.table.find((one) => `${one.rest_hz} Hz` === state.rest);
    line.value = known?.name ?? (state.rest ? "other" : "");
    if (document.activeElement !== rest) rest.value = known ? frequency(known.rest_hz) : state.rest;
    rest.placeholder = lines.facts?.rest_hz ? frequency(lines.facts.rest_hz) : "none in the header";
    if (document.activeElement !== redshift) redshift.value = state.redshift;
    convention.value = state.convention;
    frame.value = state.frame;
    const parts = [
      axis?.rest_hz ? `Velocities are about ${frequency(axis.rest_hz)}.` : "",
      axis?.frame ? `Reference frame: ${FRAMES[axis.frame] ?? axis.frame}.` : "The header does not name the reference frame.",
    ];
    about.textContent = axis ? parts.filter(Boolean).join(" ") : "";
    problem.textContent = lines.problem;
    showInside();
  }

  dock.linesChanged = () => {
    if (!content.hidden) refresh();
  };
  store.on(["rest", "redshift", "convention", "frame", "lines", "spectralUnit", "dataset"], () => dock.linesChanged());
  const content = make(
    "div",
    {},
    group("Velocities", row("Line", line), row("Rest", rest), row("Redshift", redshift), row("Convention", convention), row("Frame", frame), about),
    fitGroup(app),
    shownGroup(app),
    group("Lines over the spectrum", groups, problem, inside, source),
  );
  content.addEventListener("shown", () => {
    lines.need();
    refresh();
  });
  return content;
}
