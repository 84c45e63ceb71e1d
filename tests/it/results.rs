//! Large results end to end: summarized, stored in full, read in parts, passed on without a model, and removed when
//! they expire.

mod keeping;
mod models;
mod owners;
mod reading;
mod time;

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Client, Place, text_of};

const PRESETS: &str = r#"
[gates.summarizer]
grants = ["artifacts", "kv", "models"]

[presets.work]
structured = true
gates.echo = {}
gates.summarizer = {}
[presets.work.filters]
summarizer = ["echo"]
"#;

fn place() -> Place {
    Place::with(&format!("[models]\nllm = \"off\"\n{PRESETS}"), &["echo", "summarizer"])
}

fn log() -> String {
    let mut out = String::new();
    for n in 0..1_500 {
        let (minute, second) = (n / 60 % 60, n % 60);
        let _ = writeln!(
            out,
            "2026-11-22T10:{minute:02}:{second:02}Z INFO http: GET /orders/{} answered in {} ms",
            n * 7 % 900,
            n % 40
        );
        if n == 1_111 {
            out += "2026-11-22T10:18:31Z ERROR store: disk quota exceeded on volume nimbus-7\n";
        }
    }
    out
}

/// Calls `echo` and returns the shortened result and the artifact's id.
fn shortened(client: &mut Client, text: &str) -> (String, String) {
    let reply = client.call("echo", serde_json::json!({ "text": text }));
    assert!(reply.get("isError").is_none_or(|error| error == false), "{reply}");
    assert!(reply.get("structuredContent").is_none(), "{reply}");
    let head: Value = serde_json::from_str(reply["content"][0]["text"].as_str().expect("text"))
        .unwrap_or_else(|error| panic!("{error}: {reply}"));
    let id = head["metadata"]["artifactId"].as_str().expect("an id").to_owned();
    let links = reply["content"].as_array().expect("content").iter();
    let links: Vec<&Value> = links.filter(|block| block["type"] == "resource_link").collect();
    assert_eq!(links.len(), 1, "{reply}");
    assert_eq!(links[0]["uri"], format!("gatehouse://artifact/{id}"));
    (text_of(&reply), id)
}
