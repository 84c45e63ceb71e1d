//! A knowledge graph that cannot be set up fails only calls that need it; the log, `status` and `doctor` report the
//! reason and the fix.

use std::fs;

use serde_json::json;

use super::{refused, says, served};
use crate::support::{Client, Place};

const TWO: &str = "[gates.kg]\ngrants = [\"knowledge\"]\n[presets.full]\ngates.kg = {}\ngates.echo = {}\n[presets.echo]\ngates.echo = {}\n";

/// Checks that a call that needs the graph fails while another gate's call works.
fn fails(client: &mut Client, expected: &[&str]) {
    let text = client.fails("search_knowledge", json!({"query": "retries"}));
    says(&text, expected);
    assert_eq!(client.text("echo", json!({"text": "still here"})), "still here");
}

#[test]
fn an_engine_that_is_not_set_up_fails_the_calls_that_need_it() {
    let engine = "[knowledge]\nengine = \"weaviate-neo4j\"\n";
    let place = Place::with(&format!("{engine}{TWO}"), &["kg", "echo"]);
    let reason = "NEO4J_PASSWORD: is not set, and the engine 'weaviate-neo4j' needs the password of Neo4j";
    let mut client = served(&place, &[], &[]);
    client.log_with(&format!(
        "gate kg requests the knowledge graph: the knowledge graph is not set up: {reason}"
    ));
    fails(&mut client, &[reason]);
    // A preset that does not use the graph logs no warning.
    let mut echo = served(&place, &["--preset", "echo"], &[]);
    assert_eq!(echo.text("echo", json!({"text": "a"})), "a");
    assert!(!echo.log().contains("NEO4J_PASSWORD"), "{}", echo.log());
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.code(), 1);
    says(&doctor.stdout(), &[&format!("FAIL  knowledge: the knowledge graph is not set up: {reason}")]);
    says(
        &place.run(&["status"]).stdout(),
        &[&format!("knowledge  down: the knowledge graph is not set up: {reason}")],
    );

    let place = Place::with(&format!("[knowledge]\nengine = \"postgres\"\n{TWO}"), &["kg", "echo"]);
    fails(&mut served(&place, &[], &[]), &["DATABASE_URL: is not set"]);
}

#[test]
fn an_index_file_that_is_not_there_or_not_one_ends_the_start() {
    let place = Place::with(TWO, &["kg", "echo"]);
    let missing = place.path("nope.index").display().to_string();
    let line = refused(&place, &[], &[("KG_INDEX_PATH", &missing)]);
    says(
        &line,
        &[
            "KG_INDEX_PATH: ",
            &missing,
            "does not exist",
            "`gatehouse kg index DIR --save-to ",
            "or unset KG_INDEX_PATH",
        ],
    );
    let cases = [
        ("nonsense", "is not JSON"),
        ("{}", "has version 'none'; expected '1.0'"),
        ("{\"version\": \"9.9\"}", "has version '9.9'; expected '1.0'"),
        ("{\"version\": \"1.0\"}", "is not an index file"),
        (
            "{\"version\": \"1.0\", \"created_at\": \"2026-01-01T00:00:00Z\", \"data_source\": \"wiki\", \
             \"search_backend\": \"papyrus\"}",
            "'papyrus'",
        ),
    ];
    for (content, expected) in cases {
        let file = place.write("wiki.index", content).display().to_string();
        says(&refused(&place, &[], &[("KG_INDEX_PATH", &file)]), &["KG_INDEX_PATH: ", expected]);
        let mut command = place.command(&["kg", "search", "x"]);
        let output = command.env("KG_INDEX_PATH", &file).output().expect("run gatehouse");
        assert_eq!(output.status.code(), Some(2), "{content}");
        says(&String::from_utf8_lossy(&output.stderr), &["KG_INDEX_PATH: ", expected]);
    }
}

#[test]
fn an_index_file_of_another_program_names_weaviate_and_neo4j_and_can_be_replaced() {
    let place = Place::shipped();
    let wiki = place.sample_wiki().display().to_string();
    let content = json!({"version": "1.0", "created_at": "2025-12-01T10:00:00+00:00", "data_source": wiki,
        "search_backend": "kg_graph_search", "backend_refs": {"weaviate_collection": "Pages"}, "page_count": 28});
    let index = place.write("their.index", content.to_string()).display().to_string();
    let environment = [("KG_INDEX_PATH", index.as_str())];
    let mut client = served(&place, &["--preset", "merger"], &environment);
    let reason = client.fails("search_knowledge", json!({"query": "retries"}));
    says(&reason, &["NEO4J_PASSWORD", "'weaviate-neo4j'"]);
    drop(client);
    // With the variable set, the configured engine may replace a broken index file.
    for broken in
        [None, Some("{\"version\": \"0.1\", \"data_source\": \"w\", \"search_backend\": \"papyrus\"}")]
    {
        if let Some(content) = broken {
            place.write("their.index", content);
        }
        let mut command = place.command(&["kg", "index", &wiki, "--save-to", "their.index"]);
        let ran = command.env("KG_INDEX_PATH", &index).output().expect("run gatehouse");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{stderr}");
        says(&stderr, &["replacing the index file, which is unusable"]);
        let written = fs::read_to_string(&index).expect("the index file");
        assert!(written.contains("\"search_backend\": \"sqlite\""), "{written}");
    }
    let mut client = served(&place, &["--preset", "merger"], &environment);
    says(&client.text("search_knowledge", json!({"query": "retries"})), &["Retry"]);
}

#[test]
fn variables_that_are_set_and_not_used_are_named() {
    let place = Place::shipped();
    let variables = [("NEO4J_URI", "bolt://127.0.0.1:1"), ("WEAVIATE_URL", "http://127.0.0.1:1")];
    let named = "NEO4J_URI, WEAVIATE_URL are set and not used: the knowledge engine is 'sqlite'.";
    let doctor = place.command(&["doctor"]).envs(variables).output().expect("run gatehouse");
    says(&String::from_utf8_lossy(&doctor.stdout), &["warn  environment: ", named]);
    let client = served(&place, &["--preset", "merger"], &variables);
    says(&client.log_with("not used"), &[named]);
}

#[test]
fn an_index_file_whose_database_vanished_says_so_until_it_is_back() {
    let place = Place::with(TWO, &["kg", "echo"]);
    let wiki = place.sample_wiki().display().to_string();
    let index = place.path("wiki.index").display().to_string();
    assert_eq!(place.run(&["kg", "index", &wiki, "--save-to", &index]).code(), 0);
    let (database, aside) = (place.path("state/knowledge.db"), place.path("aside.db"));
    fs::rename(&database, &aside).expect("take it away");
    let environment = [("KG_INDEX_PATH", index.as_str())];
    let mut client = served(&place, &[], &environment);
    let shown = database.display().to_string();
    let again = format!("`gatehouse kg index {wiki} --save-to {index}`");
    fails(&mut client, &[&index, "names the database", &shown, "does not exist. Restore it", &again]);
    assert!(!database.exists(), "an empty one in its place would look like an empty wiki");
    fs::rename(&aside, &database).expect("put it back");
    says(&client.text("search_knowledge", json!({"query": "retries"})), &["Retry"]);
    drop(client);
    // The suggested command works while the variable is set.
    fs::remove_file(&database).expect("take it away");
    let mut command = place.command(&["kg", "index", &wiki, "--save-to", &index]);
    assert!(command.env("KG_INDEX_PATH", &index).status().expect("run gatehouse").success());
    let mut client = served(&place, &[], &environment);
    says(&client.text("search_knowledge", json!({"query": "retries"})), &["Retry"]);
}
