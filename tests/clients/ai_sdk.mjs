// Vercel's AI SDK.
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Stdio } from "@ai-sdk/mcp/mcp-stdio";

const target = JSON.parse(process.argv[2]);
const client = await createMCPClient({ transport: target.url ? { type: "http", url: target.url } : new Stdio(target) });
const tools = await client.tools();
const options = { toolCallId: "1", messages: [] };
const fine = await tools.get_page_structure.execute({ page_type: "principle" }, options);
const bad = await tools.get_wiki_page.execute({ page_title: "No_Such_Page" }, options);
if (fine.isError || !bad.isError) throw new Error(JSON.stringify([fine, bad]));
console.log(JSON.stringify({ tools: Object.keys(tools), text: fine.content[0].text, fault: bad.content[0].text }));
await client.close();
