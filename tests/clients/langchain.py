"""LangChain's adapters."""
import asyncio, json, sys

sys.path.pop(0)
from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient


def text(value):
    return value if isinstance(value, str) else "".join(block["text"] for block in value)


async def main():
    target = json.loads(sys.argv[1])
    kind = "streamable_http" if "url" in target else "stdio"
    client = MultiServerMCPClient({"gatehouse": {"transport": kind, **target}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    fine = await tools["get_page_structure"].ainvoke({"page_type": "principle"})
    try:
        fault = text(await tools["get_wiki_page"].ainvoke({"page_title": "No_Such_Page"}))
    except ToolException as error:
        fault = str(error)
    print(json.dumps({"tools": list(tools), "text": text(fine), "fault": fault}))


asyncio.run(main())
