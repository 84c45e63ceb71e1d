"""The OpenAI Agents SDK."""
import asyncio, json, sys
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


async def main():
    target = json.loads(sys.argv[1])
    make = MCPServerStreamableHttp if "url" in target else MCPServerStdio
    async with make(params=target, client_session_timeout_seconds=60) as server:
        tools = await server.list_tools()
        fine = await server.call_tool("get_page_structure", {"page_type": "principle"})
        bad = await server.call_tool("get_wiki_page", {"page_title": "No_Such_Page"})
        print(json.dumps({"tools": [t.name for t in tools], "text": fine.content[0].text, "fault": bad.content[0].text}))


asyncio.run(main())
