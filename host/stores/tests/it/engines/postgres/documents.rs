//! Documents on PostgreSQL, in tables of gatehouse and of another program.

mod existing;
mod trouble;

use std::sync::Arc;

use gatehouse_core::ports::{
    DocumentReader as _, Embedder,
    documents::{DocumentStore as _, SearchMode},
    text::{TokenCounter, TokenEncoding},
};
use gatehouse_stores::{DocumentLibrary, DocumentTables, PostgresConfig, PostgresDocumentsConfig, WikiRoots};

use super::{OTHER_VERSIONS, Postgres, Setup, graph_on};
use crate::{
    document_behaviours::{add, document_behaviours, file, shelf, shelf_by_meaning, until_complete},
    embedder::TestEmbedder,
    engines::{DocumentFixture, Fixture},
    support::clock,
};

struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str, _: TokenEncoding) -> usize {
        text.split_whitespace().count()
    }

    fn count_up_to(&self, text: &str, limit: usize, encoding: TokenEncoding) -> Option<usize> {
        Some(self.count(text, encoding)).filter(|count| *count <= limit)
    }

    fn token_prefix<'a>(&self, text: &'a str, _: usize, _: TokenEncoding) -> &'a str {
        text
    }
}

fn library_with(
    server: PostgresConfig,
    tables: DocumentTables,
    embedder: Option<Arc<dyn Embedder>>,
) -> DocumentLibrary {
    let config = PostgresDocumentsConfig { server, tables, tokens: Arc::new(Words) };
    DocumentLibrary::postgres(config, clock(), embedder)
}

fn library_on(url: &str, embedder: Option<Arc<dyn Embedder>>) -> DocumentLibrary {
    library_with(PostgresConfig::parse(url).unwrap(), DocumentTables::default(), embedder)
}

impl DocumentFixture for Postgres {
    fn open_documents(&self, embedder: Option<Arc<dyn Embedder>>) -> DocumentLibrary {
        library_on(&self.database.url(), embedder)
    }
}

document_behaviours!(Postgres);

#[tokio::test]
async fn asking_after_its_health_makes_no_table() {
    let Some(place) = Postgres::fresh().await else { return };
    let library = place.open_documents(None);
    let health = library.health().await.unwrap();
    assert_eq!((health.engine, health.schema, health.address), ("postgres", None, place.address()));
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'gatehouse'";
    assert_eq!(place.database.number(schemas).await, 0);
    assert_eq!(library.repositories(true).await.unwrap(), []);
    assert_eq!(library.health().await.unwrap().schema, Some((101, 101)));
}

#[tokio::test]
async fn pages_and_documents_live_side_by_side() {
    let Some(place) = Postgres::fresh().await else { return };
    let embedder = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&place, &embedder).await;
    add(&library, vec![file("a.md", "yeast\n\nbread")]).await;
    until_complete(&library).await;
    let model: Arc<dyn Embedder> = embedder.clone();
    let graph = graph_on(&place.database.url(), Setup { embedder: Some(model), ..Setup::of(WikiRoots::Any) });
    assert!(graph.wait_for_vectors(std::time::Duration::from_secs(60)).await);
    assert_eq!(graph.health().await.unwrap().items, 0);
    assert_eq!(embedder.documents(), 2);
    assert_eq!(library.search("shelf", "leaven", SearchMode::Semantic, 5).await.unwrap().note, None);
}

#[tokio::test]
async fn newer_and_older_schemas_are_refused_and_not_touched() {
    let Some(place) = Postgres::fresh().await else { return };
    let old = shelf(&place).await;
    let database = &place.database;
    for part in ["documents", "items"] {
        let set = |version: u32| {
            format!("UPDATE gatehouse.schema_version SET version = {version} WHERE part = '{part}'")
        };
        let known = database
            .number(&format!("SELECT version FROM gatehouse.schema_version WHERE part = '{part}'"))
            .await;
        for (version, reason) in OTHER_VERSIONS {
            database.run(&set(version)).await;
            for library in [&old, &place.open_documents(None)] {
                let faults =
                    [library.repositories(false).await.unwrap_err(), library.health().await.unwrap_err()];
                for fault in faults {
                    assert!(fault.message.contains(reason) && fault.hint.is_some(), "{fault}");
                }
            }
        }
        database.run(&set(known as u32)).await;
    }
    assert_eq!(old.repositories(false).await.unwrap().len(), 1);
}

#[tokio::test]
async fn paths_and_names_of_any_length_are_stored() {
    let Some(place) = Postgres::fresh().await else { return };
    let library = shelf(&place).await;
    let long = |end: &str| format!("{}{end}", "folder/".repeat(800));
    let words: String = (0..100_000).map(|n| format!("word{n} ")).collect();
    add(&library, vec![file(&long("a.md"), "one"), file(&long("b.md"), "two"), file("c.md", &words)]).await;
    assert_eq!(library.read("shelf", &long("b.md"), None).await.unwrap().text, "two");
    let found = library.search("shelf", "word7", SearchMode::Text, 5).await.unwrap();
    assert_eq!(found.hits[0].path, "c.md");
    assert_eq!(library.heads("shelf").await.unwrap().len(), 3);
}
