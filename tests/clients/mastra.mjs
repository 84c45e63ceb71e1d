// Mastra's client.
import { MCPClient } from "@mastra/mcp";

const target = JSON.parse(process.argv[2]);
const server = target.url ? { url: new URL(target.url) } : target;
const client = new MCPClient({ id: "matrix", servers: { gatehouse: server } });
const tools = await client.getTools();
const call = async (name, input) => {
  try {
    const result = await tools[`gatehouse_${name}`].execute({ context: input }, {});
    return result?.content ? result.content[0].text : (result?.message ?? JSON.stringify(result));
  } catch (error) {
    return error.message;
  }
};
const text = await call("get_page_structure", { page_type: "principle" });
const fault = await call("get_wiki_page", { page_title: "No_Such_Page" });
const names = Object.keys(tools).map((name) => name.replace("gatehouse_", ""));
console.log(JSON.stringify({ tools: names, text, fault }));
await client.disconnect();
