// The widget of a notebook: a frame with the page, and messages between it and the model of the kernel.

/**
 * @typedef {object} Model the model that Python has, too
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, call: () => void) => void} on
 * @property {(event: string, call: () => void) => void} off
 */

/** @param {{model: Model, el: HTMLElement}} context */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.src = model.get("link");
  frame.title = "tachyfits";
  frame.width = "100%";
  frame.height = String(model.get("height"));
  frame.allow = "clipboard-write; fullscreen";
  frame.style.border = "0";
  const link = document.createElement("a");
  link.href = frame.src;
  link.target = "_blank";
  link.rel = "noopener";
  link.textContent = "Open in a window";
  el.append(frame, link);

  /** Number of the regions of Python that the page has, and whether it is open. */
  let sent = 0;
  let isOpen = false;

  function send() {
    const { number = 0, regions = [] } = model.get("_given");
    if (number === sent || !isOpen) return;
    sent = number;
    frame.contentWindow?.postMessage({ tachyfits: { regions } }, new URL(frame.src).origin);
  }

  /** @param {MessageEvent} event */
  function heard(event) {
    if (event.source !== frame.contentWindow || !event.data?.tachyfits) return;
    const { number = 0 } = model.get("_given");
    isOpen = true;
    // A page that has just opened gets the regions that Python set before it tells its own.
    if (number !== sent) {
      send();
      return;
    }
    model.set("_shown", { ...event.data.tachyfits, number });
    model.save_changes();
  }

  addEventListener("message", heard);
  model.on("change:_given", send);
  return () => {
    removeEventListener("message", heard);
    model.off("change:_given", send);
  };
}

export default { render };
