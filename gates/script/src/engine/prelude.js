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
    for (let i = 0; i < keys.length; i++) copy[keys[i]] = clone(value[keys[i]], seen);
    return copy;
  };
  setGlobal("structuredClone", (value) => clone(value, new MapOf()));
  host.locale((object, name, value) => defineProperty(object, name, { value, writable: true, configurable: true }), (name, at) => {
    const zone = host.zone(name, at);
    return zone && parse(zone);
  });
  setGlobal("TextEncoder", class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(source = "") { return new Bytes(host.encode(text(source))); }
  });
  const decoders = { "utf-8": "utf-8", utf8: "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le", "utf-16be": "utf-16be", latin1: "windows-1252", "iso-8859-1": "windows-1252", "windows-1252": "windows-1252", ascii: "windows-1252", "us-ascii": "windows-1252" };
  setGlobal("TextDecoder", class TextDecoder {
    #options;
    constructor(label = "utf-8", options = {}) {
      const name = StringOf(label).trim().toLowerCase();
      if (!hasOwn(decoders, name)) throw new RangeErrorOf(`TextDecoder knows utf-8, utf-16le, utf-16be and latin1, not '${label}'`);
      this.encoding = decoders[name];
      this.fatal = !!options.fatal;
      this.ignoreBOM = !!options.ignoreBOM;
    }
    decode(bytes = [], options = {}) {
      if (options.stream) throw new TypeErrorOf("TextDecoder does not support the option stream; decode all bytes at once");
      const list = Array.from(new Bytes(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength));
      const decoded = host.decode(list, this.encoding, this.fatal);
      if (decoded === undefined) throw new TypeErrorOf(`the bytes are not ${this.encoding}`);
      return !this.ignoreBOM && decoded[0] === "\ufeff" ? decoded.slice(1) : decoded;
    }
  });
  // The standard's own parser does all of it; an address is its parts.
  let setPairs;
  setGlobal("URLSearchParams", class URLSearchParams {
    static { setPairs = (query, pairs) => { query.#pairs = pairs; }; }
    #pairs = [];
    #changed = () => {};
    constructor(init = "", changed) {
      if (typeof init === "object" && init !== null) {
        for (const [name, value] of init[Symbol.iterator] ? init : Object.entries(init)) this.append(name, value);
      } else this.#pairs = parse(host.query(text(init).replace(/^\?/, "")));
      if (typeof changed === "function") this.#changed = changed;
    }
    #set(pairs) { this.#pairs = pairs; this.#changed(this.toString()); }
    get size() { return this.#pairs.length; }
    append(name, value) { this.#set([...this.#pairs, [text(name), text(value)]]); }
    delete(name, value) { this.#set(this.#pairs.filter((pair) => pair[0] !== text(name) || value !== undefined && pair[1] !== text(value))); }
    get(name) { return this.#pairs.find((pair) => pair[0] === text(name))?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter((pair) => pair[0] === text(name)).map((pair) => pair[1]); }
    has(name, value) { return this.#pairs.some((pair) => pair[0] === text(name) && (value === undefined || pair[1] === text(value))); }
    set(name, value) {
      const at = this.#pairs.findIndex((pair) => pair[0] === text(name));
      const rest = this.#pairs.filter((pair, place) => pair[0] !== text(name) || place === at);
      if (at < 0) rest.push([text(name), text(value)]); else rest[at] = [text(name), text(value)];
      this.#set(rest);
    }
    sort() { this.#set(this.#pairs.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))); }
    forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
    entries() { return this.#pairs.map((pair) => [...pair])[Symbol.iterator](); }
    keys() { return this.#pairs.map((pair) => pair[0])[Symbol.iterator](); }
    values() { return this.#pairs.map((pair) => pair[1])[Symbol.iterator](); }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return host.writtenQuery(stringify(this.#pairs)); }
  });
  const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  class URLOf {
    #parts;
    #query;
    constructor(address, base) {
      const found = host.url(text(address), base === undefined ? undefined : text(base));
      if (found === undefined) throw new TypeErrorOf(`Invalid URL: '${text(address)}'${base === undefined ? "" : ` with the base '${text(base)}'`}`);
      this.#parts = parse(found);
    }
    static canParse(address, base) { return host.url(text(address), base === undefined ? undefined : text(base)) !== undefined; }
    static parse(address, base) { return URLOf.canParse(address, base) ? new URLOf(address, base) : null; }
    get searchParams() {
      return this.#query ??= new URLSearchParams(this.search, (query) => { this.#change("search", query); });
    }
    #change(part, value) { this.#parts = parse(host.changedUrl(this.#parts.href, part, text(value))); }
    static {
      for (const part of PARTS) {
        const set = part === "origin" ? undefined : function (value) {
          if (part === "href") this.#parts = new URLOf(value).#parts; else this.#change(part, value);
          if (this.#query && (part === "href" || part === "search")) setPairs(this.#query, parse(host.query(apply(slice, this.search, [1]))));
        };
        defineProperty(URLOf.prototype, part, { get() { return this.#parts[part]; }, set, enumerable: true, configurable: true });
      }
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
  }
  defineProperty(URLOf, "name", { value: "URL" });
  setGlobal("URL", URLOf);

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
