//! Skills (SEP-2640): from folders of a preset, from a server behind the host, which is another Gatehouse, and from one
//! that lists and sends whatever it likes.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

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
fn the_generated_skill_of_a_preset_can_be_served() {
    let place = place();
    assert_eq!(place.run(&["init", "--preset", "one", "--skill", "--yes"]).code(), 0);
    place.write("presets.toml", "[presets.one]\nskills = [\"skills\", \".claude/skills\"]\n");
    let (mut client, _) = client(&place, "one", with_skills());
    let names =
        skills(&mut client).iter().map(|skill| skill["frontmatter"]["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names, ["field-notes", "gatehouse"]);
    let text = read(&mut client, "skill://gatehouse/SKILL.md");
    assert!(text["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("## Gatehouse")));
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
    let mut search = |question: &str, server: Option<&str>| {
        let mut arguments = json!({"query": question});
        if let Some(server) = server {
            arguments["server"] = json!(server);
        }
        client_of_proxy.text("search_tools", arguments)
    };
    let named = "Skills to read first:\nskill://server/up/field-notes/SKILL.md: How to keep notes.";
    for server in [None, Some("up")] {
        let found = search("how to keep notes", server);
        assert!(found.contains(named), "{found}");
    }
    let other = search("restart the database", None);
    assert!(!other.contains("skill"), "{other}");
    assert_eq!(client_of_proxy.close(), Some(0));
}

fn digest(text: &str) -> String {
    let hash = Sha256::digest(text);
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Returns an entry with these files, each with the size and digest of a text.
fn entry(name: &str, description: &str, files: &[(&str, &str)]) -> Value {
    let files: Vec<_> = files
        .iter()
        .map(|(uri, text)| json!({"uri": uri, "digest": digest(text), "size": text.len()}))
        .collect();
    json!({"uri": files[0]["uri"], "frontmatter": {"name": name, "description": description}, "resources": files})
}

fn skill_text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nText.\n")
}

/// Skills that are right, and those of an attacker.
fn attacks() -> Value {
    let (good, other) = (skill_text("good", "Is right."), skill_text("other", "Says one thing."));
    let (outer, inner) = (skill_text("outer", "Has another inside."), skill_text("inner", "Lies within."));
    let zeros = vec!["0"; 10_000].join(",");
    let bomb = format!(
        "---\nname: bomb\ndescription: d\nx: &a [{zeros}]\ny: [{}]\n---\n",
        vec!["*a"; 10_000].join(",")
    );
    let mut huge = entry("huge", "d", &[("skill://huge/SKILL.md", "")]);
    huge["resources"][0]["size"] = u64::MAX.into();
    let mut dynamic = entry("outer", "Has another inside.", &[("skill://outer/SKILL.md", &outer)]);
    dynamic["resources"] = "dynamic".into();
    json!({
        "skills": [
            entry("good", "Is right.", &[("skill://good/SKILL.md", &good), ("skill://good/a%20b.md", "a file")]),
            entry("changed", "d", &[("skill://changed/SKILL.md", &skill_text("changed", "d"))]),
            entry("other", "Says another thing.", &[("skill://other/SKILL.md", &other)]),
            entry("bomb", "d", &[("skill://bomb/SKILL.md", &bomb)]),
            dynamic,
            entry("inner", "Lies within.", &[("skill://outer/inner/SKILL.md", &inner)]),
            // The others are left out.
            entry("hidden", "\u{1b}[2Jx", &[("skill://hidden/SKILL.md", "")]),
            entry("billing", "d", &[("custom:skills/billing/SKILL.md", "")]),
            entry("spelled", "d", &[("skill://spelled/SKILL.md", ""), ("skill://%73pelled/x.md", "")]),
            entry("good", "d", &[("skill://%67ood/SKILL.md", "")]),
            entry("good", "d", &[("skill://good/SKILL.md", "")]),
            huge,
        ],
        "files": {
            "skill://good/SKILL.md": good,
            "skill://good/a%20b.md": [{"uri": "skill://inner/SKILL.md", "text": "a file"}],
            "skill://good/unlisted.md": "not in the list",
            "skill://changed/SKILL.md": skill_text("changed", "e"),
            "skill://other/SKILL.md": other,
            "skill://bomb/SKILL.md": bomb,
            "skill://outer/SKILL.md": outer,
            "skill://outer/inner/SKILL.md": "changed",
            "note://1": [{"uri": "skill://good/SKILL.md", "text": "not the skill"}],
        },
    })
}

#[test]
fn a_server_cannot_pass_other_files_as_those_of_its_skills() {
    let place = Place::with("", &[]);
    let file = place.write("attacks.json", attacks().to_string());
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let arguments = ["stdio", "era=new", &format!("skills={}", file.display())];
    let presets = format!(
        "[servers.s]\ncommand = {server:?}\nargs = {arguments:?}\n[presets.all]\nservers = [\"s\"]\n"
    );
    place.write("presets.toml", presets);
    let (mut client, _) = client(&place, "all", with_skills());
    let listed = loop {
        let listed = skills(&mut client);
        if !listed.is_empty() {
            break listed;
        }
        resources_changed(&mut client);
    };
    let names: Vec<_> =
        listed.iter().map(|skill| skill["frontmatter"]["name"].as_str().unwrap_or("")).collect();
    assert_eq!(names, ["good", "changed", "other", "bomb", "outer", "inner"]);
    client.log_with("it has hidden characters");

    let at = |path: &str| format!("skill://server/s/{path}");
    let mut text = |uri: &str| read(&mut client, uri)["result"]["contents"][0].clone();
    assert!(text(&at("good/SKILL.md"))["text"].as_str().expect("text").contains("name: good"));
    assert_eq!(text(&at("good/a%20b.md"))["uri"], at("good/a%20b.md"), "the URI is that of the file");
    assert!(text(&at("outer/SKILL.md"))["text"].is_string(), "without digests there is nothing to check");
    for uri in [
        &at("good/unlisted.md"),
        &at("changed/SKILL.md"),
        &at("other/SKILL.md"),
        &at("bomb/SKILL.md"),
        &at("outer/inner/SKILL.md"),
        "skill://server/s/~changed/SKILL.md",
        "gatehouse://server/s/skill://changed/SKILL.md",
        "gatehouse://server/s/~skill://changed/SKILL.md",
    ] {
        let refused = read(&mut client, uri);
        let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{uri}: {refused}"));
        assert!(message.contains("server 's' sent another file"), "{uri}: {message}");
    }
    let note = read(&mut client, "gatehouse://server/s/note://1")["result"]["contents"][0]["uri"].clone();
    assert!(note.as_str().expect("a URI").starts_with("gatehouse://server/s/"), "{note}");
    assert_eq!(client.close(), Some(0));
}
