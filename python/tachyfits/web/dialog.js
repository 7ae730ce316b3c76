// Dialogs: a title, something fixed, and a body that scrolls. Escape and a click outside close them.

import { make } from "./dom.js";

/**
 * @param {string} title
 * @param {HTMLElement | null} fixed
 * @param {HTMLElement} body
 */
export function dialog(title, fixed, body) {
  const close = make("button", { type: "button", class: "icon", "aria-label": "Close", onclick: () => made.close() }, "×");
  const top = make("div", { class: "dialog-fixed" });
  if (fixed) top.append(fixed);
  const made = make(
    "dialog",
    { "aria-label": title },
    make("div", {}, make("header", {}, make("h1", {}, title), close), top, make("div", { class: "dialog-body", tabindex: 0 }, body)),
  );
  made.addEventListener("click", (event) => {
    if (event.target === made) made.close();
  });
  made.addEventListener("close", () => {
    // Keys of the page would go to a field that nobody sees.
    const { activeElement } = document;
    if (activeElement instanceof HTMLElement && made.contains(activeElement)) activeElement.blur();
  });
  document.body.append(made);
  return made;
}
