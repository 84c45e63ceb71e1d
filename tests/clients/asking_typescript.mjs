// Answers what a gate asks, with the official TypeScript SDK, 1.x or 2.x by what is installed.
const target = JSON.parse(process.argv[2]);
const load = async (...paths) => {
  for (const path of paths) {
    try {
      return await import(path);
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND" && error.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error;
    }
  }
  return {};
};
const { Client } = await load("@modelcontextprotocol/client", "@modelcontextprotocol/sdk/client/index.js");
const http = await load("@modelcontextprotocol/client", "@modelcontextprotocol/sdk/client/streamableHttp.js");
const stdio = await load("@modelcontextprotocol/client/stdio", "@modelcontextprotocol/sdk/client/stdio.js");
const types = await load("@modelcontextprotocol/sdk/types.js");
const transport = target.url
  ? new http.StreamableHTTPClientTransport(new URL(target.url))
  : new stdio.StdioClientTransport(target);
const capabilities = { elicitation: { form: {} }, sampling: {} };
const client = new Client({ name: "typescript", version: "1" }, { capabilities });
const asked = [];
const told = [];
client.setRequestHandler(types.ElicitRequestSchema ?? "elicitation/create", async (request) => {
  asked.push(request.params.message);
  return asked.length === 3 ? { action: "decline" } : { action: "accept", content: { n: asked.length } };
});
client.setRequestHandler(types.CreateMessageRequestSchema ?? "sampling/createMessage", async () => ({
  role: "assistant",
  model: "m-1",
  content: { type: "text", text: "Because." },
}));
client.setNotificationHandler(types.LoggingMessageNotificationSchema ?? "notifications/message", (message) => {
  const { level, logger, data } = message.params;
  told.push([level, logger, data]);
});
await client.connect(transport);
await client.setLoggingLevel("info");
const said = async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text;
const ask = await said("ask", { message: "How many?", times: 3 });
const ask_model = await said("ask_model", { prompt: "Why?" });
const tell = await said("tell", {});
console.log(JSON.stringify({ legacy: { asked, told, ask, ask_model, tell } }));
await client.close();
