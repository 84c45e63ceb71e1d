// Functions that depend on a language, for English (en-US) and all time zones. Evaluates to a function that installs them.
// An option that is not carried out throws, because a value in another form looks right.
(define, zoneOf) => {
  "use strict";
  const { freeze, entries } = Object;
  const { apply } = Reflect;
  const { abs, floor } = Math;
  const { toFixed } = Number.prototype;
  const { normalize, toLowerCase, codePointAt } = String.prototype;
  const DateOf = Date, TypeErrorOf = TypeError, RangeErrorOf = RangeError, StringOf = String, NumberOf = Number, BigIntOf = BigInt;

  // Returns the options, all of which must be known. A locale other than English throws.
  const checked = (what, locales, options, known) => {
    const locale = typeof locales === "string" ? locales : locales?.[0];
    if (locale !== undefined && !/^(en|en-US)$/i.test(locale)) {
      throw new RangeErrorOf(`${what} knows only the locale en-US, not '${locale}'`);
    }
    for (const [name, value] of entries(options ?? {})) {
      const values = known[name];
      const isKnown = values === "number" || values === "string" ? typeof value === values : values?.includes(value);
      if (value !== undefined && !isKnown) {
        throw new RangeErrorOf(`${what} does not support the option ${name}: ${StringOf(value)}`);
      }
    }
    return options ?? {};
  };

  // Numbers
  const SYMBOLS = freeze({ USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", CAD: "CA$", AUD: "A$", MXN: "MX$", BRL: "R$", CHF: "CHF\u00a0" });
  const NUMBER = freeze({
    style: ["decimal", "percent", "currency"], currency: Object.keys(SYMBOLS), useGrouping: [true, false],
    minimumFractionDigits: "number", maximumFractionDigits: "number",
  });
  const number = (value, locales, options) => {
    const { style = "decimal", currency, useGrouping = true, ...digits } = checked("toLocaleString of a number", locales, options, NUMBER);
    if (style === "currency" && currency === undefined) throw new TypeErrorOf("the style currency needs the option currency");
    const normal = style === "percent" ? [0, 0] : style === "currency" ? (currency === "JPY" || currency === "KRW" ? [0, 0] : [2, 2]) : [0, 3];
    const least = digits.minimumFractionDigits ?? Math.min(normal[0], digits.maximumFractionDigits ?? 100);
    const most = digits.maximumFractionDigits ?? Math.max(normal[1], least);
    if (least > most || least < 0 || most > 100) throw new RangeErrorOf("maximumFractionDigits is out of range");
    if (value !== value) return "NaN";
    const sign = value < 0 || Object.is(value, -0) ? "-" : "";
    const size = typeof value === "bigint" ? (value < 0n ? -value : value) : abs(value);
    let text;
    if (size === Infinity) text = "∞";
    else {
      // The shortest decimal is rounded, not the binary number: 1.005 is 1.01.
      const decimal = typeof size === "bigint" ? StringOf(size) : size >= 1e21 ? StringOf(BigIntOf(size)) : size < 1e-6 ? apply(toFixed, size, [100]) : StringOf(size);
      let [whole, fraction = ""] = decimal.split(".");
      if (style === "percent") [whole, fraction] = [whole + fraction.padEnd(2, "0").slice(0, 2), fraction.slice(2)];
      const digits = BigIntOf(whole + fraction.slice(0, most)) + (fraction[most] >= "5" ? 1n : 0n);
      const rounded = StringOf(digits).padStart(Math.min(most, fraction.length) + 1, "0");
      const point = rounded.length - Math.min(most, fraction.length);
      [whole, fraction] = [rounded.slice(0, point), rounded.slice(point)];
      while (fraction.length > least && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
      fraction = fraction.padEnd(least, "0");
      if (useGrouping) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
      text = fraction ? `${whole}.${fraction}` : whole;
    }
    return sign + (style === "currency" ? SYMBOLS[currency] + text : style === "percent" ? text + "%" : text);
  };
  define(NumberOf.prototype, "toLocaleString", function (locales, options) { return number(this.valueOf(), locales, options); });
  define(BigInt.prototype, "toLocaleString", function (locales, options) { return number(this.valueOf(), locales, options); });

  // Dates
  const MONTHS = "January February March April May June July August September October November December".split(" ");
  const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
  const DATE = freeze({
    timeZone: "string", dateStyle: ["full", "long", "medium", "short"], timeStyle: ["full", "long", "medium", "short"], hourCycle: ["h12", "h23"], hour12: [true, false], year: ["numeric", "2-digit"], day: ["numeric", "2-digit"],
    month: ["numeric", "2-digit", "short", "long"], weekday: ["short", "long"], hour: ["numeric", "2-digit"],
    minute: ["numeric", "2-digit"], second: ["numeric", "2-digit"], timeZoneName: ["short"],
  });
  const padded = (value, form) => (form === "2-digit" ? StringOf(value).padStart(2, "0").slice(-2) : StringOf(value));
  const date = (value, locales, options, parts) => {
    const given = checked("toLocaleString of a date", locales, options, DATE);
    const at = value.getTime();
    if (at !== at) return "Invalid Date";
    const zone = zoneOf(given.timeZone ?? "UTC", at);
    if (zone === undefined) throw new RangeErrorOf(`invalid time zone: ${given.timeZone}`);
    const local = new DateOf(at + zone.offset * 1000);
    const has = (names) => names.some((name) => given[name] !== undefined);
    const form = { ...given };
    const { dateStyle, timeStyle } = given;
    if (dateStyle) {
      form.year = dateStyle === "short" ? "2-digit" : "numeric";
      form.month = { full: "long", long: "long", medium: "short", short: "numeric" }[dateStyle];
      form.day = "numeric";
      if (dateStyle === "full") form.weekday = "long";
    }
    if (timeStyle) {
      form.hour = "numeric";
      form.minute = "2-digit";
      if (timeStyle !== "short") form.second = "2-digit";
      if (timeStyle === "full" || timeStyle === "long") form.timeZoneName = "short";
    }
    const times = ["hour", "minute", "second"], dates = ["weekday", "year", "month", "day"];
    if (!dateStyle && !timeStyle && !has(parts === "date" ? dates : parts === "time" ? times : [...dates, ...times])) {
      if (parts !== "time") form.year = form.month = form.day = "numeric";
      if (parts !== "date") { form.hour = "numeric"; form.minute = form.second = "2-digit"; }
    }
    const month = form.month && (form.month === "long" || form.month === "short"
      ? MONTHS[local.getUTCMonth()].slice(0, form.month === "short" ? 3 : 9)
      : padded(local.getUTCMonth() + 1, form.month));
    const isWord = form.month === "long" || form.month === "short";
    const day = form.day && padded(local.getUTCDate(), form.day);
    const year = form.year && padded(local.getUTCFullYear(), form.year);
    const weekday = form.weekday && DAYS[local.getUTCDay()].slice(0, form.weekday === "short" ? 3 : 9);
    const written = isWord
      ? [[month, day].filter(Boolean).join(" "), year].filter(Boolean).join(day ? ", " : " ")
      : [month, day, year].filter(Boolean).join("/");
    const inDay = [weekday, written].filter(Boolean).join(", ");
    let inTime = "";
    if (form.hour || form.minute || form.second) {
      const is24 = form.hour12 === false || form.hour12 === undefined && form.hourCycle === "h23";
      const hours = local.getUTCHours();
      const shown = is24 ? hours : hours % 12 || 12;
      const two = form.hour && (form.minute || form.second) || form.minute && form.second ? "2-digit" : undefined;
      const hour = form.hour && padded(shown, is24 ? "2-digit" : form.hour);
      const minute = form.minute && padded(local.getUTCMinutes(), two ?? form.minute);
      const second = form.second && padded(local.getUTCSeconds(), two ?? form.second);
      inTime = [hour, minute, second].filter((part) => part !== undefined).join(":") + (hour && !is24 ? (hours < 12 ? " AM" : " PM") : "");
      if (form.timeZoneName) inTime += " " + zone.name;
    } else if (form.timeZoneName) inTime = zone.name;
    return [inDay, inTime].filter(Boolean).join(isWord && form.month === "long" ? " at " : ", ");
  };
  for (const [name, parts] of [["toLocaleString", ""], ["toLocaleDateString", "date"], ["toLocaleTimeString", "time"]]) {
    define(Date.prototype, name, function (locales, options) { return date(this, locales, options, parts); });
  }

  // Texts: first by letters, then by diacritics, then by case, as dictionaries do.
  const ORDER = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";
  const rank = (c) => { const at = ORDER.indexOf(c); return c <= " " ? -1 : at >= 0 ? at : 1000 + apply(codePointAt, c, [0]); };
  const COMPARE = freeze({ numeric: [true, false], sensitivity: ["base", "accent", "case", "variant"] });
  const letters = (text) => [...text].map(rank);
  const compared = (a, b) => {
    for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
  };
  const compare = (one, other, locales, options) => {
    const { numeric = false, sensitivity = "variant" } = checked("localeCompare", locales, options, COMPARE);
    const parts = (text) => {
      const open = apply(normalize, text, ["NFD"]);
      const plain = open.replace(/\p{M}/gu, "");
      const lower = apply(toLowerCase, plain, []);
      const base = numeric
        ? (lower.match(/\d+|\D/gu) ?? []).map((part) => (/\d/.test(part) ? 500 + floor(NumberOf(part)) / 1e9 : rank(part)))
        : letters(lower);
      return { base, marks: apply(toLowerCase, open, []), plain };
    };
    const [a, b] = [parts(StringOf(one)), parts(StringOf(other))];
    const byBase = compared(a.base, b.base);
    if (byBase || sensitivity === "base") return byBase;
    if (sensitivity !== "case" && a.marks !== b.marks) return a.marks < b.marks ? -1 : 1;
    if (sensitivity === "accent" || a.plain === b.plain) return 0;
    return a.plain > b.plain ? -1 : 1;
  };
  define(String.prototype, "localeCompare", function (other, locales, options) { return compare(this, other, locales, options); });

  // Formatters of Intl, on the same functions. They can be called without `new`.
  const Intl = {
    NumberFormat: function NumberFormat(locales, options) {
      number(0, locales, options);
      return { format: (value) => number(typeof value === "bigint" ? value : NumberOf(value), locales, options), resolvedOptions: () => ({ locale: "en-US", ...options }) };
    },
    DateTimeFormat: function DateTimeFormat(locales, options) {
      date(new DateOf(0), locales, options, "date");
      return {
        format: (value = DateOf.now()) => date(new DateOf(value), locales, options, "date"),
        resolvedOptions: () => ({ locale: "en-US", ...options, timeZone: options?.timeZone ?? "UTC" }),
      };
    },
    Collator: function Collator(locales, options) {
      compare("", "", locales, options);
      return { compare: (a, b) => compare(a, b, locales, options) };
    },
  };
  define(globalThis, "Intl", freeze(Intl));
}
