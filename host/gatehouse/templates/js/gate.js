// What the host calls: the two exports of the contract. The tools themselves are in weather.js.
// Names of WIT are camel case here; a fault is thrown as a plain object.

import http from "gatehouse:gate/http@0.1.0";

import { DEFAULTS, Failure, PARAMS_SCHEMA, TOOLS } from "./weather.js";

/** What tools of each effect are for. Hosts set time-outs and retries by it. */
const INTENTS = { "read-only": "query", mutating: "modify", "external-exec": "execute" };

export const tools = {
  // Must be pure: the same parameters give the same bytes. The host checks them against the schema.
  describe: guarded((params) => {
    const given = { ...DEFAULTS, ...JSON.parse(params) };
    return {
      name: "{{name}}",
      version: "0.1.0",
      summary: "The weather, and its numbers on two scales.",
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

  // The arguments match the tool's schema already, and the parameters have the defaults filled in.
  call: guarded((call) => {
    const tool = TOOLS.find((tool) => tool.name === call.tool);
    if (!tool) throw fault("not-found", `This gate has no tool '${call.tool}'.`, null);
    const { text, data } = tool.run(JSON.parse(call.arguments), JSON.parse(call.params), fetchText);
    return { content: [{ tag: "text", val: text }], structured: JSON.stringify(data), isError: false };
  }),
};

/** Turns what an export throws into a fault; an exception that nobody caught says what it is and where. */
function guarded(work) {
  return (given) => {
    try {
      return work(given);
    } catch (error) {
      if (error instanceof Failure) throw fault(error.kind, error.message, error.hint);
      // A fault already: of this file, or of the host (not granted, not reachable, too slow), which comes in an error.
      if (typeof (error?.payload ?? error)?.kind === "string") throw error;
      const frame = String(error?.stack ?? "").trim().split("\n")[0].replace("(/", "(").trim();
      const what = [String(error).replace(/\.$/, "").slice(0, 500), frame].filter(Boolean).join(", ");
      throw fault("internal", `Gate '{{name}}' failed: ${what}.`, "This is a bug in the gate.");
    }
  };
}

function effectOf(tool) {
  if (Object.hasOwn(INTENTS, tool.effect)) return tool.effect;
  const hint = `Write effect into its entry in weather.js; it is one of ${Object.keys(INTENTS).join(", ")}.`;
  throw fault("internal", `Tool '${tool.name}' does not state its effect.`, hint);
}

function fault(kind, message, hint) {
  return { kind, message, hint, retryable: kind === "unavailable" };
}

/** Asks through the host. */
function fetchText(url) {
  const headers = [{ name: "Accept", value: "application/json" }];
  const { status, body } = http.fetch({ method: "GET", url, headers, body: null, timeoutMs: 10_000 });
  return { status, text: decode(body) };
}

/** UTF-8 to text: this JavaScript has no TextDecoder. */
function decode(bytes) {
  let escaped = "";
  for (const byte of bytes) escaped += "%" + byte.toString(16).padStart(2, "0");
  try {
    return decodeURIComponent(escaped);
  } catch {
    throw new Failure("unavailable", "The weather service sent something that is not text.", null);
  }
}
