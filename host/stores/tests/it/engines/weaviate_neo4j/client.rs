//! Checks the fake against the official Weaviate client, which must work with it and read the engine's data.

use std::{env, ffi::OsString, path::Path, process::Command};

use serde_json::{Value, json};

use super::{all_seen, house};
use crate::{
    embedder::TestEmbedder,
    support::{index, missing_service},
};

const INSTALLED: [&str; 2] = ["GATEHOUSE_TEST_NODE", "GATEHOUSE_TEST_WEAVIATE_CLIENT"];

fn installed() -> Option<[OsString; 2]> {
    let found = INSTALLED.map(env::var_os);
    if let Some(missing) = found.iter().position(Option::is_none) {
        missing_service(INSTALLED[missing]);
        return None;
    }
    Some(found.map(Option::unwrap_or_default))
}

#[tokio::test]
async fn the_official_client_gets_along_with_the_fake() {
    let (Some([node, client]), Some(house)) = (installed(), house().await) else { return };
    let graph = house.engine.with_model(TestEmbedder::new("test/one", 64), |_| {});
    index(&graph, &house.wiki()).await;
    all_seen(&graph).await;
    let [(class, ..)] = &house.engine.fake.collections()[..] else { panic!("one collection") };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/weaviate.mjs");
    let host = house.engine.fake.url().replace("http://", "");
    let ran = Command::new(node).arg(script).arg(client).arg(host).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let answers: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let expected = json!({
        "version": "1.27.0",
        "classes": [class],
        "vectorizer": "none",
        "count": 5,
        "found": ["Heuristic/Acme Rest Tip"],
        "object": "Heuristic/Acme Rest Tip",
        "batch": ["SUCCESS", "SUCCESS", "SUCCESS"],
        "dimension": ["FAILED", true],
        "near": [["red apple", 0], ["green pear", 0.4]],
        "quoted": 0,
        "refused": "Cannot query field \"colour\" on type \"Object\".",
        "left": 2,
        "deleted": 1,
        "after": [class],
    });
    assert_eq!(answers, expected);
}
