"""The official Python SDK, 1.x."""
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def main():
    target = json.loads(sys.argv[1])
    server = streamablehttp_client(target["url"]) if "url" in target else stdio_client(StdioServerParameters(**target))
    async with server as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            fine = await session.call_tool("get_page_structure", {"page_type": "principle"})
            bad = await session.call_tool("get_wiki_page", {"page_title": "No_Such_Page"})
            assert bad.isError and not fine.isError
            print(json.dumps({"tools": [t.name for t in tools], "text": fine.content[0].text, "fault": bad.content[0].text}))


asyncio.run(main())
