// The tools: names, schemas and code. Nothing here depends on WebAssembly, so
// `npm test` can test this file directly.

const ABSOLUTE_ZERO = -273.15;
const UNITS = { metric: "°C", imperial: "°F" };

/** Parameters that a preset may set, with their defaults. */
export const PARAMS_SCHEMA = {
  type: "object",
  additionalProperties: false,
  properties: {
    units: {
      type: "string",
      enum: Object.keys(UNITS),
      default: "metric",
      description: "Temperature scale: metric for Celsius, imperial for Fahrenheit.",
    },
    default_city: {
      type: "string",
      minLength: 1,
      default: "Berlin",
      description: "City of a forecast if the call names none.",
    },
    service: {
      type: "string",
      default: "https://api.weather.example",
      description: "URL of the weather service; presets.toml must allow its host.",
    },
  },
};

export const DEFAULTS = Object.fromEntries(
  Object.entries(PARAMS_SCHEMA.properties).map(([name, schema]) => [name, schema.default]),
);

/** A tool's failure: the kind of fault, a message, and the next step. */
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
    throw new Failure("not-found", `The weather service does not know the city '${city}'.`, "Check the spelling.");
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
    // Not JSON: report it below.
  }
  throw new Failure("unavailable", "The weather service sent an invalid weather report.");
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
 * The table of tools. Descriptions may mention the preset's parameters. `run` returns text and the same answer as data.
 *
 * Each tool states its strongest effect, which clients and presets use to decide what needs approval: read-only changes
 * nothing, mutating changes data that the host stores or was given, external-exec sends, runs or changes something
 * outside. idempotent: repeating a call has no further effect, so hosts may retry. openWorld: the tool accesses systems
 * outside the host, such as the web.
 */
export const TOOLS = [
  {
    name: "forecast",
    title: "Forecast",
    description: (params) =>
      "Returns the current weather in a city: the sky, and the temperature in " +
      `${UNITS[params.units]}. The default city is ${params.default_city}.`,
    input: {
      type: "object",
      additionalProperties: false,
      properties: {
        city: { type: "string", minLength: 1, maxLength: 80, description: "City, for example Oslo." },
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
    description: () => "Converts a temperature from Celsius to Fahrenheit.",
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
