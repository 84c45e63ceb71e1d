//! What the tests run that other people made: clients, a registry, a model, the tools of other languages.

use anyhow::Result;

use super::{Context, Done, Found};
use crate::tools;

/// Installs the clients that the tests drive, and tells the tests where they are.
pub(super) fn clients(context: &mut Context) -> Result<Done> {
    let python = || -> Result<Found> {
        Ok(vec![("GATEHOUSE_TEST_PYTHON", tools::PYTHON_CLIENT.programs()?.join("python"))])
    };
    let node = || -> Result<Found> {
        let modules = tools::NODE_CLIENTS.ensure()?.join("node_modules");
        let conformance = modules.join("@modelcontextprotocol/conformance/dist/index.js");
        Ok(vec![
            ("GATEHOUSE_TEST_NODE", tools::NODE_CLIENTS.node()?),
            ("GATEHOUSE_TEST_INSPECTOR", modules.join(".bin/mcp-inspector")),
            ("GATEHOUSE_TEST_CONFORMANCE", conformance),
        ])
    };
    let weaviate = || -> Result<Found> {
        let modules = tools::WEAVIATE_CLIENT.ensure()?.join("node_modules");
        Ok(vec![("GATEHOUSE_TEST_WEAVIATE_CLIENT", modules.join("weaviate-ts-client"))])
    };
    let registry = || -> Result<Found> {
        Ok(vec![("GATEHOUSE_TEST_REGISTRY", tools::REGISTRY.programs()?.join("docker-registry"))])
    };
    let suite = || -> Result<Found> {
        let folder = tools::SCHEMA_SUITE.ensure()?.join("json/tests/draft2020-12");
        Ok(vec![("GATEHOUSE_TEST_SCHEMA_SUITE", folder)])
    };
    let model = || -> Result<Found> {
        Ok(vec![("GATEHOUSE_TEST_SMALL_LLM", tools::SMALL_LLM.programs()?.join("python"))])
    };
    let mut done = context.tell([
        ("the small language model is not here", model()),
        ("the test suite of JSON Schema is not here", suite()),
        ("the Python client is not here", python()),
        ("the Node clients are not here", node()),
        ("Weaviate's client is not here", weaviate()),
        ("docker-registry is not here (`apt-get install docker-registry`)", registry()),
    ])?;
    for (variable, bundle) in &tools::CLIENTS {
        let found = bundle.ensure().map(|folder| vec![(*variable, folder)]);
        let complaint = format!("{variable} is not here");
        if let skipped @ Done::Skipped(_) = context.tell([(complaint.as_str(), found)])? {
            done = skipped;
        }
    }
    Ok(done)
}

/// Installs what gates are built with, and tells the tests where it is.
pub(super) fn languages(context: &mut Context) -> Result<Done> {
    let python = || -> Result<Found> { Ok(vec![("GATEHOUSE_TEST_VENV", tools::PYTHON_GATES.ensure()?)]) };
    let js = || -> Result<Found> {
        Ok(vec![("GATEHOUSE_TEST_NODE_MODULES", tools::JS_GATES.ensure()?.join("node_modules"))])
    };
    context.tell([
        ("componentize-py is not here", python()),
        ("componentize-qjs is not here", js()),
        (
            "clang for WebAssembly is not here",
            tools::clang().map(|clang| vec![("GATEHOUSE_TEST_CLANG", clang)]),
        ),
    ])
}
