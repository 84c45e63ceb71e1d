// Loaded before the suite: its client does not declare skills, and would skip the scenarios for servers with skills.

const EXTENSION = "io.modelcontextprotocol/skills";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const send = globalThis.fetch;

globalThis.fetch = (input, init) => {
    if (typeof init?.body === "string" && init.body.startsWith("{")) {
        const message = JSON.parse(init.body);
        const declared = message.params?._meta?.[CAPABILITIES] ?? message.params?.capabilities;
        if (declared) {
            declared.extensions = { ...declared.extensions, [EXTENSION]: {} };
            init = { ...init, body: JSON.stringify(message) };
        }
    }
    return send(input, init);
};
