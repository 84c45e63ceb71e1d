//! The official test suite of JSON Schema 2020-12. `cargo xtask test` downloads it.
//!
//! Counts tests of rejected schemas, which are ambiguous or use unsupported references.

use std::{env, fs, path::PathBuf, sync::Arc};

use serde_json::Value;

use crate::schema::Schema;

/// Files with rejected schemas: external references, anchors, cycles and embedded schemas.
const REFUSED: [&str; 8] = [
    "anchor",
    "defs",
    "dynamicRef",
    "ref",
    "refRemote",
    "unevaluatedItems",
    "unevaluatedProperties",
    "vocabulary",
];

#[test]
fn official_test_suite_passes() {
    let Some(folder) = env::var_os("GATEHOUSE_TEST_SCHEMA_SUITE").map(PathBuf::from) else {
        assert!(env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none(), "the suite is not here");
        return;
    };
    let (mut right, mut refused) = (0, 0);
    for file in fs::read_dir(folder).expect("the suite").map(|file| file.expect("a file").path()) {
        if file.extension().is_none_or(|kind| kind != "json") {
            continue;
        }
        let keyword = file.file_stem().and_then(|stem| stem.to_str()).expect("a keyword").to_owned();
        let groups: Value = serde_json::from_str(&fs::read_to_string(file).expect("a file")).expect("JSON");
        for group in groups.as_array().expect("groups") {
            // A tool's schema is an object.
            let Some(schema) = group["schema"].as_object() else { continue };
            let tests = group["tests"].as_array().expect("tests");
            let of_server = Schema::of_server(Arc::new(schema.clone()));
            for test in tests.iter().filter(|test| test["valid"] == true) {
                let checked = of_server.check(&test["data"], "member");
                assert_eq!(checked, Ok(()), "{keyword}: {} {}", group["description"], test["description"]);
            }
            if Schema::measure(schema).is_err() {
                assert!(
                    REFUSED.contains(&keyword.as_str()),
                    "{keyword}: {} is refused",
                    group["description"]
                );
                refused += tests.len();
                continue;
            }
            let schema = Schema::new(Arc::new(schema.clone()));
            for test in tests {
                let valid = schema.check(&test["data"], "member").is_ok();
                assert_eq!(
                    valid, test["valid"],
                    "{keyword}: {} {}",
                    group["description"], test["description"]
                );
                right += 1;
            }
        }
    }
    assert!(right > 1_000 && refused < 150, "{right} tests were right, {refused} of refused schemas");
}
