"""FastMCP's client."""
import asyncio, json, sys

# A script's own folder comes first on the path, and this file bears the library's name.
sys.path.pop(0)
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError


async def main():
    target = json.loads(sys.argv[1])
    async with Client(target["url"] if "url" in target else StdioTransport(**target)) as client:
        tools = await client.list_tools()
        fine = await client.call_tool("get_page_structure", {"page_type": "principle"})
        try:
            await client.call_tool("get_wiki_page", {"page_title": "No_Such_Page"})
        except ToolError as error:
            fault = str(error)
        print(json.dumps({"tools": [t.name for t in tools], "text": fine.content[0].text, "fault": fault}))


asyncio.run(main())
