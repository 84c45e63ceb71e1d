// Globals of a script that JavaScript itself does not have. Copies the built-ins that it uses, because scripts can replace them.
// Evaluates to the functions that the engine calls. `host` contains the host functions.
(host) => {
  "use strict";
  const { stringify, parse } = JSON;
  const { apply, ownKeys, defineProperty } = Reflect;
  const { isArray } = Array;
  const { create, getPrototypeOf, hasOwn, keys: enumerable } = Object;
  const PromiseOf = Promise, ErrorOf = Error, RangeErrorOf = RangeError, TypeErrorOf = TypeError, StringOf = String;
  const MapOf = Map, SetOf = Set, DateOf = Date, RegExpOf = RegExp, ProxyOf = Proxy, Bytes = Uint8Array;
  const then = Promise.prototype.then, wellFormed = String.prototype.toWellFormed;
  const mapGet = Map.prototype.get, mapSet = Map.prototype.set, mapHas = Map.prototype.has;
  const mapEach = Map.prototype.forEach, setEach = Set.prototype.forEach, setAdd = Set.prototype.add;
  const { startsWith, slice } = String.prototype;
  const BigIntOf = BigInt;
  const time = Date.prototype.getTime;
  const settled = PromiseOf.resolve();
  const text = (value) => apply(wellFormed, StringOf(value), []);

  // Code that is compiled at run time would have no position in the script.
  const noEval = function () { throw new TypeErrorOf("scripts cannot use eval; write the code directly"); };
  for (const one of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    defineProperty(getPrototypeOf(one), "constructor", { value: noEval });
  }
  const setGlobal = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true });
  setGlobal("eval", noEval);
  setGlobal("Function", noEval);
  defineProperty(Math, "random", { value: host.random, writable: true, configurable: true });

  // JSON
  const plain = (key, value) => {
    if (value instanceof MapOf) {
      const object = create(null);
      apply(mapEach, value, [(one, name) => { object[text(name)] = one; }]);
      return object;
    }
    if (value instanceof SetOf) {
      const list = [];
      apply(setEach, value, [(one) => { defineProperty(list, list.length, { value: one, enumerable: true }); }]);
      return list;
    }
    if (value instanceof ErrorOf) {
      return { name: value.name, message: value.message, type: value.type, suggestion: value.suggestion, tool: value.tool };
    }
    return value;
  };
  // The engine recurses for each level, so limit the depth.
  const written = (value, change, space) => {
    const levels = new MapOf();
    let hasInteger = false;
    const json = stringify(value, function (key, member) {
      let shown = change ? apply(change, this, [key, member]) : member;
      if (typeof shown === "bigint") {
        hasInteger = true;
        shown = host.mark + StringOf(shown);
      }
      if (typeof shown === "object" && shown !== null) {
        const level = (apply(mapGet, levels, [this]) ?? 0) + 1;
        if (level > 400) throw new RangeErrorOf("the value is nested too deeply to be written as JSON");
        apply(mapSet, levels, [shown, level]);
      }
      return shown;
    }, space);
    return json === undefined ? undefined : hasInteger ? host.unmark(text(json)) : text(json);
  };
  // Integers beyond 2^53 are BigInts, so that ids stay the same.
  const withIntegers = (json, reviver) => parse(json, function (key, value) {
    const own = typeof value === "string" && apply(startsWith, value, [host.mark]) ? integer(value) : value;
    return reviver ? apply(reviver, this, [key, own]) : own;
  });
  const integer = (value) => {
    try { return BigIntOf(apply(slice, value, [host.mark.length])); } catch (error) { return value; }
  };
  const listing = (names) => {
    const kept = create(null);
    for (let i = 0; i < names.length; i++) kept[StringOf(names[i])] = true;
    return function (key, value) { return key === "" || isArray(this) || kept[key] ? value : undefined; };
  };
  defineProperty(JSON, "stringify", {
    value: function stringify_(value, change, space) {
      return written(value, typeof change === "function" ? change : isArray(change) ? listing(change) : undefined, space);
    },
    writable: true, configurable: true,
  });
  defineProperty(JSON, "parse", {
    value: function parse_(source, reviver) {
      const json = StringOf(source);
      if (host.isDeep(text(json))) throw new RangeErrorOf("JSON is nested too deeply to be parsed");
      const marked = host.markIntegers(text(json));
      return marked === undefined ? parse(json, reviver) : withIntegers(marked, typeof reviver === "function" ? reviver : undefined);
    },
    writable: true, configurable: true,
  });

  // console
  const show = (value) => {
    if (typeof value === "string") return value;
    if (typeof value === "function") return "[function]";
    if (typeof value === "symbol") return "[symbol]";
    if (value instanceof ErrorOf) return StringOf(value.name) + ": " + StringOf(value.message);
    if (typeof value !== "object" || value === null) return StringOf(value);
    try { return written(value, plain) ?? "[object]"; } catch (error) { return "[object that cannot be shown]"; }
  };
  const printer = (level) => (...values) => {
    let line = level;
    for (let i = 0; i < values.length; i++) line += (i > 0 ? " " : "") + show(values[i]);
    host.print(text(line));
  };
  const log = printer("");
  setGlobal("console", {
    log, info: log, debug: log, table: log, dir: log, trace: log, warn: printer("warning: "), error: printer("error: "),
    group: log, groupEnd() {}, time() {}, timeEnd() {}, assert(holds, ...values) { if (!holds) log("assertion failed:", ...values); },
  });

  // Tools
  const waiting = create(null);
  const fail = (told) => {
    const error = new ErrorOf(told.message);
    defineProperty(error, "name", { value: "ToolError", configurable: true, writable: true });
    error.type = told.type;
    if (told.suggestion) error.suggestion = told.suggestion;
    if (told.tool) error.tool = told.tool;
    return error;
  };
  const call = (source, tool, args) => {
    const json = args === undefined || args === null ? "{}" : written(args, plain);
    const told = parse(host.call(text(source), text(tool), text(json)));
    if (hasOwn(told, "fatal")) throw fail(told);
    return new PromiseOf((resolve, reject) => {
      if (hasOwn(told, "message")) reject(fail(told));
      else waiting[told.id] = { resolve, reject };
    });
  };
  const methods = (source, names) => {
    const known = create(null);
    for (let i = 0; i < names.length; i++) known[names[i]] = (args) => call(source, names[i], args);
    return new ProxyOf(known, {
      get: (target, name) => typeof name === "symbol" ? undefined
        : target[name] ?? (name === "then" || name === "toJSON" ? undefined : (args) => call(source, name, args)),
      set: () => false, defineProperty: () => false, deleteProperty: () => false,
    });
  };
  let listed;
  const sources = () => {
    if (listed) return listed;
    const known = create(null);
    const all = parse(host.sources());
    for (let i = 0; i < all.length; i++) known[all[i].source] = methods(all[i].source, all[i].tools);
    listed = new ProxyOf(known, {
      get: (target, name) => typeof name === "symbol" ? undefined
        : target[name] ?? (name === "then" || name === "toJSON" ? undefined : methods(name, [])),
      set: () => false, defineProperty: () => false, deleteProperty: () => false,
    });
    return listed;
  };
  defineProperty(globalThis, "tools", { get: sources, configurable: false });
  defineProperty(globalThis, "callMCPTool", { value: (server, tool, args) => call(server, tool, args) });

  // Timers
  const timers = create(null);
  let timerCount = 0, timerId = 0;
  const start = (callback, after, every, args) => {
    if (typeof callback !== "function") throw new TypeErrorOf("a timer requires a function");
    if (timerCount >= 10000) throw new RangeErrorOf("a script can have at most 10000 timers");
    const wait = +after > 0 ? +after : 0;
    timerCount++;
    timers[++timerId] = { due: host.now() + wait, callback, every: every ? wait || 1 : 0, args };
    return timerId;
  };
  const stop = (id) => { if (timers[id]) { delete timers[id]; timerCount--; } };
  setGlobal("setTimeout", (callback, after, ...args) => start(callback, after, false, args));
  setGlobal("setInterval", (callback, after, ...args) => start(callback, after, true, args));
  setGlobal("setImmediate", (callback, ...args) => start(callback, 0, false, args));
  setGlobal("clearTimeout", stop);
  setGlobal("clearInterval", stop);
  setGlobal("clearImmediate", stop);
  setGlobal("queueMicrotask", (callback) => { apply(then, settled, [() => callback()]); });

  // Small versions of browser and Node APIs
  const clone = (value, seen) => {
    if (typeof value === "function" || typeof value === "symbol") throw new TypeErrorOf("functions cannot be cloned");
    if (typeof value !== "object" || value === null) return value;
    if (apply(mapHas, seen, [value])) return apply(mapGet, seen, [value]);
    const keep = (copy) => { apply(mapSet, seen, [value, copy]); return copy; };
    if (value instanceof DateOf) return keep(new DateOf(apply(time, value, [])));
    if (value instanceof RegExpOf) return keep(new RegExpOf(value.source, value.flags));
    if (value instanceof MapOf) {
      const copy = keep(new MapOf());
      apply(mapEach, value, [(one, name) => { apply(mapSet, copy, [clone(name, seen), clone(one, seen)]); }]);
      return copy;
    }
    if (value instanceof SetOf) {
      const copy = keep(new SetOf());
      apply(setEach, value, [(one) => { apply(setAdd, copy, [clone(one, seen)]); }]);
      return copy;
    }
    if (ArrayBuffer.isView(value)) return keep(value.slice());
    const copy = keep(isArray(value) ? [] : value instanceof ErrorOf ? new value.constructor(value.message) : {});
    const keys = enumerable(value);
    for (let i = 0; i < keys.length; i++) if (keys[i] !== "length") copy[keys[i]] = clone(value[keys[i]], seen);
    return copy;
  };
  setGlobal("structuredClone", (value) => clone(value, new MapOf()));
  setGlobal("TextEncoder", class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(source = "") { return new Bytes(host.encode(text(source))); }
  });
  setGlobal("TextDecoder", class TextDecoder {
    get encoding() { return "utf-8"; }
    decode(bytes = []) { return host.decode(Array.from(new Bytes(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength))); }
  });
  setGlobal("URLSearchParams", class URLSearchParams {
    #pairs = [];
    constructor(init = "") {
      const decode = (part) => decodeURIComponent(part.replace(/\+/g, " "));
      if (typeof init === "string") {
        for (const pair of init.replace(/^\?/, "").split("&")) {
          if (!pair) continue;
          const at = pair.indexOf("=");
          this.append(decode(at < 0 ? pair : pair.slice(0, at)), at < 0 ? "" : decode(pair.slice(at + 1)));
        }
      } else {
        for (const [name, value] of init[Symbol.iterator] ? init : Object.entries(init)) this.append(name, value);
      }
    }
    append(name, value) { this.#pairs.push([String(name), String(value)]); }
    delete(name) { this.#pairs = this.#pairs.filter((pair) => pair[0] !== name); }
    get(name) { return this.#pairs.find((pair) => pair[0] === name)?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter((pair) => pair[0] === name).map((pair) => pair[1]); }
    has(name) { return this.#pairs.some((pair) => pair[0] === name); }
    set(name, value) { this.delete(name); this.append(name, value); }
    entries() { return this.#pairs.map((pair) => [...pair])[Symbol.iterator](); }
    keys() { return this.#pairs.map((pair) => pair[0])[Symbol.iterator](); }
    values() { return this.#pairs.map((pair) => pair[1])[Symbol.iterator](); }
    [Symbol.iterator]() { return this.entries(); }
    toString() {
      const encode = (part) => encodeURIComponent(part).replace(/%20/g, "+");
      return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
    }
  });
  setGlobal("URL", class URL {
    constructor(address, base) {
      const parts = /^([a-z][a-z0-9+.-]*:)\/\/(?:[^\/?#@]*@)?([^\/?#:]*)(?::(\d+))?([^?#]*)(\?[^#]*)?(#.*)?$/i;
      let found = parts.exec(String(address).trim());
      if (!found && base !== undefined) {
        const from = new URL(base), path = String(address);
        const folder = from.pathname.replace(/[^\/]*$/, "");
        found = parts.exec(from.origin + (path.startsWith("/") ? path : path.startsWith("?") ? from.pathname + path : folder + path));
      }
      if (!found) throw new TypeError(`'${address}' is not an absolute URL`);
      this.protocol = found[1].toLowerCase();
      this.hostname = found[2].toLowerCase();
      this.port = found[3] ?? "";
      this.pathname = found[4] || "/";
      this.hash = found[6] ?? "";
      this.searchParams = new URLSearchParams(found[5] ?? "");
    }
    get host() { return this.hostname + (this.port ? `:${this.port}` : ""); }
    get origin() { return `${this.protocol}//${this.host}`; }
    get search() { const query = this.searchParams.toString(); return query ? `?${query}` : ""; }
    get href() { return this.origin + this.pathname + this.search + this.hash; }
    toString() { return this.href; }
    toJSON() { return this.href; }
  });

  return {
    read: (kind, json) => kind === "integers" ? withIntegers(json) : parse(json),
    // JSON of the script's result; undefined if it returned nothing.
    serialize: (value) => {
      return written(value, plain);
    },
    describe: (error) => {
      if (!(error instanceof ErrorOf)) return stringify({ message: "thrown: " + show(error) });
      const part = (name) => { const value = error[name]; return typeof value === "string" ? text(value) : undefined; };
      return stringify({
        name: part("name"), message: part("message"), stack: part("stack"), type: part("type"), suggestion: part("suggestion"),
      });
    },
    settle: (id, kind, told) => {
      const one = waiting[id];
      delete waiting[id];
      if (kind === "fault") one.reject(fail(parse(told)));
      else if (kind === "text") one.resolve(told);
      else try { one.resolve(kind === "integers" ? withIntegers(told) : parse(told)); } catch (error) { one.reject(error); }
    },
    // Time in milliseconds at which the next timer is due; negative if there is none.
    due: () => {
      let least = -1;
      const ids = ownKeys(timers);
      for (let i = 0, id; (id = ids[i]) !== undefined; i++) if (least < 0 || timers[id].due < least) least = timers[id].due;
      return least;
    },
    fire: () => {
      let next;
      const ids = ownKeys(timers);
      for (let i = 0, id; (id = ids[i]) !== undefined; i++) if (next === undefined || timers[id].due < timers[next].due) next = id;
      if (next === undefined) return;
      const timer = timers[next];
      if (timer.every) timer.due = host.now() + timer.every; else stop(next);
      apply(timer.callback, undefined, timer.args);
    },
  };
}
