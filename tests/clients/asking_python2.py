"""Answers what a gate asks, with the official Python SDK, 2.x: in sessions, and without."""
import asyncio, json, sys
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CreateMessageResult, ElicitResult, TextContent


async def answered(target, mode):
    asked, told = [], []

    async def person(_, params):
        asked.append(params.message)
        if len(asked) == 3:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"n": len(asked)})

    async def model(_, params):
        text = TextContent(type="text", text="Because.")
        return CreateMessageResult(role="assistant", model="m-1", content=text)

    async def hear(params):
        told.append([params.level, params.logger, params.data])

    server = target["url"] if "url" in target else stdio_client(StdioServerParameters(**target))
    client = Client(
        server,
        mode=mode,
        elicitation_callback=person,
        sampling_callback=model,
        logging_callback=hear,
        log_level="info",
    )
    async with client:
        if mode == "legacy":
            await client.set_logging_level("info")
        said = {}
        for name, arguments in [
            ("ask", {"message": "How many?", "times": 3}),
            ("ask_model", {"prompt": "Why?"}),
            ("tell", {}),
        ]:
            said[name] = (await client.call_tool(name, arguments)).content[0].text
        return {"asked": asked, "told": told, **said}


async def main():
    target = json.loads(sys.argv[1])
    modes = ["legacy", "2026-07-28"]
    print(json.dumps({mode: await answered(target, mode) for mode in modes}))


asyncio.run(main())
