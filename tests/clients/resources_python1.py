"""Resources and prompts with the official Python SDK, 1.x."""
import asyncio, base64, json, sys
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def refused(work):
    try:
        await work
    except McpError as error:
        return [error.error.code, error.error.message]


async def main():
    target = json.loads(sys.argv[1])
    server = streamablehttp_client(target["url"]) if "url" in target else stdio_client(StdioServerParameters(**target))
    async with server as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            pages, cursor = [], None
            while True:
                page = await session.list_resources(cursor=cursor)
                pages.append([str(resource.uri) for resource in page.resources])
                cursor = page.nextCursor
                if cursor is None:
                    break
            templates = (await session.list_resource_templates()).resourceTemplates
            text = (await session.read_resource("test://poetry/1")).contents[0].text
            blob = (await session.read_resource("test://poetry/bytes")).contents[0].blob
            prompts = (await session.list_prompts()).prompts
            prompt = await session.get_prompt("review_poetry", {"book": "1", "style": "long"})
            print(json.dumps({
                "pages": pages,
                "templates": [template.uriTemplate for template in templates],
                "text": text,
                "bytes": list(base64.b64decode(blob))[-2:],
                "missing": await refused(session.read_resource("test://poetry/9")),
                "cursor": await refused(session.list_resources(cursor="garbage")),
                "prompts": [[p.name, [[a.name, a.required] for a in p.arguments]] for p in prompts],
                "roles": [message.role for message in prompt.messages],
                "first": prompt.messages[0].content.text,
                "embedded": str(prompt.messages[1].content.resource.uri),
                "argument": await refused(session.get_prompt("review_poetry", {})),
            }))


asyncio.run(main())
