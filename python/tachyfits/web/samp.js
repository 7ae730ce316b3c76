// SAMP by its web profile: sending files to TOPCAT, Aladin and others, and following positions.
//
// The hub is a program on the machine of the browser. It speaks XML-RPC at a fixed address and asks
// its user whether the page may connect. All values are text, lists or maps.

/** The address of every hub with a web profile. */
const HUB = "http://localhost:21012/";

/** Seconds that the hub may hold a request for messages. */
const WAIT = 20;

/** Milliseconds between two requests to hubs that answer at once, as astropy's does. */
const PAUSE = 300;

/** @typedef {string | Value[] | {[key: string]: Value}} Value */

/** A problem that people can do something about. */
export class SampError extends Error {}

/** @param {string} text */
function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/**
 * Return a value as XML-RPC writes it.
 * @param {Value} value
 * @returns {string}
 */
export function encode(value) {
  if (typeof value === "string") return `<value><string>${escaped(value)}</string></value>`;
  if (Array.isArray(value)) return `<value><array><data>${value.map(encode).join("")}</data></array></value>`;
  const members = Object.entries(value).map(([name, item]) => `<member><name>${escaped(name)}</name>${encode(item)}</member>`);
  return `<value><struct>${members.join("")}</struct></value>`;
}

/**
 * Read a value of XML-RPC.
 * @param {Element} value
 * @returns {Value}
 */
export function decode(value) {
  const inner = value.firstElementChild;
  if (inner?.tagName === "array") return [...(inner.querySelector(":scope > data")?.children ?? [])].map(decode);
  if (inner?.tagName !== "struct") return value.textContent ?? "";
  /** @type {{[key: string]: Value}} */
  const found = {};
  for (const member of inner.children) {
    const [name, item] = member.children;
    found[name.textContent ?? ""] = decode(item);
  }
  return found;
}

/** @param {string} method @param {Value[]} parameters */
function body(method, parameters) {
  const values = parameters.map((one) => `<param>${encode(one)}</param>`).join("");
  return `<?xml version="1.0"?><methodCall><methodName>samp.webhub.${method}</methodName><params>${values}</params></methodCall>`;
}

/**
 * Call a method of the hub.
 * @param {string} method
 * @param {Value[]} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<Value>}
 */
async function call(method, parameters, signal) {
  /** @type {Response} */
  let answer;
  try {
    const headers = { "Content-Type": "text/xml" };
    answer = await fetch(HUB, { method: "POST", headers, body: body(method, parameters), credentials: "omit", signal: signal ?? null });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new SampError("No SAMP hub runs on this machine. Start TOPCAT or Aladin, then connect again.");
  }
  const document = new DOMParser().parseFromString(await answer.text(), "text/xml");
  const fault = document.querySelector("methodResponse > fault > value");
  if (fault) {
    const said = /** @type {{[key: string]: Value}} */ (decode(fault)).faultString ?? "no reason given";
    throw new SampError(`The SAMP hub refused: ${said}`);
  }
  const value = document.querySelector("methodResponse > params > param > value");
  if (!answer.ok || !value) throw new SampError(`The SAMP hub answered with status ${answer.status}.`);
  return decode(value);
}

export class Samp {
  constructor() {
    /** Called when the connection begins or ends. */
    this.changed = () => {};
    /** Called with ICRS degrees that another program points at. */
    this.pointed = (/** @type {number} */ _longitude, /** @type {number} */ _latitude) => {};
    this.key = "";
    /** @type {AbortController | null} */
    this.listening = null;
    addEventListener("pagehide", () => this.leave());
  }

  get connected() {
    return this.key !== "";
  }

  /** Connect; the hub asks its user first. */
  async connect() {
    if (this.connected) return;
    const found = /** @type {{[key: string]: Value}} */ (await call("register", [{ "samp.name": "tachyfits" }]));
    const key = String(found["samp.private-key"]);
    const icon = new URL("icon.svg", document.baseURI).href;
    await call("declareMetadata", [key, { "samp.name": "tachyfits", "samp.description.text": "FITS viewer", "samp.icon.url": icon }]);
    await call("allowReverseCallbacks", [key, "1"]);
    await call("declareSubscriptions", [key, { "coord.pointAt.sky": {}, "samp.app.ping": {}, "samp.hub.event.shutdown": {} }]);
    this.key = key;
    this.listening = new AbortController();
    void this.listen(key, this.listening.signal);
    this.changed();
  }

  /** Tell the hub that the page goes, and forget it. */
  async disconnect() {
    const { key } = this;
    this.forget();
    if (key) await call("unregister", [key]).catch(() => {});
  }

  /** Tell it while the page is closed, when no answer can be awaited. */
  leave() {
    if (this.key) void fetch(HUB, { method: "POST", body: body("unregister", [this.key]), keepalive: true, mode: "no-cors" }).catch(() => {});
    this.forget();
  }

  forget() {
    if (!this.key) return;
    this.key = "";
    this.listening?.abort();
    this.changed();
  }

  /**
   * Send a message to all programs that understand it; return how many do.
   * @param {string} mtype
   * @param {{[key: string]: string}} parameters
   */
  async send(mtype, parameters) {
    try {
      const sent = await call("notifyAll", [this.key, { "samp.mtype": mtype, "samp.params": parameters }]);
      return Array.isArray(sent) ? sent.length : 0;
    } catch (error) {
      // A hub that ended, or that knows this page no more.
      this.forget();
      throw error;
    }
  }

  /** @param {string} key @param {AbortSignal} signal */
  async listen(key, signal) {
    try {
      while (!signal.aborted) {
        const calls = await call("pullCallbacks", [key, String(WAIT)], signal);
        for (const one of Array.isArray(calls) ? calls : []) await this.received(key, /** @type {any} */ (one));
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    } catch {
      if (this.key === key) this.forget();
    }
  }

  /** @param {string} key @param {{[key: string]: any}} called */
  async received(key, called) {
    const isCall = called["samp.methodName"] === "receiveCall";
    const [, second, third] = called["samp.params"] ?? [];
    const message = isCall ? third : second;
    const given = message?.["samp.params"] ?? {};
    switch (message?.["samp.mtype"]) {
      case "coord.pointAt.sky": {
        const [longitude, latitude] = [Number(given.ra), Number(given.dec)];
        if (Number.isFinite(longitude) && Math.abs(latitude) <= 90) this.pointed(longitude, latitude);
        break;
      }
      case "samp.hub.event.shutdown":
        this.forget();
        return;
    }
    if (isCall) await call("reply", [key, second, { "samp.status": "samp.ok", "samp.result": {} }]);
  }
}
