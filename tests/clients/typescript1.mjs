// The official TypeScript SDK, 1.x.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const target = JSON.parse(process.argv[2]);
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport(target);
const client = new Client({ name: "typescript1", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const fine = await client.callTool({ name: "get_page_structure", arguments: { page_type: "principle" } });
const bad = await client.callTool({ name: "get_wiki_page", arguments: { page_title: "No_Such_Page" } });
if (fine.isError || !bad.isError) throw new Error(JSON.stringify([fine, bad]));
console.log(JSON.stringify({ tools: tools.map((t) => t.name), text: fine.content[0].text, fault: bad.content[0].text }));
await client.close();
