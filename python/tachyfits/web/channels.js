// The bar of channels: a slider, steps, animation, and the coordinate of the channel that is shown.

import { byId, make } from "./dom.js";
import { CHANNEL } from "./state.js";
import { number, unit } from "./words.js";

/** Frames a second of the animation, at most. */
const RATE = 12;

export class ChannelBar {
  /** @param {import("./main.js").App} app */
  constructor(app) {
    this.app = app;
    const { store } = app;
    this.slider = make("input", { type: "range", min: 1, max: 1, value: 1, "aria-label": "Channel" });
    this.field = make("input", { type: "number", min: 1, max: 1, value: 1, "aria-label": "Number of the channel" });
    this.play = make("button", { type: "button", class: "icon", title: "Play or stop (space)", "aria-label": "Play" });
    this.world = make("output", { id: "channel-world", "aria-label": "Coordinate of the channel" });
    this.play.innerHTML = PLAY;
    const step = (/** @type {number} */ by) => () => this.step(by);
    byId("channels", HTMLElement).append(
      make("button", { type: "button", class: "icon", title: "Previous channel ([)", "aria-label": "Previous channel", onclick: step(-1) }, "‹"),
      this.play,
      make("button", { type: "button", class: "icon", title: "Next channel (])", "aria-label": "Next channel", onclick: step(1) }, "›"),
      this.slider,
      this.field,
      this.world,
    );
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.field.addEventListener("change", () => this.go(Number(this.field.value)));
    this.play.addEventListener("click", () => this.toggle());
    store.on(["dataset"], () => {
      this.stop();
      const { dataset } = store.state;
      this.slider.max = this.field.max = String(dataset?.channels ?? 1);
    });
    store.on(["channel", "dataset"], () => (this.slider.value = String(store.state.channel)));
    this.shown = 0;
    this.last = 0;
  }

  /** Show a channel; the image of a range gives way to it. @param {number} channel */
  go(channel) {
    const { store } = this.app;
    const most = store.state.dataset?.channels ?? 1;
    const next = Math.min(most, Math.max(1, Math.round(channel) || 1));
    const { layer } = store.state;
    store.set({ channel: next, layer: layer.operation === "channel" ? layer : CHANNEL });
  }

  /** @param {number} by */
  step(by) {
    this.go(this.app.store.state.channel + by);
  }

  /** Show the number and the coordinate of the channel whose pixels are on screen. */
  showShown() {
    const { store, viewer, dock } = this.app;
    const channel = Number(viewer.shown?.channel ?? 0);
    const axis = dock.spectra.axis;
    const at = channel || store.state.channel;
    const value = axis?.values[at - 1];
    if (document.activeElement !== this.field) this.field.value = String(at);
    this.world.textContent = value === undefined ? "" : `${number(value, 7)} ${unit(axis?.unit)}`;
    this.world.dataset.channel = String(at);
    this.slider.setAttribute("aria-valuetext", `channel ${at}, ${this.world.textContent}`);
    if (this.shown !== at) {
      this.shown = at;
      dock.mark(at);
    }
    // The animation goes on when a frame is complete: labels and pixels stay together.
    if (this.timer && viewer.shown === viewer.plane()) this.next();
  }

  toggle() {
    if (this.timer) this.stop();
    else {
      this.play.innerHTML = STOP;
      this.play.setAttribute("aria-label", "Stop");
      this.timer = setInterval(() => this.next(), 1000 / RATE);
    }
  }

  /** The next channel, if the one that was asked for is on screen. */
  next() {
    const { store, viewer } = this.app;
    const now = performance.now();
    if (now - this.last < 900 / RATE || Number(viewer.shown?.channel) !== store.state.channel) return;
    this.last = now;
    this.go(this.after(store.state.channel));
    const plane = viewer.plane();
    viewer.ahead = plane && { ...plane, channel: this.after(store.state.channel) };
  }

  /** The channel after one in the animation. @param {number} channel */
  after(channel) {
    const { range, dataset } = this.app.store.state;
    const [first, last] = range ?? [1, dataset?.channels ?? 1];
    return channel >= last || channel < first ? first : channel + 1;
  }

  stop() {
    if (this.timer) clearInterval(this.timer);
    this.timer = undefined;
    this.app.viewer.ahead = null;
    this.play.innerHTML = PLAY;
    this.play.setAttribute("aria-label", "Play");
  }
}

const PLAY = '<svg viewBox="0 0 16 16" aria-hidden="true"><path class="fill" d="M4 2.5v11l9-5.5z"/></svg>';
const STOP = '<svg viewBox="0 0 16 16" aria-hidden="true"><path class="fill" d="M4 3h3v10H4zM9 3h3v10H9z"/></svg>';
