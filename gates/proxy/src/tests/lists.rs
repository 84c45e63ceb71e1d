//! Tests of servers, tools, schemas and searches.

use gatehouse_sdk::{
    Fault,
    servers::{Circuit, Fit, RefreshReport, State, ToolHit, ToolsFound},
};
use serde_json::json;

use super::{answer, call, found, hit, host, metrics, server, tool};

#[test]
fn servers_have_a_line_each() {
    let broken = || {
        let mut broken = server("broken");
        (broken.state, broken.circuit) = (State::Failed, Circuit::Open);
        (broken.tool_count, broken.recovery_in_ms) = (None, Some(12_340));
        broken.last_error = Some("exited\nwith 1".into());
        broken
    };
    let servers = move || host().server_list(move || Ok(vec![broken(), server("git")]));
    let (text, data) = answer(servers(), "list_mcp_servers", json!({}));
    assert_eq!(
        text,
        "broken: failed, stdio, circuit open for 12.3 s, last error: exited with 1\n\
         git: connected, 2 tools, stdio\n2 servers, 1 connected."
    );
    assert_eq!((&data["total"], &data["connected"]), (&json!(2), &json!(1)));
    let (text, data) = answer(servers(), "list_mcp_servers", json!({"name_filter": "GI"}));
    assert_eq!((text.lines().count(), &data["servers"][0]["name"]), (2, &json!("git")));
    let (text, _) = answer(servers(), "list_mcp_servers", json!({"name_filter": "x"}));
    assert_eq!(text, "None of the 2 servers matches the name filter.");
    let (text, _) = answer(host().server_list(|| Ok(vec![])), "list_mcp_servers", json!({}));
    assert_eq!(text, "There are no servers.");
}

#[test]
fn listed_tools_have_optional_metrics() {
    let with_tools = || {
        let listed = |server: &str| {
            let mut fetch = tool(server, "fetch");
            fetch.category = "web".into();
            Ok(vec![fetch, tool(server, "log"), tool(server, "status")])
        };
        host().server_tools(listed).server_metrics(|filter| {
            assert_eq!(filter.server.as_deref(), Some("git"));
            Ok(vec![metrics("git", "status", 10, 1)])
        })
    };
    let (text, data) = answer(with_tools(), "list_tools", json!({"server": "git"}));
    assert_eq!(
        text,
        "[code]\nlog: Shows the state.\nstatus: Shows the state.\n[web]\nfetch: Shows the state."
    );
    let expected = json!({"name": "fetch", "brief": "Shows the state.", "category": "web"});
    assert_eq!(data["tools"][0], expected);
    let (text, data) = answer(with_tools(), "list_tools", json!({"server": "git", "include_metrics": true}));
    assert!(text.contains("status: Shows the state. [10 calls, 90 % succeeded, 12.3 ms]\n"), "{text}");
    let expected = json!({"success_rate": 0.9, "avg_latency_ms": 12.3, "call_count": 10});
    assert_eq!(data["tools"][2]["metrics"], expected);
}

#[test]
fn an_unknown_server_is_answered_with_a_hint() {
    let none = |_: &str| Err(Fault::not_found("There is no server 'gti'. Did you mean 'git'?"));
    let fault = call(host().server_tools(none), "list_tools", json!({"server": "gti"}), "{}").unwrap_err();
    assert_eq!(fault.hint.as_deref(), Some("list_mcp_servers lists the servers."));
}

#[test]
fn a_schema_is_returned_in_full() {
    let arguments = json!({"server": "git", "tool": "status"});
    let (text, data) = answer(host(), "get_tool_schema", arguments);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), data);
    assert_eq!(data["inputSchema"], json!({"type": "object", "required": ["path"]}));
    assert_eq!(data["annotations"]["readOnlyHint"], true);
    assert_eq!(data["last_schema_change"], 7);
}

#[test]
fn a_search_has_a_line_per_hit_and_names_unmatched_terms() {
    let answers = host().server_search(|query| {
        assert_eq!((query.query.as_str(), query.limit, query.server.as_deref()), ("x", 10, None));
        let (unmatched_terms, note) = (vec!["zorp".into()], Some("Not asked yet: web.".into()));
        Ok(ToolsFound {
            hits: vec![hit("git", "status", 0.876), hit("git", "gone", 0.8)],
            unmatched_terms,
            note,
        })
    });
    let (text, data) = answer(answers, "search_tools", json!({"query": "x"}));
    assert_eq!(
        text,
        "Fits:\ngit: status(path: string) Shows the state. [code]\ngit: gone(path: string) Shows the state.\n\
         No tool has: zorp.\nNot asked yet: web."
    );
    let expected = json!({"server": "git", "tool": "status", "description": "Shows the state.",
                          "similarity": 0.88, "fit": "good", "signature": "status(path: string)", "category": "code"});
    assert_eq!(data["results"][0], expected);
    let twins = host().server_search(|_| {
        let other = ToolHit { brief: "Does it.".into(), ..hit("web", "other", 0.9) };
        Ok(found(vec![hit("git", "status", 0.9), hit("web", "get-status", 0.9), other]))
    });
    let (text, data) = answer(twins, "search_tools", json!({"query": "x"}));
    assert!(
        text.starts_with(
            "Fits:\ngit: status(path: string) Shows the state. [code] [same on web: get-status]\n"
        ),
        "{text}"
    );
    assert_eq!(data["results"][0]["twins"], json!([{"server": "web", "tool": "get-status"}]));
    assert_eq!(data["results"].as_array().map(Vec::len), Some(2));
    let nothing = host().server_search(|query| {
        assert_eq!((query.limit, query.min_score, query.server.as_deref()), (50, 0.5, Some("git")));
        Ok(found(vec![]))
    });
    let arguments = json!({"query": "x", "top_k": 1000, "min_similarity": 0.5, "server": "git"});
    let (text, _) = answer(nothing, "search_tools", arguments);
    assert_eq!(text, "Nothing fits.\nlist_mcp_servers lists the servers.");
    for (question, hint) in [
        ("zeige mir alle offenen Fragen", true),
        ("busca las incidencias del proyecto", true),
        ("列出所有提交", true),
        ("fichiers modifiés hier", true),
        ("show the weather in Los Angeles", false),
        ("delete das disk", false),
    ] {
        let nothing = || {
            host().server_search(|_| {
                Ok(found(vec![ToolHit { fit: Fit::Nothing, ..hit("git", "status", 0.2) }]))
            })
        };
        let (text, _) = answer(nothing(), "search_tools", json!({ "query": question }));
        assert_eq!(text.ends_with("search again in English."), hint, "{question}: {text}");
        let fits = host().server_search(|_| Ok(found(vec![hit("git", "status", 0.9)])));
        assert!(
            !answer(fits, "search_tools", json!({ "query": question })).0.contains("again"),
            "{question}"
        );
    }
    let fits = |fits: &[Fit]| {
        let hits: Vec<ToolHit> = (fits.iter().zip(["status", "gone", "other"]))
            .map(|(fit, name)| ToolHit { fit: *fit, ..hit("git", name, 0.9) })
            .collect();
        let (text, data) = answer(
            host().server_search(move |_| Ok(found(hits.clone()))),
            "search_tools",
            json!({"query": "x"}),
        );
        let ends = text.lines().map(|line| {
            line.rsplit_once("the state.")
                .map_or(line, |(_, end)| end)
                .replace("[code]", "")
                .trim()
                .to_owned()
        });
        (ends.collect::<Vec<_>>(), data["results"][0]["fit"].clone())
    };
    let (lines, fit) = fits(&[Fit::Names, Fit::Good, Fit::Nothing]);
    assert_eq!(
        (lines, fit),
        (["Fits:", "", "", "Does not fit:", ""].map(str::to_owned).to_vec(), json!("names"))
    );
    let (lines, fit) = fits(&[Fit::Weak, Fit::Nothing]);
    assert_eq!(
        (lines, fit),
        (["May fit:", "", "Does not fit:", ""].map(str::to_owned).to_vec(), json!("weak"))
    );
    let (lines, _) = fits(&[Fit::Weak, Fit::Good, Fit::Weak]);
    assert_eq!(lines, ["Fits:", "", "May fit:", "", ""]);
    let (lines, fit) = fits(&[Fit::Nothing]);
    assert_eq!((lines, fit), (["Nothing fits. Nearest:", ""].map(str::to_owned).to_vec(), json!("nothing")));
}

#[test]
fn a_refresh_reports_changes_and_failed_servers() {
    let refreshed = host().server_refresh(|server, force| {
        assert_eq!((server, force), (None, true));
        let failed = vec![("web".into(), "gone".into())];
        Ok(RefreshReport { added: 1, updated: 2, removed: 3, unchanged: 4, embeddings: 3, failed })
    });
    let (text, data) = answer(refreshed, "refresh_mcp_server", json!({"force": true}));
    assert_eq!(text, "Tools: 1 added, 2 updated, 3 removed, 4 unchanged.\nweb: gone");
    assert_eq!(data["failed"][0], json!({"server": "web", "error": "gone"}));
}
