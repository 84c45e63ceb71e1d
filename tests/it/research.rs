//! Web research with a real gate and host and a fake provider.

mod order;

use serde_json::{Value, json};

use crate::support::{
    Client, Place, fault_of,
    provider::{
        Answer, End, Provider,
        wire::{ALL, KEY, PAGE, Wire},
    },
    structured, text_of,
};

fn item(title: &str, url: &str) -> String {
    json!({"title": title, "url": url, "description": format!("About {title}.")}).to_string()
}

fn host(wire: Wire, provider: &Provider, time: &str) -> (Place, Client) {
    let presets = format!(
        "{}[gates.research]\ngrants = [\"models\"]\nlimits = {{ time = \"{time}\", concurrency = 1 }}\n\
         [presets.web]\ngates.research = {{}}\n",
        wire.configuration(provider.address)
    );
    let place = Place::with(&structured(&presets), &["research"]);
    let mut client = Client::raw(&place, &["serve", "--preset", "web"], &[(wire.variable(), KEY)]);
    client.initialize("2025-11-25");
    (place, client)
}

fn fails(client: &mut Client) -> (String, String) {
    let result = client.call("research_idea", json!({"query": "retries"}));
    assert_eq!(result["isError"], true, "{result}");
    let kind = fault_of(&result)["type"].as_str().expect("a type").to_owned();
    (kind, text_of(&result))
}

#[test]
fn every_provider_searches_and_its_answer_reads_as_documented() {
    let text =
        format!("{{\"items\":[{},{}]}}", item("Backoff", PAGE), item("Budgets", "https://no.example/x"));
    let (head, tail) = text.split_at(text.len() / 2);
    for wire in ALL {
        let provider = Provider::saying([wire.says(&[head, tail])]);
        let (_place, mut client) = host(wire, &provider, "30 s");
        let params = json!({
            "name": "research_idea", "arguments": {"query": "how to retry", "top_k": 2},
            "_meta": {"progressToken": "p"}
        });
        let result = client.request("tools/call", params)["result"].clone();
        let text = text_of(&result);
        assert!(
            text.starts_with("# Research Ideas: \"how to retry\"\n\nFound **2** ideas:\n"),
            "{wire:?}: {text}"
        );
        for part in [
            &format!("**Source:** <{PAGE}>\n\n### Description\n\nAbout Backoff.\n"),
            "**Source:** <https://no.example/x> (not among the pages that the model read)",
            ", which read 1 pages.",
        ] {
            assert!(text.contains(part), "{wire:?}: {part:?} is missing in\n{text}");
        }
        let data = &result["structuredContent"];
        assert_eq!(
            (&data["found"], &data["pages_read"], &data["depth"]),
            (&json!(2), &json!(1), &json!("deep"))
        );
        assert_eq!(
            (&data["tokens"]["input"], &data["tokens"]["output"]),
            (&json!(1200), &json!(340)),
            "{wire:?}"
        );
        assert!(data["model"].as_str().is_some_and(|model| model.ends_with("-test")), "{data}");
        assert_eq!(data.get("cut_short"), None);

        let (request, body) = provider.only();
        let (path, search) = wire.question();
        assert!(request.target.ends_with(path), "{}", request.target);
        assert!(body.pointer(search).is_some(), "no web search in {body}");
        assert!(body.to_string().contains("how to retry"), "{body}");
        let (header, value) = wire.credential();
        assert_eq!(request.header(header), Some(&*value));

        let progress = client.notifications.iter().filter(|note| note["method"] == "notifications/progress");
        let messages: Vec<&Value> = progress.map(|note| &note["params"]["message"]).collect();
        let searching =
            |message: &&&Value| message.as_str().is_some_and(|text| text.contains("searching the web"));
        assert!(messages.iter().any(|message| searching(&message)), "{wire:?}: {messages:?}");
        assert!(!client.log().contains(KEY) && !client.log().contains("how to retry"));
    }
}

#[test]
fn implementations_and_studies_are_asked_for_and_worded() {
    let code = json!({"title": "backon", "url": PAGE, "code_snippet": "retry(f)"});
    let study = json!({"study": {"key_takeaways": "Wait.", "abstract": "So."},
                       "references": [{"title": "Backoff", "url": PAGE}]});
    let wire = Wire::OpenAi;
    let code = json!({"items": [code]}).to_string();
    let provider = Provider::saying([wire.says(&[&code]), wire.says(&[&study.to_string()])]);
    let (_place, mut client) = host(wire, &provider, "30 s");
    let text = client.text("research_implementation", json!({"query": "retries"}));
    assert!(text.contains("### Code Snippet\n\n```\nretry(f)\n```\n"), "{text}");
    let text = client.text("research_study", json!({"query": "retries", "depth": "light"}));
    assert!(text.starts_with("# Research Study: \"retries\"\n\n## Key Takeaways\n\nWait.\n"), "{text}");
    assert!(text.contains(&format!("## References\n\n- Backoff <{PAGE}>\n")), "{text}");
}

#[test]
fn a_wrong_key_is_reported_without_the_key() {
    for wire in ALL {
        let provider = Provider::saying([wire.wrong_key()]);
        let (_place, mut client) = host(wire, &provider, "30 s");
        let (kind, text) = fails(&mut client);
        assert!(kind == "PERMISSION" && text.contains(wire.variable()), "{wire:?}: {kind}: {text}");
        assert!(!text.contains(KEY) && !client.log().contains(KEY), "{text}");
        provider.only();
    }
}

#[test]
fn a_provider_that_is_busy_is_asked_again() {
    let wire = Wire::OpenAi;
    let busy = json!({"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}});
    let busy = Answer::Whole("429 Too Many Requests", "retry-after-ms: 1\r\n", busy.to_string());
    let text = format!("{{\"items\":[{}]}}", item("Backoff", PAGE));
    let provider = Provider::saying([busy.clone(), busy, wire.says(&[&text])]);
    let (_place, mut client) = host(wire, &provider, "30 s");
    assert!(client.text("research_idea", json!({"query": "retries"})).contains("Found **1** ideas:"));
    assert_eq!(provider.seen().len(), 3);
}

#[test]
fn a_provider_that_is_broken_is_unavailable() {
    let provider = Provider::saying([Answer::Whole("500 Oops", "retry-after-ms: 1\r\n", "oops".into())]);
    let (_place, mut client) = host(Wire::OpenAi, &provider, "30 s");
    let (kind, text) = fails(&mut client);
    assert!(kind == "UNAVAILABLE" && text.contains(&provider.address.to_string()), "{kind}: {text}");
    assert!(provider.seen().len() > 1, "it was asked again");
}

#[test]
fn an_answer_that_is_none_is_an_error() {
    let wire = Wire::OpenAi;
    let prose = wire.says(&["I found nothing that I would call an idea."]);
    let html = Answer::Whole("200 OK", "content-type: text/html\r\n", "<html>a login page</html>".into());
    let provider = Provider::saying([prose, html]);
    let (_place, mut client) = host(wire, &provider, "30 s");
    let (kind, text) = fails(&mut client);
    assert!(kind == "UNAVAILABLE" && text.contains("does not have the requested form"), "{kind}: {text}");
    let (_, text) = fails(&mut client);
    assert!(text.contains("OpenAI") && !text.contains("Found"), "{text}");
}

fn half() -> String {
    format!("{{\"items\":[{},{{\"title\":\"Half\",\"url\":\"https://exam", item("Backoff", PAGE))
}

#[test]
fn a_stream_that_breaks_keeps_what_was_whole() {
    for wire in ALL {
        let provider = Provider::saying([wire.breaks_off(&[&half()], End::Cut)]);
        let (_place, mut client) = host(wire, &provider, "30 s");
        let result = client.call("research_idea", json!({"query": "retries"}));
        let text = text_of(&result);
        assert!(text.contains("Found **1** ideas:\n\nThe answer was cut short: "), "{wire:?}: {text}");
        assert!(!text.contains("Half"), "{text}");
        assert!(result["structuredContent"]["cut_short"].is_string(), "{result}");
    }
}

#[test]
fn a_provider_that_is_slow_costs_the_calls_time_and_no_more() {
    let wire = Wire::OpenAi;
    let provider = Provider::saying([
        wire.breaks_off(&[], End::Stuck),
        wire.breaks_off(&[&half()], End::Stuck),
        wire.says(&["{\"items\":[]}"]),
    ]);
    let (_place, mut client) = host(wire, &provider, "6 s");
    let (kind, text) = fails(&mut client);
    assert!(kind == "TIMEOUT" && text.contains("OpenAI"), "{kind}: {text}");
    provider.left();
    let text = client.text("research_idea", json!({"query": "retries"}));
    assert!(text.contains("Found **1** ideas:\n\nThe answer was cut short: "), "{text}");
    provider.left();
    assert!(
        client
            .text("research_idea", json!({"query": "retries"}))
            .starts_with("No ideas found for: \"retries\"")
    );
}

#[test]
fn a_call_that_is_cancelled_hangs_up() {
    let wire = Wire::OpenAi;
    let provider =
        Provider::saying([wire.breaks_off(&[&half()], End::Stuck), wire.says(&["{\"items\":[]}"])]);
    let (_place, mut client) = host(wire, &provider, "60 s");
    let params = json!({"name": "research_idea", "arguments": {"query": "retries"}});
    let id = client.ask("tools/call", params);
    provider.asked();
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    provider.left();
    assert!(client.text("research_idea", json!({"query": "retries"})).starts_with("No ideas found"));
}

#[test]
fn without_a_key_the_variables_are_named() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "ideation");
    for tool in ["research_idea", "research_implementation", "research_study"] {
        let result = client.call(tool, json!({"query": "retries"}));
        assert_eq!(fault_of(&result)["type"], "UNAVAILABLE", "{result}");
        let text = text_of(&result);
        for variable in ["OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"] {
            assert!(text.contains(variable), "{variable} is missing in: {text}");
        }
    }
}

#[test]
fn without_the_grant_the_line_to_add_is_named() {
    let place = Place::with("[presets.web]\ngates.research = {}\n", &["research"]);
    let mut client = Client::start(&place, "web");
    let (kind, text) = fails(&mut client);
    assert!(
        kind == "PERMISSION" && text.contains("models") && text.contains("[gates.research]"),
        "{kind}: {text}"
    );
}
