// Numbers and positions as text.

/**
 * Return a number with about five digits.
 * @param {number | null | undefined} value
 */
export function number(value, digits = 5) {
  if (value === null || value === undefined || Number.isNaN(value)) return "undefined";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 2);
  return String(Number(value.toPrecision(digits)));
}

/**
 * Return the numbers of an axis, all with as many decimals as their steps need.
 * @param {number[]} values that ascend by equal steps
 */
export function ticks(values, digits = 4) {
  const most = Math.max(...values.map(Math.abs));
  const step = Math.abs(values[values.length - 1] - values[0]) / Math.max(1, values.length - 1);
  if (!(step > 0) || most < 1e-4 || most >= 1e6) return values.map((value) => number(value, digits));
  const decimals = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(step))));
  return values.map((value) => String(Number(value.toFixed(decimals))));
}

/**
 * Return an angle in sexagesimal parts, which carry: 59.9996 s with three digits is the next minute.
 * @param {number} value
 * @param {number} digits after the point
 * @param {string[]} marks
 */
function sexagesimal(value, digits, marks) {
  const unit = 10 ** digits;
  const total = Math.round(Math.abs(value) * 3600 * unit);
  const seconds = total % (60 * unit);
  const minutes = Math.floor(total / (60 * unit)) % 60;
  const whole = Math.floor(total / (3600 * unit));
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const text = (seconds / unit).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return [two(whole), two(minutes), text].map((part, i) => part + marks[i]).join("");
}

/**
 * Return a position on the sky: hours and degrees for right ascensions, else degrees.
 * @param {{frame: string, longitude: number, latitude: number}} sky
 */
export function position({ frame, longitude, latitude }) {
  if (!/^(icrs|fk\d)/i.test(frame)) {
    const sign = latitude < 0 ? "−" : "+";
    return `${longitude.toFixed(5)}° ${sign}${Math.abs(latitude).toFixed(5)}°`;
  }
  let hours = longitude / 15;
  if (hours >= 24 - 0.5e-3 / 3600) hours -= 24;
  const sign = latitude < 0 ? "−" : "+";
  const lon = sexagesimal(Math.max(0, hours), 3, ["h", "m", "s"]);
  return `${lon} ${sign}${sexagesimal(latitude, 2, ["°", "′", "″"])}`;
}

/**
 * Return a size in bytes.
 * @param {number} count
 */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  let size = count;
  let unit = -1;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size.toPrecision(3)} ${units[unit]}`;
}

/**
 * Return an angle with a fitting unit.
 * @param {number} degrees
 */
export function angle(degrees) {
  if (degrees >= 1) return `${number(degrees, 3)}°`;
  if (degrees >= 1 / 60) return `${number(degrees * 60, 3)}′`;
  return `${number(degrees * 3600, 3)}″`;
}

/** Characters of exponents, and how they are raised. @type {Record<string, string>} */
const RAISED = { "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/**
 * Return a unit with raised exponents: "Jy beam-1 km s-1".
 * @param {string | null | undefined} text
 */
export function unit(text) {
  const raise = (/** @type {string} */ exponent) => [...exponent].map((sign) => RAISED[sign] ?? sign).join("");
  return (text ?? "").replace(/([A-Za-z])\^?([-+]?\d+)/g, (_, letter, exponent) => letter + raise(exponent));
}

/** Return a frequency with a unit that suits it, and its wavelength if it is light. @param {number} hertz */
export function frequency(hertz) {
  if (hertz < 1e13) return `${Number((hertz / 1e9).toPrecision(11))} GHz`;
  return `${Number((299792458e10 / hertz).toPrecision(8))} Å in vacuum`;
}
