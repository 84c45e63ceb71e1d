// Exports that the host calls, as the contract defines them. The tools are in weather.js.
// WIT names become camel case, and faults are thrown as plain objects.

import http from "gatehouse:gate/http@0.1.0";

import { duringCall, parseJson, toJson } from "./runtime.js";
import { DEFAULTS, Failure, PARAMS_SCHEMA, TOOLS } from "./weather.js";

/** The intent for each effect. Hosts use it for timeouts and retries. */
const INTENTS = { "read-only": "query", mutating: "modify", "external-exec": "execute" };

export const tools = {
  // Must be pure: equal parameters give equal bytes. The host checks parameters against the schema.
  describe: guarded((params) => {
    const given = { ...DEFAULTS, ...JSON.parse(params) };
    return {
      name: "{{name}}",
      version: "0.1.0",
      summary: "Weather forecasts and temperature conversion.",
      paramsSchema: JSON.stringify(PARAMS_SCHEMA),
      tools: TOOLS.map((tool) => ({
        name: tool.name,
        title: tool.title,
        description: tool.description(given),
        inputSchema: JSON.stringify(tool.input),
        outputSchema: JSON.stringify(tool.output),
        intent: INTENTS[effectOf(tool)],
        effect: effectOf(tool),
        idempotent: tool.idempotent,
        openWorld: tool.openWorld,
        dryRun: null,
        additive: false,
        meta: null,
        icons: [],
      })),
    };
  }),

  // The host has checked the arguments against the tool's schema and filled in default parameters.
  call: guarded((call) => {
    const tool = TOOLS.find((tool) => tool.name === call.tool);
    if (!tool) throw fault("not-found", `This gate has no tool '${call.tool}'.`, null);
    const given = parseJson(call.arguments);
    const answer = duringCall(() => tool.run(given, JSON.parse(call.params), fetchText));
    if (typeof answer?.then === "function") {
      const hint = "The host waits for no promise: remove async and await, and return the result.";
      throw fault("internal", `Tool '${tool.name}' is async, so it returned a promise.`, hint);
    }
    if (typeof answer?.text !== "string") {
      throw fault("internal", `Tool '${tool.name}' returned no text.`, "Return { text, data }.");
    }
    return { content: [{ tag: "text", val: wellFormed(answer.text) }], structured: toJson(answer.data), isError: false };
  }),
};

/** Turns exceptions of an export into faults. An unexpected exception is reported with its message and location. */
function guarded(work) {
  return (given) => {
    try {
      return work(given);
    } catch (error) {
      if (error instanceof Failure) throw fault(error.kind, error.message, error.hint);
      // Already a fault: from this file, or an error with a fault of the host (not granted, unreachable, too slow).
      if (typeof (error?.payload ?? error)?.kind === "string") throw error;
      const frame = String(error?.stack ?? "").trim().split("\n")[0].replace("(/", "(").trim();
      const what = [String(error).replace(/\.$/, "").slice(0, 500), frame].filter(Boolean).join(", ");
      throw fault("internal", `gate '{{name}}' failed: ${what}`, "This is a bug in the gate.");
    }
  };
}

/** Replaces halves of surrogate pairs, which are no text. */
const wellFormed = (text) => text.replace(/[\uD800-\uDBFF][\uDC00-\uDFFF]|[\uD800-\uDFFF]/g, (pair) => (pair[1] ? pair : "\uFFFD"));

function effectOf(tool) {
  if (Object.hasOwn(INTENTS, tool.effect)) return tool.effect;
  const hint = `Add effect to its entry in weather.js: one of ${Object.keys(INTENTS).join(", ")}.`;
  throw fault("internal", `Tool '${tool.name}' does not state its effect.`, hint);
}

function fault(kind, message, hint) {
  return { kind, message, hint, retryable: kind === "unavailable" };
}

/** Sends a request through the host. */
function fetchText(url) {
  const headers = [{ name: "Accept", value: "application/json" }];
  const { status, body } = http.fetch({ method: "GET", url, headers, body: null, timeoutMs: 10_000 });
  return { status, text: decode(body) };
}

/** Decodes UTF-8; this JavaScript engine has no TextDecoder. */
function decode(bytes) {
  let escaped = "";
  for (const byte of bytes) escaped += "%" + byte.toString(16).padStart(2, "0");
  try {
    return decodeURIComponent(escaped);
  } catch {
    throw new Failure("unavailable", "The weather service sent invalid UTF-8.", null);
  }
}
