//! Tests of finding stored results with tools and as resources.

use gatehouse_sdk::{FaultKind, ResourceBody};

use super::*;

#[test]
fn a_search_finds_results_by_their_summaries() {
    host().run(|| {
        let id = keep(&lines(10));
        keep("other");
        let (_, found) = call("semantic_search", json!({"query": "200 bytes", "limit": 1})).unwrap();
        assert_eq!(
            found["results"],
            json!([{
                "artifactId": id, "summary": {"keyFindings": ["It has 200 bytes of words."]}, "relevanceScore": 1.0, "path": id,
                "toolName": "look", "serverId": "server", "timestamp": "2026-11-23T00:00:00Z"
            }])
        );
        let (text, _) = call("semantic_search", json!({"query": "zebra"})).unwrap();
        assert_eq!(text, "No stored result matches.");
    });
}

#[test]
fn the_workspace_lists_unexpired_results_newest_first() {
    host().run(|| {
        let first = keep("one");
        testing::advance(500);
        let second = keep("second");
        let (text, listed) = call("search_workspace", json!({"tags": ["mine"], "query": "bytes"})).unwrap();
        let ids: Vec<&str> = listed["artifacts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a["artifactId"].as_str().unwrap())
            .collect();
        assert_eq!(ids, [&second, &first]);
        assert_eq!(
            text.lines().next().unwrap(),
            format!("{second}: 6 bytes of look, 0 s old, expires in 1 s [mine] It has 6 bytes of words.")
        );
        let (text, _) = call("search_workspace", json!({"query": "words about zebras"})).unwrap();
        assert!(text.starts_with("None has all of these words. By meaning, best first:\nart-"), "{text}");
        let tagged = json!({"tags": ["mine"], "query": "words about zebras"});
        assert_eq!(call("search_workspace", tagged).unwrap().0, "No stored result matches.");
        testing::advance(500);
        assert!(!call("search_workspace", json!({})).unwrap().0.contains(&first));
        testing::advance(500);
        assert_eq!(call("search_workspace", json!({})).unwrap().0, "No stored result matches.");
        assert_eq!(call("get_workspace_file", json!({"path": first})).unwrap_err().kind, FaultKind::NotFound);
    });
}

#[test]
fn a_pinned_result_does_not_expire_until_it_is_unpinned() {
    host().run(|| {
        let id = keep("one");
        let reply = testing::call(
            &crate::gate(),
            "pin_artifact",
            &json!({"id": id, "tags": ["mine", "q3"]}).to_string(),
            "{}",
        );
        assert_eq!(reply.unwrap().text(), format!("{id} is pinned. Tags: mine, q3."));
        testing::advance(10_000);
        assert!(call("search_workspace", json!({"tags": ["q3"]})).unwrap().0.contains("pinned"));
        let reply = testing::call(
            &crate::gate(),
            "pin_artifact",
            &json!({"id": id, "pinned": false}).to_string(),
            "{}",
        );
        assert!(reply.unwrap().text().starts_with(&format!("{id} expires in ")));
        let unknown = testing::call(&crate::gate(), "pin_artifact", r#"{"id": "art-000000000000"}"#, "{}");
        assert_eq!(unknown.unwrap_err().kind, FaultKind::NotFound);
    });
}

#[test]
fn contexts_keep_the_requested_order_within_the_budget() {
    host().run(|| {
        let (one, two) = (keep("one"), keep("second"));
        let ids = json!([two, "art-000000000000", format!("gatehouse://artifact/{one}"), two]);
        let (_, all) = call("get_artifact_context", json!({"ids": ids})).unwrap();
        let ids: Vec<&str> =
            all["contexts"].as_array().unwrap().iter().map(|c| c["artifactId"].as_str().unwrap()).collect();
        assert_eq!(ids, [&two, &one]);
        assert_eq!((&all["omitted"], &all["unknown"]), (&json!([]), &json!(["art-000000000000"])));
        let (_, few) = call("get_artifact_context", json!({"ids": ids, "maxTokens": 50})).unwrap();
        assert_eq!((few["contexts"].as_array().unwrap().len(), &few["omitted"]), (1, &json!([one])));
        assert!(few["totalTokens"].as_u64().unwrap() <= 50);
    });
}

#[test]
fn resources_are_listed_in_pages_and_read_whole() {
    let gate = crate::gate();
    host().run(|| {
        assert_eq!(gate.resource_templates("{}").unwrap()[0].uri_template, "gatehouse://artifact/{id}");
        let ids: Vec<String> = (0..70)
            .map(|n| {
                testing::advance(1);
                keep(&format!("text {n}"))
            })
            .collect();
        let first = gate.list_resources("{}", None).unwrap();
        let second = gate.list_resources("{}", first.next.as_deref()).unwrap();
        assert_eq!((first.resources.len(), second.resources.len(), second.next), (50, 20, None));
        let listed: Vec<&str> =
            first.resources.iter().chain(&second.resources).map(|link| link.name.as_str()).collect();
        assert!(listed.iter().rev().eq(&ids), "each once, the newest first");
        assert_eq!(gate.list_resources("{}", Some("else")).unwrap_err().kind, FaultKind::InvalidArguments);
        let read = gate.read_resource("{}", &first.resources[0].uri).unwrap();
        assert_eq!(read[0].body, ResourceBody::Text("text 69".into()));
        testing::advance(1_000);
        assert_eq!(gate.read_resource("{}", &first.resources[0].uri).unwrap_err().kind, FaultKind::NotFound);
        assert_eq!(gate.list_resources("{}", None).unwrap().resources, []);
    });
}
