"""Pydantic AI."""
import asyncio, json, sys

sys.path.pop(0)
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from pydantic_ai import ModelRetry
from pydantic_ai.mcp import MCPToolset


def text(value):
    return value if isinstance(value, str) else json.dumps(value)


async def main():
    target = json.loads(sys.argv[1])
    async with MCPToolset(target["url"] if "url" in target else StdioTransport(**target)) as server:
        tools = await server.list_tools()
        fine = await server.direct_call_tool("get_page_structure", {"page_type": "principle"})
        try:
            await server.direct_call_tool("get_wiki_page", {"page_title": "No_Such_Page"})
        except (ModelRetry, ToolError) as error:
            fault = str(error)
        print(json.dumps({"tools": [t.name for t in tools], "text": text(fine), "fault": fault}))


asyncio.run(main())
