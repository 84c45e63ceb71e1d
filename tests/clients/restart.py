"""The official Python SDK, 1.x or 2.x: connects, says so, and calls a tool once it is told to go on."""
import asyncio, json, sys


async def goes_on(client):
    before = len((await client.list_tools()).tools)
    print("connected", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    said = await client.call_tool("echo", {"text": "still here"})
    after = len((await client.list_tools()).tools)
    print(json.dumps({"said": said.content[0].text, "before": before, "after": after}), flush=True)


async def main(url, version):
    if version == "2":
        from mcp import Client

        async with Client(url) as client:
            await goes_on(client)
    else:
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(url) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                await goes_on(session)


asyncio.run(main(*sys.argv[1:]))
