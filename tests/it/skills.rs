//! Skills (SEP-2640): from folders of a preset, and from a server behind the host, which is another Gatehouse.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, Http, Place, host::PATIENCE};

const SKILL: &str =
    "---\nname: field-notes\ndescription: How to keep notes.\n---\n\nSee [kinds](references/kinds.md).\n";
const KINDS: &str = "- Sighting\n";

fn place() -> Place {
    let place = Place::with("[presets.one]\nskills = [\"skills\"]\n", &[]);
    place.write("skills/field-notes/SKILL.md", SKILL);
    place.write("skills/field-notes/references/kinds.md", KINDS);
    place
}

fn client(place: &Place, preset: &str, capabilities: Value) -> (Client, Value) {
    let mut client = Client::raw(place, &["serve", "--preset", preset], &[]);
    let initialized = client.initialize_with("2025-11-25", capabilities);
    (client, initialized["capabilities"]["extensions"].clone())
}

fn with_skills() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/skills": {}}})
}

fn skills(client: &mut Client) -> Vec<Value> {
    let listed = client.request("skills/list", json!({}));
    listed["result"]["skills"].as_array().unwrap_or_else(|| panic!("no skills: {listed}")).clone()
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({"uri": uri}))
}

/// Waits until there is one skill, and returns it.
fn only_skill(client: &mut Client) -> Value {
    loop {
        if let [skill] = &skills(client)[..] {
            return skill.clone();
        }
        resources_changed(client);
    }
}

/// Waits for a message that the resources changed.
fn resources_changed(client: &mut Client) {
    let is_meant = |message: &Value| message["method"] == "notifications/resources/list_changed";
    while !client.notifications.iter().any(is_meant) {
        let message = client.next_message();
        client.keep(message);
    }
    client.notifications.clear();
}

#[test]
fn a_folder_of_skills_is_served_and_its_changes_too() {
    let place = place();
    let (mut plain, extensions) = client(&place, "one", json!({}));
    assert_eq!(extensions, json!(null), "only offered to clients that declare it");
    let listed = plain.request("resources/list", json!({}))["result"]["resources"][0].clone();
    assert_eq!(listed["uri"], "skill://field-notes/SKILL.md", "other clients read it as a resource");
    assert_eq!(plain.close(), Some(0));

    let (mut client, extensions) = client(&place, "one", with_skills());
    assert_eq!(extensions, json!({"io.modelcontextprotocol/skills": {"directoryRead": true}}));
    let [skill] = &skills(&mut client)[..] else { panic!("one skill") };
    assert_eq!(skill["frontmatter"], json!({"name": "field-notes", "description": "How to keep notes."}));
    assert_eq!(skill["resources"][1]["size"], KINDS.len());
    assert_eq!(client.request("skills/get", json!({"uri": skill["uri"]}))["result"]["skill"], *skill);
    let kinds = read(&mut client, "skill://field-notes/references/kinds.md");
    assert_eq!(kinds["result"]["contents"][0]["text"], KINDS, "{kinds}");
    let folder = client.request("resources/directory/read", json!({"uri": "skill://field-notes"}));
    assert_eq!(folder["result"]["resources"][1]["mimeType"], "inode/directory", "{folder}");
    for (method, uri) in [
        ("skills/get", "skill://other/SKILL.md"),
        ("resources/directory/read", "skill://field-notes/SKILL.md"),
    ] {
        assert_eq!(client.request(method, json!({"uri": uri}))["error"]["code"], -32602, "{method}");
    }
    let outside = read(&mut client, "skill://field-notes/../../presets.toml");
    assert!(outside["error"]["message"].as_str().expect("an error").contains("not found"), "{outside}");

    client.notifications.clear();
    place.write("skills/field-notes/references/kinds.md", "- Sighting\n- Measurement\n");
    resources_changed(&mut client);
    let [changed] = &skills(&mut client)[..] else { panic!("one skill") };
    assert_ne!(changed["resources"][1]["digest"], skill["resources"][1]["digest"]);
    place.write("skills/second/SKILL.md", SKILL.replace("field-notes", "second"));
    resources_changed(&mut client);
    assert_eq!(skills(&mut client).len(), 2);
    fs::remove_dir_all(place.path("skills/second")).expect("removed");
    resources_changed(&mut client);
    assert_eq!(skills(&mut client).len(), 1);
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_folder_that_is_not_there_ends_the_start_and_a_bad_skill_is_left_out_alone() {
    let missing = Place::with("[presets.one]\nskills = [\"nowhere\"]\n", &[]);
    let refused = missing.run(&["serve", "--preset", "one"]);
    assert_eq!(refused.code(), 2);
    assert!(
        refused.stderr().contains("presets.toml:2:11: cannot read the folder of skills"),
        "{}",
        refused.stderr()
    );

    let place = place();
    place.write("skills/bad/SKILL.md", "---\nname: another\ndescription: Has another name.\n---\n");
    place.write("skills/server/SKILL.md", SKILL.replace("field-notes", "server"));
    let (mut client, _) = client(&place, "one", with_skills());
    assert_eq!(skills(&mut client).len(), 1);
    client.log_with("leaving out the skill skill://server/SKILL.md");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn skills_of_servers_keep_their_files_together_and_reach_clients_through_the_proxy_too() {
    let behind = place();
    let server = Http::with(&behind, &["--preset", "one"], &[]);
    let presets = "[presets.all]\nservers = [\"up\"]\n[gates.proxy]\ngrants = [\"servers\", \"models\", \"artifacts\", \"catalog\"]\n[presets.found]\ngates.proxy = {}\n";
    let place = Place::with(&format!("[servers.up]\nurl = \"{}/mcp\"\n{presets}", server.base), &["proxy"]);
    let (mut client_of_server, _) = client(&place, "all", with_skills());
    let skill = only_skill(&mut client_of_server);
    assert_eq!(skill["uri"], "skill://server/up/field-notes/SKILL.md");
    let uri = "skill://server/up/field-notes/references/kinds.md";
    assert_eq!(skill["resources"][1]["uri"], uri);
    assert_eq!(read(&mut client_of_server, uri)["result"]["contents"][0]["text"], KINDS);
    let other = read(&mut client_of_server, "skill://server/up/field-notes/other.md");
    assert!(other["error"].is_object(), "{other}");
    assert_eq!(client_of_server.close(), Some(0));

    // The listing is known by now.
    let (mut client_of_proxy, _) = client(&place, "found", with_skills());
    let skill = only_skill(&mut client_of_proxy);
    assert_eq!(skill["uri"], "skill://server/up/field-notes/SKILL.md");
    assert_eq!(read(&mut client_of_proxy, uri)["result"]["contents"][0]["text"], KINDS);
    client_of_proxy.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "search_tools"));
    assert_eq!(client_of_proxy.close(), Some(0));
}
