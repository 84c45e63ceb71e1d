"""Resources and prompts with the official Python SDK, 2.x."""
import asyncio, base64, json, sys
from mcp import Client, MCPError, StdioServerParameters, stdio_client


async def refused(work):
    try:
        await work
    except MCPError as error:
        return [error.error.code, error.error.message]


async def main():
    target = json.loads(sys.argv[1])
    server = target["url"] if "url" in target else stdio_client(StdioServerParameters(**target))
    async with Client(server) as client:
        pages, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            pages.append([str(resource.uri) for resource in page.resources])
            cursor = page.next_cursor
            if cursor is None:
                break
        templates = (await client.list_resource_templates()).resource_templates
        text = (await client.read_resource("test://poetry/1")).contents[0].text
        blob = (await client.read_resource("test://poetry/bytes")).contents[0].blob
        prompts = (await client.list_prompts()).prompts
        prompt = await client.get_prompt("review_poetry", {"book": "1", "style": "long"})
        print(json.dumps({
            "pages": pages,
            "templates": [template.uri_template for template in templates],
            "text": text,
            "bytes": list(base64.b64decode(blob))[-2:],
            "missing": await refused(client.read_resource("test://poetry/9")),
            "cursor": await refused(client.list_resources(cursor="garbage")),
            "prompts": [[p.name, [[a.name, a.required] for a in p.arguments]] for p in prompts],
            "roles": [message.role for message in prompt.messages],
            "first": prompt.messages[0].content.text,
            "embedded": str(prompt.messages[1].content.resource.uri),
            "argument": await refused(client.get_prompt("review_poetry", {})),
        }))


asyncio.run(main())
