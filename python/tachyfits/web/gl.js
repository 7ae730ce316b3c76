// Drawing tiles with WebGL2: cuts, stretch and colour map are computed for each pixel on screen.

import { SAMPLES } from "./colourmaps.js";

/** Stretches by name; the shader has them in this order. */
export const STRETCHES = ["linear", "log", "asinh", "sqrt", "power"];

const VERTEX = `#version 300 es
uniform vec2 origin;
uniform vec2 along;
uniform vec2 up;
out vec2 place;
const vec2 CORNERS[4] = vec2[4](vec2(0, 0), vec2(1, 0), vec2(0, 1), vec2(1, 1));
void main() {
  vec2 corner = CORNERS[gl_VertexID];
  place = corner;
  gl_Position = vec4(origin + corner.x * along + corner.y * up, 0, 1);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D pixels;
uniform sampler2D colours;
uniform vec2 used;
uniform vec2 cuts;
uniform vec2 adjust;
uniform float power;
uniform float opacity;
uniform int stretch;
in vec2 place;
out vec4 colour;

bool undefined(float value) {
  uint bits = floatBitsToUint(value);
  return (bits & 0x7f800000u) == 0x7f800000u && (bits & 0x007fffffu) != 0u;
}

float stretched(float t) {
  if (stretch == 1) return log(1000.0 * t + 1.0) / log(1001.0);
  if (stretch == 2) return asinh(10.0 * t) / asinh(10.0);
  if (stretch == 3) return sqrt(t);
  if (stretch == 4) return pow(t, power);
  return t;
}

void main() {
  ivec2 size = textureSize(pixels, 0);
  ivec2 at = min(ivec2(place * used * vec2(size)), size - 1);
  float value = texelFetch(pixels, at, 0).r;
  if (undefined(value)) { colour = vec4(0); return; }
  float t = clamp((value - cuts.x) / (cuts.y - cuts.x), 0.0, 1.0);
  t = clamp((stretched(t) - adjust.x) * adjust.y + 0.5, 0.0, 1.0);
  colour = vec4(texture(colours, vec2((t * 255.0 + 0.5) / 256.0, 0.5)).rgb, opacity);
}`;

/**
 * @typedef {object} Look how values become colours
 * @property {string} map
 * @property {boolean} inverted
 * @property {string} stretch
 * @property {number} power
 * @property {number} low
 * @property {number} high
 * @property {number} bias
 * @property {number} contrast
 */

/**
 * @typedef {object} Quad a tile and three of its corners in its cell
 * @property {import("./tiles.js").Tile} tile
 * @property {import("./regions.js").Point} corner of its first pixel
 * @property {import("./regions.js").Point} right the other end of its first row
 * @property {import("./regions.js").Point} top the other end of its first column
 * @property {number[]} used the part of the tile that is shown: of its width, of its height
 */

/**
 * @typedef {object} Layer quads that lie over those of the layers before
 * @property {Quad[]} quads coarse ones first
 * @property {Look} look
 * @property {import("./sheet.js").Cell} cell
 * @property {number} opacity 1 covers what is below
 * @property {boolean[] | null} colours whether red, green and blue are drawn; null: all
 */

/**
 * Return a colour map as 256 colours of four bytes.
 * @param {string} name
 * @param {boolean} inverted
 */
export function colourTable(name, inverted) {
  const text = SAMPLES[name] ?? SAMPLES.grey;
  const last = text.length / 6 - 1;
  const table = new Uint8Array(1024);
  for (let i = 0; i < 256; i++) {
    const at = ((inverted ? 255 - i : i) / 255) * last;
    const below = Math.min(Math.floor(at), last - 1);
    for (let c = 0; c < 3; c++) {
      const [a, b] = [below, below + 1].map((n) => parseInt(text.slice(6 * n + 2 * c, 6 * n + 2 * c + 2), 16));
      table[4 * i + c] = Math.round(a + (b - a) * (at - below));
    }
    table[4 * i + 3] = 255;
  }
  return table;
}

/**
 * Return where a value lies on the colour map, 0 to 1: the same as the shader.
 * @param {number} value
 * @param {Look} look
 */
export function brightness(value, look) {
  const clamp = (/** @type {number} */ t) => Math.min(1, Math.max(0, t));
  let t = clamp((value - look.low) / (look.high - look.low));
  if (look.stretch === "log") t = Math.log(1000 * t + 1) / Math.log(1001);
  if (look.stretch === "asinh") t = Math.asinh(10 * t) / Math.asinh(10);
  if (look.stretch === "sqrt") t = Math.sqrt(t);
  if (look.stretch === "power") t = t ** look.power;
  return clamp((t - look.bias) * look.contrast + 0.5);
}

/** Is WebGL computed by the processor? @param {WebGL2RenderingContext} gl */
function isSoftware(gl) {
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(String(name));
}

/**
 * Let the processor draw the 2-D canvases that are made from now on.
 *
 * Without a graphics card browsers draw their paths by software GL, which takes several times as long:
 * a chart of four spectra 150 ms a frame. A chart makes its own canvas, so the method is replaced.
 */
function drawByProcessor() {
  const { prototype } = HTMLCanvasElement;
  const plain = /** @type {(kind: string, options?: any) => any} */ (prototype.getContext);
  Object.assign(prototype, {
    /** @this {HTMLCanvasElement} @param {string} kind @param {any} options */
    getContext(kind, options) {
      return plain.call(this, kind, kind === "2d" ? { willReadFrequently: true, ...options } : options);
    },
  });
}

/** Draws quads on a canvas. */
export class Renderer {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { preserveDrawingBuffer: true, antialias: false });
    if (!gl) throw new Error("this browser has no WebGL2: use a newer one, or allow it in its settings");
    if (isSoftware(gl)) drawByProcessor();
    this.gl = gl;
    this.canvas = canvas;
    /** @type {Map<import("./tiles.js").Tile, WebGLTexture>} */
    this.textures = new Map();
    this.mapName = "";
    /** @type {(name: string) => WebGLUniformLocation | null} */
    this.uniform = () => null;
    this.start();
  }

  /** Make the program and the texture of colours; again after the context was lost. */
  start() {
    const { gl } = this;
    this.textures.clear();
    this.mapName = "";
    const program = /** @type {WebGLProgram} */ (gl.createProgram());
    for (const [kind, source] of /** @type {[number, string][]} */ ([
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ])) {
      const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
        throw new Error(gl.getShaderInfoLog(shader) ?? "the shader does not compile");
      }
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.uniform = (name) => gl.getUniformLocation(program, name);
    gl.uniform1i(this.uniform("pixels"), 0);
    gl.uniform1i(this.uniform("colours"), 1);
    gl.bindVertexArray(gl.createVertexArray());
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.colours = gl.createTexture();
  }

  /**
   * Draw layers over each other in their order.
   * @param {Layer[]} layers
   * @param {number} ratio pixels of the canvas per pixel of the screen
   */
  draw(layers, ratio) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.disable(gl.SCISSOR_TEST);
    gl.colorMask(true, true, true, true);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    // Fine tiles are drawn first and hide coarse ones below them, also where they are undefined.
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    for (const { quads, look, cell, opacity, colours } of layers) {
      const edge = (/** @type {number} */ at) => Math.round(at * ratio);
      const [left, bottom] = [edge(cell.x), canvas.height - edge(cell.y + cell.height)];
      gl.scissor(left, bottom, edge(cell.x + cell.width) - left, canvas.height - edge(cell.y) - bottom);
      gl.clear(gl.DEPTH_BUFFER_BIT);
      const [red, green, blue] = colours ?? [true, true, true];
      gl.colorMask(red, green, blue, true);
      this.setLook(look);
      gl.uniform1f(this.uniform("opacity"), opacity);
      for (const quad of [...quads].reverse()) this.drawQuad(quad, cell, ratio);
    }
  }

  /** @param {Quad} quad @param {import("./sheet.js").Cell} cell @param {number} ratio */
  drawQuad({ tile, corner, right, top, used }, cell, ratio) {
    const { gl, canvas } = this;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture(tile));
    const x = (/** @type {number} */ at) => (2 * at * ratio) / canvas.width;
    const y = (/** @type {number} */ at) => (-2 * at * ratio) / canvas.height;
    gl.uniform2f(this.uniform("origin"), x(cell.x + corner.x) - 1, y(cell.y + corner.y) + 1);
    gl.uniform2f(this.uniform("along"), x(right.x - corner.x), y(right.y - corner.y));
    gl.uniform2f(this.uniform("up"), x(top.x - corner.x), y(top.y - corner.y));
    gl.uniform2f(this.uniform("used"), used[0], used[1]);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  /** @param {Look} look */
  setLook(look) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.colours ?? null);
    const name = `${look.map} ${look.inverted}`;
    if (name !== this.mapName) {
      const table = colourTable(look.map, look.inverted);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, table);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
      this.mapName = name;
    }
    gl.uniform2f(this.uniform("cuts"), look.low, look.high);
    gl.uniform2f(this.uniform("adjust"), look.bias, look.contrast);
    gl.uniform1f(this.uniform("power"), look.power);
    gl.uniform1i(this.uniform("stretch"), Math.max(0, STRETCHES.indexOf(look.stretch)));
  }

  /** @param {import("./tiles.js").Tile} tile */
  texture(tile) {
    const found = this.textures.get(tile);
    if (found) return found;
    const { gl } = this;
    const made = /** @type {WebGLTexture} */ (gl.createTexture());
    gl.bindTexture(gl.TEXTURE_2D, made);
    const { width, height, pixels } = tile;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, width, height, 0, gl.RED, gl.FLOAT, pixels);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    this.textures.set(tile, made);
    return made;
  }

  /**
   * Free the texture of a tile.
   * @param {import("./tiles.js").Tile} tile
   */
  drop(tile) {
    const found = this.textures.get(tile);
    if (found) this.gl.deleteTexture(found);
    this.textures.delete(tile);
  }
}
