// Agents: Claude Code, Codex and Gemini CLI. Each is started as its user would, with a language model of ours that
// asks for one call that works and one that fails, and remembers what it is told of them. What is printed is what
// the agent's model sees.
//
// Usage: node agent.mjs SERVER AGENT PROGRAM…, the agent being claude, codex or gemini.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [server, agent, ...program] = process.argv.slice(2);
const target = JSON.parse(server);
const CALLS = [
  ["get_page_structure", { page_type: "principle" }],
  ["get_wiki_page", { page_title: "No_Such_Page" }],
];
const seen = { tools: new Set(), results: [] };

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((block) => block.text ?? "").join("");

// What each provider's requests hold, and how it streams a call of a tool or the last word.
const DIALECTS = {
  claude: {
    path: /\/v1\/messages/,
    // It defers the schemas of MCP tools: the list stands in its first message to us, not in its requests.
    tools: () => [],
    results: (body) =>
      body.messages
        .flatMap((message) => (Array.isArray(message.content) ? message.content : []))
        .filter((block) => block.type === "tool_result")
        .map((block) => textOf(block.content)),
    stream(call) {
      const block = call
        ? { type: "tool_use", id: `toolu_${call[0]}`, name: `mcp__gatehouse__${call[0]}`, input: {} }
        : { type: "text", text: "" };
      const delta = call
        ? { type: "input_json_delta", partial_json: JSON.stringify(call[1]) }
        : { type: "text_delta", text: "DONE" };
      const usage = { input_tokens: 1, output_tokens: 1 };
      const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage };
      return [
        { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
        { type: "content_block_start", index: 0, content_block: block },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null }, usage },
        { type: "message_stop" },
      ].map((event) => [event.type, event]);
    },
  },
  codex: {
    path: /\/responses$/,
    tools: (body) =>
      (body.tools ?? [])
        .filter((tool) => tool.type === "namespace" && tool.name === "mcp__gatehouse")
        .flatMap((tool) => tool.tools.map((one) => one.name)),
    results: (body) =>
      body.input.filter((item) => item.type === "function_call_output").map((item) => textOf(item.output)),
    stream(call) {
      const item = call
        ? {
            type: "function_call",
            id: `fc_${call[0]}`,
            call_id: `call_${call[0]}`,
            namespace: "mcp__gatehouse",
            name: call[0],
            arguments: JSON.stringify(call[1]),
            status: "completed",
          }
        : { type: "message", id: "m_1", role: "assistant", content: [{ type: "output_text", text: "DONE", annotations: [] }] };
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      return [
        { type: "response.created", response: { id: "r_1" } },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: { id: "r_1", output: [item], usage } },
      ].map((event) => [event.type, event]);
    },
  },
  gemini: {
    path: /:streamGenerateContent/,
    tools: (body) =>
      (body.tools ?? [])
        .flatMap((tool) => tool.functionDeclarations ?? [])
        .filter((declared) => declared.name.startsWith("mcp_gatehouse_"))
        .map((declared) => declared.name.replace("mcp_gatehouse_", "")),
    results: (body) =>
      body.contents
        .flatMap((content) => content.parts ?? [])
        .filter((part) => part.functionResponse)
        .map((part) => part.functionResponse.response)
        .map((response) => textOf(response.output ?? response.error ?? JSON.stringify(response))),
    stream(call) {
      const part = call ? { functionCall: { name: `mcp_gatehouse_${call[0]}`, args: call[1] } } : { text: "DONE" };
      const candidate = { content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 };
      return [[null, { candidates: [candidate], usageMetadata: { promptTokenCount: 1, totalTokenCount: 2 } }]];
    },
  },
};
const dialect = DIALECTS[agent];

const model = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  if (!dialect.path.test(new URL(request.url, "http://model").pathname)) {
    response.writeHead(404).end("{}");
    return;
  }
  body = JSON.parse(body);
  dialect.tools(body).forEach((name) => seen.tools.add(name));
  const results = dialect.results(body);
  if (results.length > seen.results.length) seen.results = results;
  // Side questions, such as one for a title, bring no tools and get the last word.
  const call = body.tools?.length ? CALLS[results.length] : undefined;
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [name, event] of dialect.stream(call)) {
    response.write(`${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
});
await new Promise((listening) => model.listen(0, "127.0.0.1", listening));
const base = `http://127.0.0.1:${model.address().port}`;

const home = mkdtempSync(join(tmpdir(), "agent-"));
const file = (name, text) => {
  const path = join(home, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
};
// A TOML string is a JSON string, as far as paths and addresses go.
const toml = (value) =>
  Array.isArray(value) ? `[${value.map(toml).join(", ")}]` : JSON.stringify(value);
const AGENTS = {
  claude() {
    const entry = target.url ? { type: "http", ...target } : target;
    const config = file("mcp.json", JSON.stringify({ mcpServers: { gatehouse: entry } }));
    return {
      arguments: ["-p", "go", "--mcp-config", config, "--strict-mcp-config", "--output-format", "stream-json", "--verbose",
        "--allowedTools", ...CALLS.map(([name]) => `mcp__gatehouse__${name}`)],
      environment: {
        ANTHROPIC_BASE_URL: base,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_TELEMETRY: "1",
      },
      tools: (line) => (line.subtype === "init" ? line.tools.filter((name) => name.startsWith("mcp__gatehouse__")) : []),
    };
  },
  codex() {
    const server = target.url
      ? `url = ${toml(target.url)}\n`
      : `command = ${toml(target.command)}\nargs = ${toml(target.args)}\n[mcp_servers.gatehouse.env]\n` +
        Object.entries(target.env ?? {}).map(([name, value]) => `${name} = ${toml(value)}\n`).join("");
    file(
      "codex/config.toml",
      'model = "m"\nmodel_provider = "ours"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n' +
        `[model_providers.ours]\nname = "ours"\nbase_url = "${base}/v1"\nwire_api = "responses"\n` +
        `[mcp_servers.gatehouse]\n${server}`,
    );
    return {
      arguments: ["exec", "--skip-git-repo-check", "--json", "go"],
      environment: { CODEX_HOME: join(home, "codex") },
    };
  },
  gemini() {
    const entry = target.url ? { httpUrl: target.url } : target;
    const settings = {
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
      mcpServers: { gatehouse: { ...entry, trust: true } },
    };
    file(".gemini/settings.json", JSON.stringify(settings));
    return {
      arguments: ["-m", "gemini-2.5-flash", "--skip-trust", "-y", "-p", "go"],
      environment: { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: base },
    };
  },
};
const start = AGENTS[agent]();
const child = spawn(program[0], [...program.slice(1), ...start.arguments], {
  cwd: home,
  env: { HOME: home, PATH: process.env.PATH, ...start.environment },
  stdio: ["ignore", "pipe", "pipe"],
});
let said = "";
child.stdout.on("data", (piece) => (said += piece));
child.stderr.on("data", (piece) => (said += piece));
await new Promise((ended) => child.on("close", ended));
model.closeAllConnections();
model.close();
rmSync(home, { recursive: true, force: true });
for (const line of said.split("\n").filter((line) => line.startsWith("{"))) {
  try {
    start.tools?.(JSON.parse(line)).forEach((name) => seen.tools.add(name.replace("mcp__gatehouse__", "")));
  } catch {
    // Not a message.
  }
}
const [text, fault] = seen.results;
if (fault === undefined) {
  console.error(said);
  process.exit(1);
}
console.log(JSON.stringify({ tools: [...seen.tools], text, fault }));
