// Requests to the server: addresses, failures as problem documents, and what is under way.

/** The server's answer to a request that failed. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 if the server cannot be reached
   * @param {string} detail
   * @param {string} hint what to do
   * @param {string} title kind of the failure
   */
  constructor(status, detail, hint, title = "") {
    super(detail);
    this.status = status;
    this.hint = hint;
    this.title = title;
  }
}

/** Names this page in views, so that two pages do not cancel each other's requests. */
const SESSION = Math.random().toString(36).slice(2, 10);

/** Longer regions are sent as the body of POST: proxies limit addresses, often to 8 KiB. */
const LONGEST_REGION = 2000;

/**
 * The token of a server whose page is in a frame of another site, where browsers keep no cookie.
 * It comes with the link and is sent as a header.
 */
let token = "";

/** @typedef {Record<string, string | number | boolean | null | undefined>} Parameters */

/** @type {Set<string>} */
const underWay = new Set();

/** Called with a text about what is under way, "" for nothing. */
export const activity = { changed: (/** @type {string} */ _text) => {} };

/**
 * Return the address of an endpoint; parameters that are null are left out.
 * @param {string} name
 * @param {Parameters} parameters
 * @param {string} before what the path begins with, for other programs
 */
export function address(name, parameters, before = "") {
  const found = new URL(`${before}api/v1/${name}`, document.baseURI);
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined) found.searchParams.set(key, String(value));
  }
  found.hash = "";
  return found.href;
}

/**
 * Return the address of an endpoint for downloads, with which browsers send no header.
 * @param {string} name
 * @param {Parameters} parameters
 */
export function linkTo(name, parameters) {
  return address(name, token ? { ...parameters, token } : parameters);
}

/** Take the token out of the part of the address after "#", so that no copied link has it. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  token = given.get("token") ?? token;
  if (!given.has("token")) return;
  const rest = location.hash.slice(1).split("&").filter((part) => !part.startsWith("token="));
  history.replaceState(null, "", `#${rest.join("&")}`);
}

/** @returns {Record<string, string>} */
function headers() {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * Ask an endpoint.
 * @param {string} name
 * @param {Parameters} parameters
 * @param {{signal?: AbortSignal, view?: string, doing?: string, body?: string}} options `view` is
 *   the place where the answer is shown: the server stops work for it when a newer request comes
 * @returns {Promise<Response>}
 */
export async function ask(name, parameters, { signal, view, doing, body } = {}) {
  /** @type {Parameters} */
  const all = view ? { ...parameters, view: `${SESSION}-${view}` } : { ...parameters };
  if (body === undefined && String(all.region ?? "").length > LONGEST_REGION) {
    body = String(all.region);
    delete all.region;
  }
  const mark = doing ? `${doing}\n${Math.random()}` : "";
  if (mark) {
    underWay.add(mark);
    tell();
  }
  try {
    /** @type {RequestInit} */
    const options = { signal: signal ?? null, headers: headers() };
    if (body !== undefined) Object.assign(options, { method: "POST", body });
    const answer = await fetch(address(name, all), options);
    if (!answer.ok) throw await failure(answer);
    return answer;
  } catch (error) {
    if (error instanceof TypeError) {
      throw new ApiError(0, "the server does not answer", "check that `tachyfits` still runs");
    }
    throw error;
  } finally {
    if (mark) {
      underWay.delete(mark);
      tell();
    }
  }
}

/**
 * Ask an endpoint for JSON.
 * @param {string} name
 * @param {Parameters} parameters
 * @param {{signal?: AbortSignal, view?: string, doing?: string}} options
 * @returns {Promise<any>}
 */
export async function askJson(name, parameters, options = {}) {
  return (await ask(name, parameters, options)).json();
}

/**
 * Return the bytes of a file that an endpoint would send; no body is sent.
 * @param {string} name
 * @param {Parameters} parameters
 * @param {AbortSignal} signal
 */
export async function sizeOf(name, parameters, signal) {
  const answer = await fetch(address(name, parameters), { method: "HEAD", signal, headers: headers() });
  // HEAD has no body with the reason: GET tells it, and sends no file if it fails, too.
  if (!answer.ok) await ask(name, parameters, { signal });
  return Number(answer.headers.get("Content-Length"));
}

/**
 * Follow a long request by its name until it ends, as server-sent events.
 * @param {string} job
 * @param {AbortSignal} signal
 * @param {(fraction: number) => void} changed
 */
export async function progressOf(job, signal, changed) {
  try {
    const answer = await ask(`jobs/${job}/events`, {}, { signal });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; reader; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (text + value).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const found = /^event: progress\ndata: (.*)$/.exec(event);
        if (found) changed(JSON.parse(found[1]).fraction);
      }
    }
  } catch {
    // Progress is a courtesy: the request itself tells its failure.
  }
}

/** Cancel a long request by its name. @param {string} job */
export async function stopJob(job) {
  await fetch(address(`jobs/${job}`, {}), { method: "DELETE", headers: headers() }).catch(() => {});
}

/** @param {Response} answer */
async function failure(answer) {
  const found = await answer.json().catch(() => ({}));
  const detail = found.detail ?? `the server answered ${answer.status} ${answer.statusText}`;
  return new ApiError(answer.status, detail, found.hint ?? "", found.title ?? "");
}

function tell() {
  const texts = [...new Set([...underWay].map((mark) => mark.slice(0, mark.indexOf("\n"))))];
  activity.changed(texts.join(" · "));
}

/**
 * Is this the failure of a request that nobody waits for any more?
 * @param {unknown} error
 */
export function isStale(error) {
  if (error instanceof ApiError) return error.title === "Superseded";
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * Runs one request at a time and always ends with the newest: those between are never sent.
 *
 * A request that takes longer than `patience` milliseconds is aborted when a newer one comes, so
 * that fast answers follow a moving mouse and slow ones do not pile up.
 * @template T
 */
export class Latest {
  /**
   * @param {(wanted: T, signal: AbortSignal) => Promise<void>} run
   * @param {(error: unknown) => void} failed
   */
  constructor(run, failed, patience = 400) {
    this.run = run;
    this.failed = failed;
    this.patience = patience;
    /** @type {T | null} */
    this.wanted = null;
    /** @type {T | null} */
    this.sent = null;
    /** @type {AbortController | null} */
    this.running = null;
    this.started = 0;
  }

  /** Is this the newest request, and not answered yet? @param {T} wanted */
  isAsking(wanted) {
    if (this.wanted !== null) return this.wanted === wanted;
    return this.running !== null && !this.running.signal.aborted && this.sent === wanted;
  }

  /** @param {T} wanted */
  ask(wanted) {
    this.wanted = wanted;
    if (!this.running) void this.loop();
    else if (performance.now() - this.started > this.patience) this.running.abort();
  }

  /** Drop waiting requests and abort those under way. */
  stop() {
    this.wanted = null;
    this.running?.abort();
  }

  async loop() {
    while (this.wanted !== null) {
      const wanted = this.sent = this.wanted;
      this.wanted = null;
      this.running = new AbortController();
      this.started = performance.now();
      try {
        await this.run(wanted, this.running.signal);
      } catch (error) {
        if (!isStale(error)) this.failed(error);
      }
      this.running = null;
    }
  }
}
