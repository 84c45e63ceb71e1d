// Exports that the host calls, as the contract defines them. The conversion is in cards.js.
// WIT names become camel case, and faults are thrown as plain objects.

import { FORMATS, markdown, NoText } from "./cards.js";
import { duringCall } from "./runtime.js";

export const convert = {
  formats: () => FORMATS,

  convert(file, name, mediaType) {
    try {
      return duringCall(() => markdown(file, name, mediaType));
    } catch (error) {
      throw error instanceof NoText
        ? fault("invalid-arguments", error.message)
        : fault("internal", `gate '{{name}}' failed: ${error}, ${String(error?.stack).trim().split("\n")[0]}`);
    }
  },
};

export const tools = {
  describe: () => ({
    name: "{{name}}",
    version: "0.1.0",
    summary: "Converts recipe cards to Markdown.",
    paramsSchema: JSON.stringify({ type: "object", additionalProperties: false, properties: {} }),
    tools: [],
  }),

  call(call) {
    throw fault("not-found", `This gate has no tool '${call.tool}'.`);
  },
};

function fault(kind, message) {
  return { kind, message, hint: null, retryable: false };
}
