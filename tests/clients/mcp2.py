"""The official Python SDK, 2.x."""
import asyncio, json, sys
from mcp import Client, StdioServerParameters, stdio_client


async def main():
    target = json.loads(sys.argv[1])
    server = target["url"] if "url" in target else stdio_client(StdioServerParameters(**target))
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        fine = await client.call_tool("get_page_structure", {"page_type": "principle"})
        bad = await client.call_tool("get_wiki_page", {"page_title": "No_Such_Page"})
        assert bad.is_error and not fine.is_error
        print(json.dumps({"tools": [t.name for t in tools], "text": fine.content[0].text, "fault": bad.content[0].text}))


asyncio.run(main())
