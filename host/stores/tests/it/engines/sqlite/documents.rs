//! Documents on SQLite.

mod crash;

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::{
    outcome::FaultKind,
    ports::{DocumentReader as _, Embedder},
};
use gatehouse_stores::DocumentLibrary;

use super::Sqlite;
use crate::{
    document_behaviours::{document_behaviours, shelf},
    engines::{DocumentFixture, Fixture},
    support::clock,
};

struct SqliteDocuments(Sqlite);

impl SqliteDocuments {
    fn database(&self) -> PathBuf {
        self.0.dir.path().join("state/documents.db")
    }
}

impl Fixture for SqliteDocuments {
    const NAME: &'static str = "sqlite";

    async fn fresh() -> Option<Self> {
        Some(Self(Sqlite::fresh().await?))
    }

    fn open(&self, setup: super::Setup) -> gatehouse_stores::WikiKnowledge {
        self.0.open(setup)
    }

    fn address(&self) -> String {
        self.database().display().to_string()
    }
}

impl DocumentFixture for SqliteDocuments {
    fn open_documents(&self, embedder: Option<Arc<dyn Embedder>>) -> DocumentLibrary {
        DocumentLibrary::sqlite(self.database(), clock(), embedder)
    }
}

document_behaviours!(SqliteDocuments);

#[tokio::test]
async fn asking_after_its_health_makes_no_database() {
    let place = SqliteDocuments::fresh().await.unwrap();
    let library = place.open_documents(None);
    assert_eq!(library.health().await.unwrap().schema, None);
    assert!(!place.database().exists());
    assert_eq!(library.repositories(true).await.unwrap(), []);
    assert!(library.health().await.unwrap().schema.is_some());
}

#[tokio::test]
async fn a_database_that_cannot_be_opened_is_unavailable_and_named() {
    let place = SqliteDocuments::fresh().await.unwrap();
    std::fs::create_dir_all(place.database()).unwrap();
    let library = place.open_documents(None);
    let fault = library.repositories(false).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    let start = format!("document store 'sqlite' at {}: ", place.address());
    assert!(fault.message.starts_with(&start), "{}", fault.message);
    std::fs::remove_dir(place.database()).unwrap();
    assert!(library.repositories(false).await.is_ok());
}

#[tokio::test]
async fn a_newer_database_is_refused_and_not_touched() {
    let place = SqliteDocuments::fresh().await.unwrap();
    let library = shelf(&place).await;
    library.close().await;
    // The header stores the schema version at byte 60.
    let mut bytes = std::fs::read(place.database()).unwrap();
    bytes[60..64].copy_from_slice(&999_u32.to_be_bytes());
    std::fs::write(place.database(), &bytes).unwrap();
    let library = place.open_documents(None);
    let fault = library.repositories(false).await.unwrap_err();
    assert!(fault.message.contains("version 999 is newer than"), "{fault}");
    library.close().await;
    assert_eq!(std::fs::read(place.database()).unwrap(), bytes);
}
