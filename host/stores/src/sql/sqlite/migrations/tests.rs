//! Tests of the steps.

use super::*;

use crate::{
    artifacts::schema::SCHEMA as ARTIFACTS,
    keys::SCHEMA as AUTH,
    knowledge::pages::schema::SCHEMA as KNOWLEDGE,
    kv::SCHEMA as KV,
    sql::{
        StoreError,
        schema::{FIRST_VERSION, SchemaStep},
    },
};

const fn step(statements: &'static str) -> SchemaStep {
    SchemaStep { both: statements, sqlite: "", postgres: "" }
}

const ONE: SchemaStep = step("CREATE TABLE a (x)");
const TWO: SchemaStep = step("ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES (1, 2)");
const WRONG: SchemaStep = step("CREATE TABLE b (x); nonsense");

#[test]
fn every_step_runs_once_and_in_order() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, &[ONE]).unwrap();
    migrate(&mut connection, &[ONE, TWO]).unwrap();
    migrate(&mut connection, &[ONE, TWO]).unwrap();
    let rows: i64 = connection.query_row("SELECT count(y) FROM a", [], |row| row.get(0)).unwrap();
    assert_eq!((rows, version(&connection).unwrap()), (1, FIRST_VERSION + 1));
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it() {
    let mut connection = Connection::open_in_memory().unwrap();
    assert!(migrate(&mut connection, &[ONE, WRONG]).is_err());
    assert_eq!(version(&connection).unwrap(), FIRST_VERSION);
    assert!(connection.execute_batch("SELECT * FROM b").is_err());
    migrate(&mut connection, &[ONE, TWO]).unwrap();
}

#[test]
fn newer_and_older_databases_are_refused_and_not_touched() {
    let mut connection = Connection::open_in_memory().unwrap();
    for found in [1, 4, FIRST_VERSION - 1, FIRST_VERSION + 1] {
        connection.pragma_update(None, "user_version", found).unwrap();
        let error = migrate(&mut connection, KNOWLEDGE).unwrap_err();
        let is_expected = match error {
            StoreError::OlderSchema { found: older } => older == found && found < FIRST_VERSION,
            StoreError::NewerSchema { found: newer, known: FIRST_VERSION } => newer == found,
            _ => false,
        };
        assert!(is_expected, "{found}: {error:?}");
        assert_eq!(version(&connection).unwrap(), found);
    }
}

#[test]
fn the_schema_is_made() {
    for (steps, tables) in [
        (KNOWLEDGE, "page, page_body, link, domain, page_name, item, vector, model"),
        (KV, "kv_entry"),
        (crate::documents::tables::schema::SCHEMA, "repository, file, chunk"),
        (ARTIFACTS, "artifact, artifact_text, artifact_block"),
        (crate::tools::FILE.steps, "tool_server, tool_state, item, vector, model"),
        (crate::ledger::schema::SCHEMA, "ledger_call, ledger_failure"),
        (AUTH, "api_key, api_secret"),
        (crate::audit::schema::SCHEMA, "audit_entry, audit_head"),
    ] {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, steps).unwrap();
        connection.execute_batch(&format!("SELECT * FROM {tables}")).unwrap();
    }
}
