// The tools: what they are called, what they take and give back, and what they do. Nothing here knows of
// WebAssembly, so `npm test` tests it as it is.

const ABSOLUTE_ZERO = -273.15;
const UNITS = { metric: "°C", imperial: "°F" };

/** What a preset may set, each with its default. */
export const PARAMS_SCHEMA = {
  type: "object",
  additionalProperties: false,
  properties: {
    units: {
      type: "string",
      enum: Object.keys(UNITS),
      default: "metric",
      description: "The scale of temperatures: metric for Celsius, imperial for Fahrenheit.",
    },
    default_city: {
      type: "string",
      minLength: 1,
      default: "Berlin",
      description: "The city that a forecast is for when the call names none.",
    },
    service: {
      type: "string",
      default: "https://api.weather.example",
      description: "Where the weather service is; presets.toml has to allow its host.",
    },
  },
};

export const DEFAULTS = Object.fromEntries(
  Object.entries(PARAMS_SCHEMA.properties).map(([name, schema]) => [name, schema.default]),
);

/** Why a tool could not do it: a kind of the contract, what happened, and the next step. */
export class Failure extends Error {
  constructor(kind, message, hint = null) {
    super(message);
    this.kind = kind;
    this.hint = hint;
  }
}

function forecast(args, params, fetchText) {
  const city = args.city ?? params.default_city;
  const { status, text } = fetchText(`${params.service}/v1/now?city=${encodeURIComponent(city)}`);
  if (status === 404) {
    throw new Failure("not-found", `The weather service knows no city '${city}'.`, "Check how it is spelt.");
  }
  if (status === 401 || status === 403) {
    const hint = "Check the header under [gates.{{name}}.http] in presets.toml.";
    throw new Failure("denied", "The weather service refused the gate's credentials.", hint);
  }
  if (status !== 200) throw new Failure("unavailable", `The weather service answered with status ${status}.`);
  const { sky, celsius } = report(text);
  const temperature = rounded(params.units === "metric" ? celsius : fahrenheit(celsius));
  const unit = UNITS[params.units];
  const data = { city, sky, temperature, unit };
  return { text: `${city}: ${sky}, ${temperature.toFixed(1)} ${unit}`, data };
}

function report(text) {
  try {
    const { sky, celsius } = JSON.parse(text);
    if (typeof sky === "string" && typeof celsius === "number") return { sky, celsius };
  } catch {
    // Not JSON, which is no report either.
  }
  throw new Failure("unavailable", "The weather service sent something that is not a weather report.");
}

function convert({ celsius }) {
  if (celsius < ABSOLUTE_ZERO) {
    throw new Failure("invalid-arguments", `Nothing is colder than ${ABSOLUTE_ZERO} °C.`, "Check the sign.");
  }
  const data = { celsius, fahrenheit: rounded(fahrenheit(celsius)) };
  return { text: `${celsius.toFixed(1)} °C is ${data.fahrenheit.toFixed(1)} °F.`, data };
}

const fahrenheit = (celsius) => (celsius * 9) / 5 + 32;
const rounded = (number) => Math.round(number * 10) / 10;

/**
 * The table of tools. A description may tell the preset's parameters; `run` gives text, and the same as data.
 *
 * Every tool states what it may do to the world at most, because clients ask people by it, and presets allow by it:
 * read-only changes nothing, mutating changes what the host keeps or was given, external-exec sends, runs or changes
 * something outside. idempotent: calling it twice is the same as calling it once, so hosts may repeat it.
 * openWorld: it reaches beyond what the host keeps, the web for example.
 */
export const TOOLS = [
  {
    name: "forecast",
    title: "Forecast",
    description: (params) =>
      "What the weather is like in a city right now: the sky, and the temperature in " +
      `${UNITS[params.units]}. Without a city it is ${params.default_city}.`,
    input: {
      type: "object",
      additionalProperties: false,
      properties: {
        city: { type: "string", minLength: 1, maxLength: 80, description: "The city, for example Oslo." },
      },
    },
    output: {
      type: "object",
      required: ["city", "sky", "temperature", "unit"],
      properties: {
        city: { type: "string" },
        sky: { type: "string" },
        temperature: { type: "number" },
        unit: { type: "string", enum: Object.values(UNITS) },
      },
    },
    effect: "read-only",
    idempotent: true,
    openWorld: true,
    run: forecast,
  },
  {
    name: "convert",
    title: "Convert",
    description: () => "Changes a temperature from Celsius to Fahrenheit.",
    input: {
      type: "object",
      additionalProperties: false,
      required: ["celsius"],
      properties: { celsius: { type: "number", maximum: 1_000_000, description: "Degrees Celsius." } },
    },
    output: {
      type: "object",
      required: ["celsius", "fahrenheit"],
      properties: { celsius: { type: "number" }, fahrenheit: { type: "number" } },
    },
    effect: "read-only",
    idempotent: true,
    openWorld: false,
    run: convert,
  },
];
