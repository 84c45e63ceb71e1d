// Resources and prompts with the official TypeScript SDK, 1.x or 2.x by what is installed.
const target = JSON.parse(process.argv[2]);
const load = async (...paths) => {
  for (const path of paths) {
    try {
      return await import(path);
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND" && error.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error;
    }
  }
  throw new Error(`none of ${paths}`);
};
const { Client } = await load("@modelcontextprotocol/client", "@modelcontextprotocol/sdk/client/index.js");
const http = await load("@modelcontextprotocol/client", "@modelcontextprotocol/sdk/client/streamableHttp.js");
const stdio = await load("@modelcontextprotocol/client/stdio", "@modelcontextprotocol/sdk/client/stdio.js");
const transport = target.url
  ? new http.StreamableHTTPClientTransport(new URL(target.url))
  : new stdio.StdioClientTransport(target);
const client = new Client({ name: "typescript", version: "1" });
await client.connect(transport);

const refused = async (work) => {
  try {
    await work;
  } catch (error) {
    return [error.code, error.message];
  }
};
const pages = [];
let cursor;
do {
  const page = await client.listResources(cursor === undefined ? {} : { cursor });
  // A client that goes through all pages by itself gives them as one.
  pages.push(page.resources.map((resource) => resource.uri));
  cursor = page.nextCursor;
} while (cursor !== undefined);
const { resourceTemplates } = await client.listResourceTemplates();
const text = (await client.readResource({ uri: "test://poetry/1" })).contents[0].text;
const blob = (await client.readResource({ uri: "test://poetry/bytes" })).contents[0].blob;
const { prompts } = await client.listPrompts();
const prompt = await client.getPrompt({ name: "review_poetry", arguments: { book: "1", style: "long" } });
console.log(
  JSON.stringify({
    pages,
    templates: resourceTemplates.map((template) => template.uriTemplate),
    text,
    bytes: [...Buffer.from(blob, "base64")].slice(-2),
    missing: await refused(client.readResource({ uri: "test://poetry/9" })),
    cursor: await refused(client.listResources({ cursor: "garbage" })),
    prompts: prompts.map((p) => [p.name, p.arguments.map((a) => [a.name, a.required])]),
    roles: prompt.messages.map((message) => message.role),
    first: prompt.messages[0].content.text,
    embedded: prompt.messages[1].content.resource.uri,
    argument: await refused(client.getPrompt({ name: "review_poetry", arguments: {} })),
  }),
);
await client.close();
