//! Vectors of another program: used if the models match, ignored otherwise.

use std::sync::Arc;

use gatehouse_core::ports::{Embedder as _, documents::SearchMode, embed::EmbeddingPurpose};

use super::{
    super::{super::server::Database, library_on},
    EMBEDDING, TSVECTOR, filled, find, paths,
};
use crate::embedder::TestEmbedder;

async fn embed(database: &Database, embedder: &TestEmbedder) {
    let client = database.connect().await;
    let rows = client.query("SELECT id, coalesce(content, '') FROM repository_files", &[]).await.unwrap();
    for row in rows {
        let (id, text): (i32, String) = (row.get(0), row.get(1));
        let vector = embedder.embed(&[text], EmbeddingPurpose::Query).await.unwrap().pop().flatten();
        let sql = "UPDATE repository_files SET embedding = $2::real[]::vector WHERE id = $1";
        client.execute(sql, &[&id, &vector]).await.unwrap();
    }
}

#[tokio::test]
async fn vectors_are_compared_where_the_model_made_them() {
    let Some(database) = filled(&[TSVECTOR, EMBEDDING]).await else { return };
    let embedder = TestEmbedder::new("test/one", 64);
    let open = |embedder: &Arc<TestEmbedder>| library_on(&database.url(), Some(Arc::clone(embedder) as _));
    let note = find(&open(&embedder), "leaven", SearchMode::Semantic).await.note.unwrap();
    assert!(note.contains("have chunks without vectors"), "{note}");
    embed(&database, &embedder).await;
    let found = find(&open(&embedder), "leaven", SearchMode::Semantic).await;
    assert_eq!(paths(&found), ["docs/rising.md"]);
    assert_eq!(embedder.documents(), 0);
    let other = TestEmbedder::new("test/two", 32);
    let found = find(&open(&other), "yeast", SearchMode::Semantic).await;
    assert_eq!(paths(&found), ["docs/rising.md"]);
    let note = found.note.unwrap();
    assert!(note.contains("64 dimensions") && note.contains("'test/two' produces 32"), "{note}");
    // The same dimension, but the database names another model.
    database.run("UPDATE repositories SET metadata = metadata || '{\"embedding_model\": \"three\"}'").await;
    let found = find(&open(&embedder), "yeast", SearchMode::Semantic).await;
    assert_eq!(paths(&found), ["docs/rising.md"]);
    assert!(found.note.unwrap().contains("were made by 'three', but the configured model is 'one'"));
    // Without the column, and with a column of another type.
    database.run("ALTER TABLE repository_files DROP embedding").await;
    for (sql, expected) in [
        ("SELECT 1", "has no column 'embedding'"),
        (
            "ALTER TABLE repository_files ADD embedding real[]",
            "has the type _float4; expected vector or halfvec",
        ),
    ] {
        database.run(sql).await;
        let library = open(&embedder);
        let found = find(&library, "yeast", SearchMode::Semantic).await;
        assert_eq!(paths(&found), ["docs/rising.md"]);
        assert!(found.note.unwrap().contains(expected));
        assert!(library.health().await.unwrap().no_vectors.unwrap().contains(expected));
    }
}

#[tokio::test]
async fn an_approximate_index_finds_a_small_repository_among_many_others() {
    let columns = [
        "CREATE EXTENSION vector; ALTER TABLE repository_files ADD embedding vector(64);
         CREATE INDEX ON repository_files USING hnsw (embedding vector_cosine_ops)",
        "CREATE EXTENSION vector; ALTER TABLE repository_files ADD embedding halfvec(64)",
        "CREATE EXTENSION vector; ALTER TABLE repository_files ADD embedding vector",
    ];
    for column in columns {
        let Some(database) = filled(&[TSVECTOR, column]).await else { return };
        let embedder = TestEmbedder::new("test/one", 64);
        embed(&database, &embedder).await;
        database
            .run(
                "INSERT INTO repository_files (repo_name, filepath, content, embedding)
                 SELECT 'attic', 'more' || n, 'yeast', (SELECT embedding FROM repository_files WHERE filepath = 'docs/yeast.md')
                 FROM generate_series(1, 1000) n; ANALYZE",
            )
            .await;
        let library = library_on(&database.url(), Some(embedder));
        let found = find(&library, "leaven", SearchMode::Semantic).await;
        assert_eq!(paths(&found), ["docs/rising.md"], "{column}");
        assert_eq!(found.note, None, "{column}");
    }
}
