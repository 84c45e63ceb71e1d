//! One host serves gates of two contract versions.

pub(super) mod copy;

use std::{fs, path::Path};

use gatehouse_core::{Source, capability::Grants};
use serde_json::Map;

use crate::{GateSettings, ProbeOutcome, Sandbox, testing};

/// Replaces the contract version of a component with one of the same length.
fn under(version: &[u8; 6], component: &[u8]) -> Vec<u8> {
    let mut bytes = component.to_vec();
    let places = component.windows(version.len()).enumerate().filter(|(_, window)| window == b"@0.1.0");
    places.for_each(|(place, _)| bytes[place..place + version.len()].copy_from_slice(version));
    bytes
}

#[tokio::test]
async fn gates_of_two_versions_are_served_side_by_side() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fixture-gates/keeper.wasm");
    let built = fs::read(&built).expect("`cargo xtask gates --fixtures` builds it");
    let folder = tempfile::tempdir().expect("a folder");
    let sandbox = Sandbox::new(
        &folder.path().join("cache"),
        u64::MAX,
        crate::EmbeddedComponents::NONE,
        crate::SystemLimits::default(),
        testing::ports(),
    );
    let grants = Grants::parse(["kv"]).expect("a grant");
    let settings = GateSettings { grants, ..GateSettings::default() };
    let mut listings = Vec::new();
    // The second version is compatible with the first; the third is the copy.
    for (name, version) in [("first", b"@0.1.0"), ("grown", b"@0.1.1"), ("next", b"@0.2.0")] {
        let file = folder.path().join(format!("{name}.wasm"));
        fs::write(&file, under(version, &built)).expect("written");
        let gate = sandbox.gate(name, &file, settings.clone()).unwrap_or_else(|error| panic!("{error}"));
        listings.push(gate.list(&Map::new()).await.expect("a listing"));
        // Host functions of each version pass the same checks.
        let outcome = gate.try_out("recall", r#"{"name": "x"}"#, "{}").await.outcome;
        let ProbeOutcome::Faulted(fault) = outcome else { panic!("{outcome:?}") };
        assert_eq!(fault.message, "a gate has no access to kv while it describes itself or converts a file");
    }
    assert!(listings.windows(2).all(|two| two[0] == two[1]));
}
