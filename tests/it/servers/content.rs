//! Content between clients and servers arrives unchanged.

use serde_json::{Value, json};

use super::{Listening, child, showing};
use crate::support::{Client, structured};

#[test]
fn every_kind_of_content_arrives_over_every_transport() {
    let http = Listening::start("http", &[]);
    let json = Listening::start("http", &["json=yes"]);
    let sse = Listening::start("sse", &[]);
    let blocks = [
        child("pipes", &[], ""),
        http.block("http", "http"),
        json.block("json", "http"),
        sse.block("sse", "sse"),
    ];
    let place = showing(&["pipes", "http", "json", "sse"], &blocks.concat());
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets");
    place.write("presets.toml", structured(&presets));
    let mut client = Client::start(&place, "all");
    for server in ["pipes", "http", "json", "sse"] {
        let result = client.call(&format!("{server}__kinds"), json!({}));
        let content = result["content"].as_array().expect("content");
        assert_eq!(content.len(), 6, "{server}: {result}");
        let of = |kind: &str| content.iter().filter(|block| block["type"] == kind).collect::<Vec<&Value>>();
        assert_eq!(of("text")[0]["annotations"]["priority"], 0.5, "{result}");
        assert_eq!(
            (&of("image")[0]["data"], &of("image")[0]["_meta"]["vices/of"]),
            (&json!("AQID"), &json!("an image"))
        );
        assert_eq!(of("audio")[0]["mimeType"], "audio/wav");
        assert_eq!(of("resource")[0]["resource"]["text"], "inside");
        assert_eq!(of("resource")[1]["resource"]["blob"], "AQID");
        assert_eq!(
            (&of("resource_link")[0]["title"], &of("resource_link")[0]["size"]),
            (&json!("C"), &json!(3))
        );
        assert_eq!(result["structuredContent"], json!({"n": 1, "deep": [null, {"x": 0.25}]}), "{server}");
        let failed = client.call(&format!("{server}__fails"), json!({}));
        assert_eq!((&failed["isError"], &failed["content"][0]["text"]), (&json!(true), &json!("not today")));
    }
}

#[test]
fn progress_of_a_server_is_sent_to_the_client_that_asked_for_it() {
    let sse = Listening::start("sse", &[]);
    let place =
        showing(&["pipes", "sse"], &format!("{}{}", child("pipes", &[], ""), sse.block("sse", "sse")));
    let mut client = Client::start(&place, "all");
    for (token, server) in ["pipes", "sse"].iter().enumerate() {
        let call = json!({"name": format!("{server}__progress"), "arguments": {}, "_meta": {"progressToken": token}});
        assert_eq!(client.request("tools/call", call)["result"]["content"][0]["text"], "done");
        let progress: Vec<_> =
            client.notifications.drain(..).filter(|one| one["method"] == "notifications/progress").collect();
        let progress: Vec<_> = progress.iter().map(|one| &one["params"]).collect();
        assert_eq!(progress.len(), 2, "{server}: {progress:?}");
        assert_eq!(
            (&progress[0]["progressToken"], &progress[0]["message"]),
            (&json!(token), &json!("begun"))
        );
        assert_eq!((progress[1]["progress"].as_f64(), progress[1]["total"].as_f64()), (Some(2.0), Some(4.0)));
    }
}
