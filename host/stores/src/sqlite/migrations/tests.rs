//! Tests of the steps.

use super::*;

const ONE: &str = "CREATE TABLE a (x)";
const TWO: &str = "ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES (1, 2)";

#[test]
fn every_step_runs_once_and_in_order() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &[ONE]).unwrap();
    migrate(&mut connection, &[ONE, TWO]).unwrap();
    migrate(&mut connection, &[ONE, TWO]).unwrap();
    let rows: i64 = connection.query_row("SELECT count(y) FROM a", [], |row| row.get(0)).unwrap();
    assert_eq!((rows, version(&connection).unwrap()), (1, 2));
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it() {
    let mut connection = Connection::open_in_memory().unwrap();
    assert!(migrate(&mut connection, &[ONE, "CREATE TABLE b (x); nonsense"]).is_err());
    assert_eq!(version(&connection).unwrap(), 1);
    assert!(connection.execute_batch("SELECT * FROM b").is_err());
    migrate(&mut connection, &[ONE, TWO]).unwrap();
}

#[test]
fn a_newer_database_is_refused_and_not_touched() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let error = migrate(&mut connection, KNOWLEDGE).unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { found: 99, known: 4 }));
    assert_eq!(version(&connection).unwrap(), 99);
}

fn empty() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    register_functions(&connection).unwrap();
    connection
}

#[test]
fn the_schema_is_made() {
    let mut connection = empty();
    migrate(&mut connection, KNOWLEDGE).unwrap();
    connection
        .execute_batch("SELECT * FROM page, page_body, link, domain, page_name, item, vector, model")
        .unwrap();
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, KV).unwrap();
    connection.execute_batch("SELECT * FROM entry").unwrap();
}

#[test]
fn pages_of_the_first_version_are_found_in_the_ways_of_the_second() {
    let mut connection = empty();
    migrate(&mut connection, &KNOWLEDGE[..1]).unwrap();
    let page = "INSERT INTO page VALUES (7, 'Principle/My_Page', 'k', 't', 'Principle', 'My Page', 'h', NULL, NULL,
                NULL, '[\"Ключ\"]', '[]');
         INSERT INTO page_body VALUES (7, 'about', '导出GGUF格式');
         INSERT INTO page_text (rowid, title, overview, domains, content) VALUES (7, 'old', 'old', 'old', 'old')";
    connection.execute_batch(page).unwrap();
    migrate(&mut connection, KNOWLEDGE).unwrap();
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM page_name WHERE key IN ('mypage', 'principle/mypage')"), 2);
    assert_eq!(count("SELECT count(*) FROM page_grams WHERE page_grams MATCH '\"导出\" AND \"люч\"'"), 1);
    assert_eq!(count("SELECT count(*) FROM page_text WHERE page_text MATCH 'gguf'"), 1);
    assert_eq!(count("SELECT count(*) FROM page_text WHERE page_text MATCH 'old'"), 0);
}

#[test]
fn names_and_words_of_older_pages_get_their_keys() {
    let mut connection = empty();
    migrate(&mut connection, &KNOWLEDGE[..3]).unwrap();
    let page = "INSERT INTO page VALUES (7, 'Principle/Straße', 'k', 't', 'Principle', 'Straße', 'h', NULL, NULL,
                NULL, '[]', '[]');
         INSERT INTO page_body VALUES (7, 'about', 'Ein Weg für Fußgänger');
         INSERT INTO page_name VALUES ('straße', 7);
         INSERT INTO page_text (rowid, title, overview, domains, content) VALUES (7, 'straße', 'x', 'x', 'fußgänger')";
    connection.execute_batch(page).unwrap();
    migrate(&mut connection, KNOWLEDGE).unwrap();
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM page_name WHERE key IN ('strasse', 'principle/strasse')"), 2);
    assert_eq!(count("SELECT count(*) FROM page_name WHERE key = 'straße'"), 0);
    assert_eq!(count("SELECT count(*) FROM page_text WHERE page_text MATCH 'fussganger'"), 1);
}

#[test]
fn vectors_of_pages_become_those_of_items_and_go_with_them() {
    let mut connection = empty();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    migrate(&mut connection, &KNOWLEDGE[..2]).unwrap();
    let page = "INSERT INTO page VALUES (7, 'i', 'k', 't', 'y', 't', 'h', NULL, NULL, NULL, '', '');
         INSERT INTO model VALUES (1, 'm', 0); INSERT INTO vector VALUES (7, 1, 1, x'0000803F')";
    connection.execute_batch(page).unwrap();
    migrate(&mut connection, KNOWLEDGE).unwrap();
    let moved = "SELECT count(*) FROM item JOIN vector ON item = number WHERE number = 7 AND corpus = 'page'
         AND key = 'k' AND version = 'h' AND model = 1 AND value = x'0000803F'";
    assert_eq!(connection.query_row(moved, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    connection.execute_batch("DELETE FROM item").unwrap();
    let state: (i64, i64, i64) = connection
        .query_row("SELECT generation, removed, (SELECT count(*) FROM vector) FROM vector_state", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(state, (1, 1, 0));
}

#[test]
fn failures_of_the_first_ledger_keep_their_kind() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &LEDGER[..1]).unwrap();
    connection
        .execute_batch(
            "INSERT INTO tool VALUES (1, 'server', 's', 'read');
             INSERT INTO day VALUES (1, 2, 1, 1, 0, 5, 0, 1, 1, 172800000, 172800000 * 16 + 1);",
        )
        .unwrap();
    migrate(&mut connection, LEDGER).unwrap();
    let failed: i64 = connection
        .query_row("SELECT last_failed % 16 FROM day WHERE NOT EXISTS (SELECT * FROM failure)", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(failed, 1);
}

#[test]
fn quarantined_tools_stay_so_and_others_count_as_reviewed() {
    let mut connection = empty();
    migrate(&mut connection, &TOOLS[..2]).unwrap();
    let spec = r#"{"name":"read","title":"Read","description":"Reads.","input_schema":{"type":"object"},
        "output_schema":null,"intent":"query","effect":"read-only","idempotent":true,"open_world":false,"dry_run":null,
        "meta":null}"#;
    let tool = |number: i64, approved: Option<&str>| {
        let key = number.to_string();
        connection.execute("INSERT INTO item VALUES (?1, 'tool', ?2, 'old')", (number, &key)).unwrap();
        let sql = "INSERT INTO tool VALUES (?1, 's', ?2, 0, 'old', 'files', NULL, ?3, ?4)";
        connection.execute(sql, (number, &key, approved, spec)).unwrap();
        let accepted = r#"{"effect":"read-only","additive":false,"idempotent":true}"#;
        connection.execute("INSERT INTO promise VALUES ('s', ?1, ?2)", (&key, accepted)).unwrap();
    };
    connection.execute_batch("INSERT INTO server VALUES ('s', '{}', NULL)").unwrap();
    tool(1, None);
    tool(2, Some("{\"description\":\"as it was\"}"));
    migrate(&mut connection, TOOLS).unwrap();
    let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    let reviewed = "SELECT group_concat(tool.name || (reviewed.digest = tool.digest)) FROM tool JOIN reviewed USING (name)";
    assert_eq!(text(reviewed), "11,20");
    assert_eq!(text("SELECT definition FROM reviewed WHERE name = '2'"), "{\"description\":\"as it was\"}");
    assert_eq!(text("SELECT count(*) || '' FROM item JOIN tool USING (number) WHERE version = digest"), "2");
    assert_eq!(text("SELECT accepted ->> '$.open_world' || '' FROM promise LIMIT 1"), "0");
}
