//! Resources, prompts and `_meta` of a server that a preset exposes: prefixed with the server's name, and mapped back.
//! The server is another host with its own folder.

use serde_json::{Value, json};

use crate::support::{
    Client, Http, Place,
    place::{binary, built},
};

fn inner() -> Place {
    let place = Place::with("[presets.one]\ngates.poetry = { shelf = \"poetry\", books = 2 }\n", &[]);
    place.write("gates/poetry.wasm", built("shelf"));
    place
}

fn outer(inner: &Place) -> Place {
    let (command, config, state) = (binary(), inner.path("presets.toml"), inner.path("state"));
    Place::with(
        &format!(
            "[servers.far]\ncommand = {command:?}\nargs = [\"serve\", \"--preset\", \"one\", \"--config\", {config:?}]\n\
             env = {{ GATEHOUSE_STATE = {state:?} }}\n[presets.all]\nservers = [\"far\"]\n"
        ),
        &[],
    )
}

fn uris(client: &mut Client) -> Vec<String> {
    let reply = client.request("resources/list", json!({}));
    let resources = reply["result"]["resources"].as_array().unwrap_or_else(|| panic!("{reply}"));
    resources.iter().filter_map(|resource| Some(resource["uri"].as_str()?.to_owned())).collect()
}

#[test]
fn what_a_server_has_to_read_stands_behind_its_name() {
    let inner = inner();
    let place = outer(&inner);
    let mut client = Client::start(&place, "all");
    let books = ["gatehouse://server/far/test://poetry/0", "gatehouse://server/far/test://poetry/1"];
    let listed = uris(&mut client);
    assert!(books.iter().all(|book| listed.iter().any(|uri| uri == book)), "{listed:?}");
    let templates =
        client.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "gatehouse://server/far/{+uri}", "{templates}");
    assert!(templates.to_string().contains("gatehouse://server/far/test://poetry/"), "{templates}");
    let read = client.request("resources/read", json!({"uri": books[1]}));
    let part = &read["result"]["contents"][0];
    assert_eq!(part["uri"], books[1], "{read}");
    assert!(part["text"].as_str().is_some_and(|text| !text.is_empty()), "{read}");
    let error = client.request("resources/read", json!({"uri": "gatehouse://server/far/test://poetry/99"}));
    assert_eq!(error["error"]["code"], -32002, "{error}");
    assert!(error.to_string().contains("server 'far' answered"), "{error}");
    assert_eq!(client.close(), Some(0));
    let mut client = Client::start(&place, "all");
    assert_eq!(uris(&mut client), listed);
    let hosts = place.run(&["servers", "status", "--json"]).json()["hosts"].clone();
    assert!(!hosts.to_string().contains("\"connected\""), "{hosts}");
}

#[test]
fn a_prompt_of_a_server_is_made_under_its_prefixed_name() {
    let inner = inner();
    let place = outer(&inner);
    let mut own = Client::start(&inner, "one");
    let declared = own.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let mut client = Client::start(&place, "all");
    let prompts = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let prefixed = |mut prompt: Value| {
        prompt["name"] = format!("far__{}", prompt["name"].as_str().unwrap_or_default()).into();
        prompt
    };
    let expected: Vec<_> = declared.as_array().expect("prompts").iter().cloned().map(prefixed).collect();
    assert_eq!(prompts, json!(expected));
    let (name, far) = (&declared[0]["name"], &prompts[0]["name"]);
    let arguments: serde_json::Map<_, _> = declared[0]["arguments"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|argument| Some((argument["name"].as_str()?.to_owned(), json!("x"))))
        .collect();
    let there =
        own.request("prompts/get", json!({"name": name, "arguments": arguments}))["result"]["messages"]
            .clone();
    let here =
        client.request("prompts/get", json!({"name": far, "arguments": arguments}))["result"]["messages"]
            .clone();
    assert!(here.as_array().is_some_and(|messages| !messages.is_empty()), "{here}");
    assert_eq!(here.as_array().map(Vec::len), there.as_array().map(Vec::len));
    assert_eq!(here[0]["content"]["text"], there[0]["content"]["text"]);
}

fn updated(client: &mut Client) -> String {
    loop {
        let message = client.next_message();
        assert!(message.get("error").is_none(), "{message}");
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].as_str().expect("an address").to_owned();
        }
    }
}

#[test]
fn subscribers_are_notified_when_a_resource_of_a_server_changes() {
    let inner = inner();
    let host = Http::start(&inner, "one", &[]);
    let far = format!("[servers.far]\nurl = \"{}/mcp\"\n[presets.all]\nservers = [\"far\"]\n", host.base);
    for place in [outer(&inner), Place::with(&far, &[])] {
        let mut client = Client::start(&place, "all");
        let uri = "gatehouse://server/far/test://poetry/0";
        let taken = client.request("resources/subscribe", json!({"uri": uri}));
        assert_eq!(taken["result"], json!({}), "{taken}");
        assert_eq!([updated(&mut client), updated(&mut client)], [uri, uri]);
        let ended = client.request("resources/unsubscribe", json!({"uri": uri}));
        assert_eq!(ended["result"], json!({}), "{ended}");

        let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let wanted = json!({"resourceSubscriptions": [uri]});
        client.ask("subscriptions/listen", json!({"notifications": wanted, "_meta": meta}));
        assert_eq!([updated(&mut client), updated(&mut client)], [uri, uri]);
    }
}
