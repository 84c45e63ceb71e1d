//! Third-party programs that the tests run: clients, a registry, a model and language toolchains.

use std::path::PathBuf;

use anyhow::Result;

use super::{Context, StepEnd, Variables};
use crate::tools;

pub(super) fn clients(context: &mut Context) -> Result<StepEnd> {
    let node = || {
        let modules = tools::NODE_CLIENTS.ensure()?.join("node_modules");
        Ok(vec![
            ("GATEHOUSE_TEST_NODE", tools::NODE_CLIENTS.node()?),
            ("GATEHOUSE_TEST_INSPECTOR", modules.join(".bin/mcp-inspector")),
        ])
    };
    let model = tools::SMALL_LLM.programs().map(|bin| bin.join("python"));
    let suite = tools::SCHEMA_SUITE.ensure().map(|folder| folder.join("json/tests/draft2020-12"));
    let python = tools::PYTHON_CLIENT.programs().map(|bin| bin.join("python"));
    let weaviate =
        tools::WEAVIATE_CLIENT.ensure().map(|folder| folder.join("node_modules/weaviate-ts-client"));
    let registry = tools::REGISTRY.programs().map(|bin| bin.join("docker-registry"));
    let mut end = context.set_variables([
        ("the small language model is unavailable", one("GATEHOUSE_TEST_SMALL_LLM", model)),
        ("the test suite of JSON Schema is unavailable", one("GATEHOUSE_TEST_SCHEMA_SUITE", suite)),
        ("the Python client is unavailable", one("GATEHOUSE_TEST_PYTHON", python)),
        ("the Node clients are unavailable", node()),
        (
            "the reference servers in JavaScript are unavailable",
            one(
                "GATEHOUSE_TEST_NODE_SERVERS",
                tools::NODE_SERVERS.ensure().map(|folder| folder.join("node_modules")),
            ),
        ),
        (
            "the reference servers in Python are unavailable",
            one("GATEHOUSE_TEST_PYTHON_SERVERS", tools::PYTHON_SERVERS.programs()),
        ),
        (
            "the old reference server in Python is unavailable",
            one("GATEHOUSE_TEST_OLD_PYTHON_SERVERS", tools::OLD_PYTHON_SERVERS.programs()),
        ),
        (
            "the npm and PyPI servers are unavailable",
            one("GATEHOUSE_TEST_REAL_SERVERS", tools::real_servers()),
        ),
        (
            "the OpenID provider is unavailable",
            one("GATEHOUSE_TEST_OIDC_PROVIDER", tools::OIDC_PROVIDER.ensure()),
        ),
        ("Weaviate's client is unavailable", one("GATEHOUSE_TEST_WEAVIATE_CLIENT", weaviate)),
        (
            "docker-registry is unavailable (`apt-get install docker-registry`)",
            one("GATEHOUSE_TEST_REGISTRY", registry),
        ),
        ("Prometheus is unavailable", one("GATEHOUSE_TEST_PROMETHEUS", tools::PROMETHEUS.programs())),
        (
            "the collector of traces is unavailable",
            one("GATEHOUSE_TEST_ROTEL", tools::ROTEL.programs().map(|bin| bin.join("python"))),
        ),
        ("chromium is unavailable", one("GATEHOUSE_TEST_BROWSER", tools::browser())),
        (
            "the driver of browsers is unavailable",
            one(
                "GATEHOUSE_TEST_BROWSER_MODULES",
                tools::BROWSER_MODULES.ensure().map(|folder| folder.join("node_modules")),
            ),
        ),
    ])?;
    for (variable, bundle) in &tools::CLIENTS {
        let complaint = format!("{variable} is unavailable");
        if let skipped @ StepEnd::Skipped(_) =
            context.set_variables([(complaint.as_str(), one(variable, bundle.ensure()))])?
        {
            end = skipped;
        }
    }
    Ok(end)
}

pub(super) fn languages(context: &mut Context) -> Result<StepEnd> {
    let js = tools::JS_GATES.ensure().map(|folder| folder.join("node_modules"));
    context.set_variables([
        ("componentize-py is unavailable", one("GATEHOUSE_TEST_VENV", tools::PYTHON_GATES.ensure())),
        ("componentize-qjs is unavailable", one("GATEHOUSE_TEST_NODE_MODULES", js)),
        ("clang for WebAssembly is unavailable", one("GATEHOUSE_TEST_CLANG", tools::clang())),
    ])
}

pub(super) fn packages(context: &mut Context) -> Result<StepEnd> {
    let validator =
        tools::MCPB.ensure().map(|folder| folder.join("node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"));
    context.set_variables([
        (
            "uv, hadolint and skillsaw are unavailable",
            one("GATEHOUSE_TEST_PACKAGE_TOOLS", tools::PACKAGE_TOOLS.programs()),
        ),
        ("the validator of bundles is unavailable", one("GATEHOUSE_TEST_MCPB", validator)),
    ])
}

fn one(variable: &'static str, path: Result<PathBuf>) -> Result<Variables> {
    Ok(vec![(variable, path?)])
}
