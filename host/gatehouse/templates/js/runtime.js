// What this JavaScript engine lacks: a console, a decoder of text, fresh random numbers, and JSON that loses nothing.
//
// A build runs the modules once and keeps their state, so the host can be called only while a tool runs. A number that
// a module draws while it loads is the same in every call.

import context from "gatehouse:gate/context@0.1.0";
import random from "wasi:random/random@0.2.0";

const LEVELS = { trace: "trace", debug: "debug", log: "info", info: "info", warn: "warn", error: "error" };
const frozenRandom = Math.random;
let isCalled = false;

/** Runs a tool, which may use the console and random numbers. */
export function duringCall(work) {
  isCalled = true;
  return work();
}

Math.random = () => {
  if (!isCalled) return frozenRandom();
  const bits = new DataView(Uint8Array.from(random.getRandomBytes(8)).buffer).getBigUint64(0);
  return Number(bits >> 11n) / 2 ** 53;
};

globalThis.crypto ??= {
  getRandomValues(array) {
    const bytes = random.getRandomBytes(array.byteLength);
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes);
    return array;
  },
  randomUUID() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  },
};

/** Decodes UTF-8. Wrong bytes become U+FFFD. */
globalThis.TextDecoder ??= class {
  decode(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; ) {
      const lead = bytes[at];
      let length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
      const escaped = Array.from(bytes.slice(at, at + length), (byte) => "%" + byte.toString(16).padStart(2, "0"));
      try {
        text += length === 1 ? String.fromCharCode(lead) : decodeURIComponent(escaped.join(""));
      } catch {
        text += "\uFFFD";
        length = 1;
      }
      at += length;
    }
    return text;
  }
};

/** Writes to the host's log. */
globalThis.console ??= Object.fromEntries(
  Object.entries(LEVELS).map(([name, level]) => [
    name,
    (...values) => isCalled && context.log(level, values.map(shown).join(" "), ""),
  ]),
);

function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Returns a mark for integers that no text has, because nobody can guess it. */
const newMark = () => `${Array.from(random.getRandomBytes(12)).join(".")}:`;

/** Parses JSON. Integers beyond 2^53, such as ids of 64 bits, become BigInts. */
export function parseJson(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const mark = newMark();
  const isBig = (token) => /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
  const marked = text.replace(TOKENS, (token) => (isBig(token) ? JSON.stringify(mark + token) : token));
  const isMarked = (value) => typeof value === "string" && value.startsWith(mark);
  return JSON.parse(marked, (_, value) => (isMarked(value) ? BigInt(value.slice(mark.length)) : value));
}

/** Writes JSON, with BigInts as numbers. NaN and infinities, which would become null, are an error. */
export function toJson(value) {
  let mark;
  const text = JSON.stringify(value, (key, value) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new TypeError(`The result has ${value} in '${key}', which JSON does not have.`);
    }
    return typeof value === "bigint" ? (mark ??= newMark()) + value : value;
  });
  if (text === undefined) return text;
  const bigs = mark && new RegExp(`"${mark.replaceAll(".", "\\.")}(-?\\d+)"`, "g");
  const written = bigs ? text.replace(bigs, "$1") : text;
  // Half of a surrogate pair is not text.
  return written.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/gi, (escape, half) => (half ? "\\ufffd" : escape));
}
