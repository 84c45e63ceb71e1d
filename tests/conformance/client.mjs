// The client that the conformance suites check: a gateway, driven by a small client of its own. The suite passes the
// address of its server, and the name of the scenario in the environment.
//
// node client.mjs GATEWAY URL

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [gateway, url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const folder = mkdtempSync(join(tmpdir(), "gatehouse-conformance-client-"));
const presets = join(folder, "presets.toml");
const text = (value) => JSON.stringify(value);

/// Writes presets.toml with the login that a scenario prescribes.
async function configure(namedIssuer) {
    const { client_id, client_secret, private_key_pem: private_key } = context;
    const settings = { client_id, client_secret, issuer: namedIssuer ?? context.issuer, private_key };
    if (scenario.startsWith("auth/client-credentials")) {
        settings.issuer = await issuer();
        settings.grant = "client-credentials";
    }
    if (context.idp_issuer) {
        settings.issuer = await issuer();
        settings.identity_provider = { issuer: context.idp_issuer, client_id: context.idp_client_id };
    }
    const keys = Object.values(settings).some(Boolean);
    const oauth = keys ? `oauth = ${table(settings)}\n` : "";
    const preset = `[presets.all]\nservers = ["s"]\nstructured = true\n`;
    writeFileSync(presets, `[servers.s]\nurl = ${text(url)}\n${oauth}${preset}`);
}

/// Returns an inline table without the missing keys.
function table(keys) {
    const known = Object.entries(keys).filter(([, value]) => value);
    const pairs = known.map(([key, value]) => `${key} = ${typeof value === "object" ? table(value) : text(value)}`);
    return `{ ${pairs.join(", ")} }`;
}

/// Returns the authorization server that the MCP server names.
async function issuer() {
    const { origin, pathname } = new URL(url);
    const about = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
    return (await about.json()).authorization_servers[0];
}

await configure();

function start(args) {
    const env = { PATH: process.env.PATH, HOME: folder, GATEHOUSE_STATE: join(folder, "state") };
    return spawn(gateway, [...args, "--config", presets], { env, stdio: ["pipe", "pipe", "pipe"] });
}

/// Logs in as a user would: opens the address that the command prints, and names an issuer that the command
/// first refuses: at another port of this machine, or other than the one of presets.toml.
async function logIn(scope) {
    const { succeeded, refusedIssuer } = await runLogin(scope);
    if (succeeded || !refusedIssuer) return succeeded;
    await configure(refusedIssuer);
    return (await runLogin(scope)).succeeded;
}

async function runLogin(scope) {
    const how = context.idp_id_token ? ["--id-token"] : ["--no-browser"];
    const child = start(["servers", "login", "s", ...how, ...(scope ? ["--scope", scope] : [])]);
    if (context.idp_id_token) child.stdin.end(`${context.idp_id_token}\n`);
    let refusedIssuer;
    const visit = (line) => {
        console.error(line);
        refusedIssuer ??= line.match(/(?:refusing the authorization server:|It accepts those of) '([^']+)'/)?.[1];
        const address = line.match(/https?:\/\/\S+/)?.[0];
        if (address?.includes("response_type=")) fetch(address).catch((error) => console.error(String(error)));
    };
    createInterface({ input: child.stdout }).on("line", visit);
    createInterface({ input: child.stderr }).on("line", visit);
    return new Promise((resolve) => child.on("close", (code) => resolve({ succeeded: code === 0, refusedIssuer })));
}

class Client {
    constructor() {
        this.child = start(["serve", "--preset", "all"]);
        this.pending = new Map();
        this.next = 1;
        this.changed = [];
        createInterface({ input: this.child.stderr }).on("line", (line) => console.error(line));
        createInterface({ input: this.child.stdout }).on("line", (line) => this.take(JSON.parse(line)));
    }

    take(message) {
        if (message.method && message.id !== undefined) return this.answer(message);
        if (message.method === "notifications/tools/list_changed") this.changed.splice(0).forEach((wake) => wake());
        this.pending.get(message.id)?.(message);
        this.pending.delete(message.id);
    }

    /// Accepts what a server asks, with the defaults of its form.
    answer({ id, method, params }) {
        const fields = Object.entries(params?.requestedSchema?.properties ?? {});
        const given = fields.filter(([, field]) => field.default !== undefined);
        const content = Object.fromEntries(given.map(([name, field]) => [name, field.default]));
        const answers = {
            "elicitation/create": { action: "accept", content },
            "roots/list": { roots: [] },
            "sampling/createMessage": { role: "assistant", model: "m", content: { type: "text", text: "yes" } },
        };
        this.send({ jsonrpc: "2.0", id, result: answers[method] ?? {} });
    }

    send(message) {
        this.child.stdin.write(`${JSON.stringify(message)}\n`);
    }

    request(method, params = {}) {
        const id = this.next++;
        this.send({ jsonrpc: "2.0", id, method, params });
        return new Promise((resolve) => this.pending.set(id, resolve));
    }

    async initialize(extensions = {}) {
        const clientInfo = { name: "conformance-client", version: "1" };
        const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {}, extensions };
        await this.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
        this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    }

    async close() {
        this.child.stdin.end();
        await new Promise((resolve) => this.child.on("exit", resolve));
    }
}

/// Returns arguments that match a schema.
function example(schema = {}) {
    if (schema.default !== undefined) return schema.default;
    if (schema.enum) return schema.enum[0];
    const properties = Object.entries(schema.properties ?? {});
    switch ([schema.type].flat()[0]) {
        case "object":
            return Object.fromEntries(properties.map(([name, property]) => [name, example(property)]));
        case "array":
            return [];
        case "integer":
        case "number":
            return 5;
        case "boolean":
            return true;
        default:
            return "x";
    }
}

/// Lists everything and uses it once. Returns the faults.
async function useEverything() {
    const client = new Client();
    await client.initialize();
    const faults = [];
    const tools = (await client.request("tools/list")).result?.tools ?? [];
    // One tool wants the schema of another, as the client got it.
    const schema = tools.find((tool) => tool.inputSchema.$schema)?.inputSchema;
    const given = (tool) => ({ ...example(tool.inputSchema), ...(tool.inputSchema.properties?.schema && { schema }) });
    const calls = context.toolCalls?.map((call) => [`s__${call.name}`, call.arguments]);
    for (const [name, args] of calls ?? tools.map((tool) => [tool.name, given(tool)])) {
        const { result, error } = await client.request("tools/call", { name, arguments: args });
        const fault = result?._meta?.["gatehouse/error"] ?? error;
        console.error(name, JSON.stringify(result ?? error).slice(0, 400));
        if (fault) faults.push(fault);
    }
    if (!tools.length) faults.push({ message: "no tools" });
    await client.close();
    return faults;
}

/// Lists the skills, and reads their files until one is refused. One scenario checks that listing reads nothing.
async function useSkills() {
    const client = new Client();
    await client.initialize({ "io.modelcontextprotocol/skills": {} });
    const { result, error } = await client.request("skills/list");
    console.error("skills/list", JSON.stringify(result ?? error).slice(0, 1000));
    const skills = scenario.endsWith("no-prefetch") ? [] : (result?.skills ?? []);
    reading: for (const skill of skills) {
        for (const { uri } of [{ uri: skill.uri }, ...skill.resources.filter((file) => file.uri !== skill.uri)]) {
            const { result, error } = await client.request("resources/read", { uri });
            console.error(uri, JSON.stringify(result ?? error).slice(0, 400));
            if (error) break reading;
        }
    }
    await client.close();
    return result?.skills?.length ? [] : [{ message: "no skills" }];
}

/// Waits until the other clients of the suite have started and ended. It starts all together, and one of its scenarios
/// compares times.
async function waitForOthers() {
    const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
    const runs = (id) => {
        try {
            return process.kill(Number(id), 0);
        } catch {
            return false;
        }
    };
    const others = () => readdirSync(running).some((id) => id !== String(process.pid) && runs(id));
    for (let round = 0; round < 250 && !others(); round++) await pause();
    while (others()) await pause();
}

const running = process.env.GATEHOUSE_CONFORMANCE_RUNNING ?? join(folder, "running");
mkdirSync(running, { recursive: true });
writeFileSync(join(running, String(process.pid)), "");
if (scenario === "sse-retry") await waitForOthers();
try {
    // Some scenarios only check that a request is not sent.
    let faults = await (scenario.startsWith("sep-2640-client") ? useSkills() : useEverything());
    for (let round = 0; round < 3 && faults.length && scenario.startsWith("auth/"); round++) {
        const scope = faults.map((fault) => fault.suggestion?.match(/--scope "([^"]*)"/)?.[1]).find(Boolean);
        if (!(await logIn(scope))) break;
        faults = await useEverything();
    }
    console.error(`faults: ${JSON.stringify(faults)}`);
    process.exitCode = faults.length && scenario.startsWith("auth/") ? 1 : 0;
} finally {
    rmSync(folder, { recursive: true, force: true });
}
