// Small helpers for elements of the page.

/**
 * Return the element with an id.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page lacks #${id}`);
  return found;
}

/**
 * Make an element: properties are set as attributes, functions become listeners ("onclick").
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} properties
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * Make a select with options.
 * @param {Record<string, string>} options value and label
 * @param {string} chosen
 * @param {(value: string) => void} change
 * @param {string} label what a screen reader says
 */
export function select(options, chosen, change, label) {
  const element = make("select", { "aria-label": label });
  for (const [value, text] of Object.entries(options)) {
    element.append(make("option", { value }, text));
  }
  element.value = chosen;
  element.addEventListener("change", () => change(element.value));
  return element;
}

/**
 * Make a row of a form: a label and its control.
 * @param {string} text
 * @param {HTMLElement} control
 * @param {...HTMLElement} more
 */
export function row(text, control, ...more) {
  return make("label", { class: "row" }, make("span", {}, text), control, ...more);
}

/** Return a colour as #rrggbb; "" for none, or one that browsers do not know. @param {string} name */
export function hexOf(name) {
  const context = document.createElement("canvas").getContext("2d");
  if (!context || !name || !CSS.supports("color", name)) return "";
  context.fillStyle = name;
  return /^#[\da-f]{6}$/.test(context.fillStyle) ? context.fillStyle : "";
}

/**
 * Download some content under a name.
 * @param {Blob} content
 * @param {string} name
 */
export function download(content, name) {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/**
 * Call a function at most once a frame, with the newest arguments.
 * @template {unknown[]} A
 * @param {(...values: A) => void} call
 * @returns {(...values: A) => void}
 */
export function eachFrame(call) {
  /** @type {A | null} */
  let waiting = null;
  return (...values) => {
    if (waiting === null) {
      requestAnimationFrame(() => {
        const latest = /** @type {A} */ (waiting);
        waiting = null;
        call(...latest);
      });
    }
    waiting = values;
  };
}
