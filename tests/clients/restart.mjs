// The official TypeScript SDK, 1.x or 2.x: connects, says so, and calls a tool once it is told to go on.
import { createInterface } from "node:readline";

const [url, version] = process.argv.slice(2);
const load = async () => {
  if (version === "2") return import("@modelcontextprotocol/client");
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  return { Client, ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")) };
};
const { Client, StreamableHTTPClientTransport } = await load();
const client = new Client({ name: "restart", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const before = (await client.listTools()).tools.length;
console.log("connected");
for await (const _ of createInterface({ input: process.stdin })) break;
const said = await client.callTool({ name: "echo", arguments: { text: "still here" } });
const after = (await client.listTools()).tools.length;
console.log(JSON.stringify({ said: said.content[0].text, before, after }));
process.exit(0);
