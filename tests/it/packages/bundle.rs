//! The MCP bundle for desktop clients, checked by its official validator.

use std::{fs, process::Command};

use serde_json::Value;

use super::{Packages, must};
use crate::support::{Client, installed};

#[test]
fn the_bundle_is_valid_and_runs_as_its_manifest_says() {
    let (Some(node), Some(validator)) = (installed("GATEHOUSE_TEST_NODE"), installed("GATEHOUSE_TEST_MCPB"))
    else {
        return;
    };
    let packages = Packages::of(&["mcpb"]);
    let folder = packages.place.path("bundle");
    must(Command::new(&node).arg(&validator).arg("unpack").arg(packages.file(".mcpb")).arg(&folder));
    must(Command::new(&node).arg(&validator).arg("validate").arg(folder.join("manifest.json")));
    let manifest = fs::read_to_string(folder.join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert!(folder.join("docs/presets.md").is_file());

    let fill = |text: &Value| {
        let mut text = text.as_str().expect("text").replace("${__dirname}", &folder.display().to_string());
        for (name, about) in manifest["user_config"].as_object().expect("settings") {
            let proposed = about["default"].as_str().expect("a proposal");
            text = text.replace(&format!("${{user_config.{name}}}"), proposed);
        }
        text
    };
    let config = &manifest["server"]["mcp_config"];
    let program = fill(&config["command"]);
    let arguments: Vec<String> = config["args"].as_array().expect("arguments").iter().map(fill).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut client = Client::spawn(packages.command(program.as_ref(), &arguments));
    client.initialize("2025-11-25");
    assert!(client.tools().contains(&"search_knowledge".to_owned()));
    assert_eq!(client.close(), Some(0));
    packages.serves(program.as_ref());
}
