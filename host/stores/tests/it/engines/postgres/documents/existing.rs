//! Documents in the tables of another program, with and without optional columns. The tables are never changed.

mod meaning;

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        DocumentReader as _,
        documents::{DocumentSearchResult, DocumentStore as _, LineRange, MatchQuality, SearchMode},
    },
};
use gatehouse_stores::{DocumentLibrary, DocumentTables, PostgresConfig};

use super::{super::server::Database, library_on, library_with};
use crate::{
    document_behaviours::{file, put},
    embedder::TestEmbedder,
};

const TABLES: &str = "
    CREATE TABLE repositories (id serial PRIMARY KEY, url text, name varchar(200) NOT NULL,
        created_at timestamptz DEFAULT '2026-01-02 03:04:05+00', updated_at timestamp, metadata jsonb);
    CREATE TABLE repository_files (id serial PRIMARY KEY, repo_name varchar(200), filepath text, filename text,
        content text, embedding_string text);
    INSERT INTO repositories (url, name, metadata) VALUES
        ('https://me:s3cret@example.org/shelf.git', 'shelf',
            '{\"navigation_guide\": \"# Shelf\", \"repository_type\": \"manual\"}'),
        (NULL, 'attic', NULL);
    INSERT INTO repository_files (repo_name, filepath, filename, content)
        SELECT 'shelf', 'docs/note' || n || '.md', 'note' || n || '.md', 'Note number ' || n || ' on baking.' || chr(10)
        FROM generate_series(1, 44) n;
    INSERT INTO repository_files (repo_name, filepath, filename, content) VALUES
        ('shelf', 'docs/rising.md', 'rising.md', E'# Rising\\nHow yeast works.\\nThe dough doubles.\\n'),
        ('shelf', 'docs/crust.md', 'crust.md', 'Steam makes a crust. Steam, steam and steam.'),
        ('shelf', 'src/model_loading.rs', 'model_loading.rs', 'fn load() {}'),
        ('shelf', 'docs/steam.md', 'steam.md', 'One word on steam, and many others that say nothing of it at all here.'),
        ('shelf', 'empty.md', 'empty.md', ''),
        ('shelf', 'gone.md', 'gone.md', NULL),
        ('attic', 'docs/yeast.md', 'yeast.md', 'All about yeast: yeast, yeast.');
";

pub(super) const TSVECTOR: &str = "
    ALTER TABLE repository_files ADD content_tsvector tsvector
        GENERATED ALWAYS AS (to_tsvector('english', content)) STORED;
    CREATE INDEX ON repository_files USING gin (content_tsvector);
    CREATE INDEX ON repository_files (repo_name);
";

const EMBEDDING: &str = "
    CREATE EXTENSION IF NOT EXISTS vector; ALTER TABLE repository_files ADD embedding vector(64);
";

/// Creates the other program's tables with 50 documents and runs more SQL.
pub(super) async fn fill(database: &Database, more: &[&str]) {
    database.run(TABLES).await;
    for sql in more {
        database.run(sql).await;
    }
}

async fn filled(more: &[&str]) -> Option<Database> {
    let database = Database::fresh().await?;
    fill(&database, more).await;
    Some(database)
}

async fn find(library: &DocumentLibrary, query: &str, mode: SearchMode) -> DocumentSearchResult {
    library.search("shelf", query, mode, 5).await.unwrap()
}

fn paths(found: &DocumentSearchResult) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.path.as_str()).collect()
}

#[tokio::test]
async fn repositories_have_the_fields_that_the_columns_provide() {
    let Some(database) = filled(&[TSVECTOR]).await else { return };
    let library = library_on(&database.url(), None);
    let found = library.repositories(true).await.unwrap();
    let names: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.file_count)).collect();
    assert_eq!(names, [("attic", 1), ("shelf", 49)]);
    let shelf = &found[1];
    assert_eq!(shelf.url.as_deref(), Some("https://example.org/shelf.git"));
    assert_eq!(shelf.created_at.as_deref(), Some("2026-01-02T03:04:05Z"));
    assert_eq!((shelf.updated_at.as_deref(), shelf.kind.as_deref()), (None, Some("manual")));
    assert_eq!(shelf.navigation_guide.as_deref(), Some("# Shelf"));
    assert_eq!(library.repositories(false).await.unwrap()[1].navigation_guide, None);
    assert_eq!(library.state("SHELF").await.unwrap().unwrap().repository.id, "1");
    let store = library.health().await.unwrap();
    assert_eq!((store.repositories, store.items, store.schema), (2, 50, None));
    assert_eq!((store.address, store.notes), (database.address(), vec![]));
    // With only the required columns.
    database.run("ALTER TABLE repositories DROP id, DROP url, DROP created_at, DROP metadata").await;
    let library = library_on(&database.url(), None);
    assert_eq!(library.repositories(true).await.unwrap()[1].id, "shelf");
}

#[tokio::test]
async fn words_are_found_by_stem_and_beginning_and_the_rest_is_named() {
    for more in [&[TSVECTOR][..], &[TSVECTOR, "DROP INDEX repository_files_content_tsvector_idx"], &[]] {
        let Some(database) = filled(more).await else { return };
        let library = library_on(&database.url(), None);
        for (query, expected) in [
            ("how doughs work", vec!["docs/rising.md"]),
            ("doubl", vec!["docs/rising.md"]),
            ("steam", vec!["docs/steam.md", "docs/crust.md"]),
            ("steaming", vec!["docs/crust.md", "docs/steam.md"]),
            ("model loading", vec!["src/model_loading.rs"]),
        ] {
            assert_eq!(paths(&find(&library, query, SearchMode::Text).await), expected, "{query} {more:?}");
        }
        let found = find(&library, "yeast quux", SearchMode::Text).await;
        assert_eq!(paths(&found), ["docs/rising.md"]);
        assert_eq!(found.unmatched_terms, ["quux"]);
        assert_eq!(found.hits[0].best, Some(LineRange { first: 2, last: 2 }));
        assert_eq!(
            find(&library, "model_loading.rs", SearchMode::Text).await.hits[0].fit,
            MatchQuality::Names
        );
        // A stop word is not reported as missing.
        assert!(find(&library, "yeast just", SearchMode::Text).await.unmatched_terms.is_empty());
        let nothing = find(&library, "quux", SearchMode::Text).await;
        assert_eq!((nothing.hits, nothing.unmatched_terms), (vec![], vec!["quux".into()]));
        let common = find(&library, "baking", SearchMode::Text).await;
        assert_eq!(common.hits.len(), 5);
        let expected_note = more.is_empty().then(|| {
            "The table 'repository_files' has no column 'content_tsvector': searches read the full texts, \
             which is slow for large repositories."
                .to_owned()
        });
        assert_eq!(common.note, expected_note);
        let notes = library.health().await.unwrap().notes;
        assert_eq!(notes.len(), usize::from(more.len() != 1), "{notes:?}");
    }
}

#[tokio::test]
async fn queries_use_the_text_search_configuration_of_the_column() {
    let trigger = "ALTER TABLE repository_files ADD content_tsvector tsvector;
        CREATE TRIGGER made BEFORE INSERT OR UPDATE ON repository_files FOR EACH ROW EXECUTE FUNCTION
            tsvector_update_trigger(content_tsvector, 'pg_catalog.simple', content);
        UPDATE repository_files SET content = content";
    let unknown = "ALTER TABLE repository_files ADD content_tsvector tsvector;
        UPDATE repository_files SET content_tsvector = to_tsvector('english', content)";
    for (more, query) in [(trigger, "works"), (unknown, "working")] {
        let Some(database) = filled(&[more]).await else { return };
        let library = library_on(&database.url(), None);
        assert_eq!(paths(&find(&library, query, SearchMode::Text).await), ["docs/rising.md"], "{query}");
    }
}

#[tokio::test]
async fn any_text_is_a_valid_query() {
    for more in [&[TSVECTOR, EMBEDDING][..], &[]] {
        let Some(database) = filled(more).await else { return };
        let library = library_on(&database.url(), Some(TestEmbedder::new("test/one", 64)));
        for mode in [SearchMode::Text, SearchMode::Semantic] {
            for text in [
                "",
                "'",
                "' & ! : * ( ) <->",
                "\\",
                "yeast:*",
                "!yeast",
                "$1",
                "%",
                "🙂",
                "\0",
                "a\0b",
                "模型",
                "'; --",
                "\u{202e}",
            ] {
                find(&library, text, mode).await;
            }
            for long in ["yeast ".repeat(20_000), "模".repeat(50_000), "x".repeat(100_000)] {
                find(&library, &long, mode).await;
            }
        }
        assert!(library.search("she\0lf", "x", SearchMode::Text, 5).await.is_err());
        assert!(library.read("shelf", "a\0b", None).await.is_err());
    }
}

#[tokio::test]
async fn documents_are_read_and_near_paths_are_suggested() {
    let Some(database) = filled(&[]).await else { return };
    let library = library_on(&database.url(), None);
    let lines = Some(LineRange { first: 2, last: 2 });
    let read = library.read("Shelf", "docs/rising.md", lines).await.unwrap();
    assert_eq!((read.text.as_str(), read.total_lines), ("How yeast works.\n", 3));
    assert_eq!((read.repository.as_str(), read.total_tokens), ("shelf", 8));
    let fault = library.read("shelf", "rising.md", None).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    assert!(fault.message.contains("docs/rising.md"), "{fault}");
    assert_eq!(library.read("shelf", "gone.md", None).await.unwrap_err().kind, FaultKind::NotFound);
    let fault = library.search("shelv", "x", SearchMode::Text, 5).await.unwrap_err();
    assert!(fault.message.contains("nearest: shelf"), "{fault}");
}

#[tokio::test]
async fn nothing_is_ever_changed() {
    let Some(database) = filled(&[TSVECTOR, EMBEDDING]).await else { return };
    let state = "SELECT hashtext(string_agg(t::text, '|' ORDER BY t::text))::bigint FROM (
            SELECT f::text FROM repository_files f UNION ALL SELECT r::text FROM repositories r
            UNION ALL SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
            UNION ALL SELECT nspname::text FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%') t";
    let before = database.number(state).await;
    let library = library_on(&database.url(), Some(TestEmbedder::new("test/one", 64)));
    find(&library, "yeast", SearchMode::Semantic).await;
    library.health().await.unwrap();
    let state_of = library.state("shelf").await.unwrap().unwrap();
    for fault in [
        library.put_state(&state_of).await.unwrap_err(),
        library.change("shelf", vec![file("a.md", "x")], vec![]).await.unwrap_err(),
        library.remove("shelf").await.unwrap_err(),
    ] {
        assert_eq!(fault.kind, FaultKind::Denied);
        assert!(fault.message.contains("belong to another program and are read-only"), "{fault}");
        assert!(fault.hint.unwrap().contains("tables = \"own\""));
    }
    assert_eq!(database.number(state).await, before);
}

#[tokio::test]
async fn own_tables_are_used_if_they_exist_or_are_configured() {
    let Some(database) = filled(&[TSVECTOR]).await else { return };
    let server = || PostgresConfig::parse(&database.url()).unwrap();
    let own = library_with(server(), DocumentTables::Own, None);
    assert_eq!(own.repositories(false).await.unwrap(), []);
    put(&own, "mine").await;
    let found = library_on(&database.url(), None);
    assert_eq!(found.repositories(false).await.unwrap()[0].name, "mine");
    let existing = library_with(server(), DocumentTables::Existing, None);
    assert_eq!(existing.repositories(false).await.unwrap().len(), 2);
}

#[tokio::test]
async fn unreadable_tables_are_reported_by_cause() {
    let Some(database) = filled(&[]).await else { return };
    let library =
        || library_with(PostgresConfig::parse(&database.url()).unwrap(), DocumentTables::Existing, None);
    for (sql, expected) in [
        (
            "ALTER TABLE repository_files ALTER content TYPE bytea USING content::bytea",
            "column 'content' of table 'repository_files' has the type bytea; expected text",
        ),
        (
            "ALTER TABLE repository_files RENAME filepath TO path",
            "table 'repository_files' has no column 'filepath'",
        ),
        ("DROP TABLE repositories", "table 'repositories' does not exist or is not visible"),
    ] {
        database.run(sql).await;
        for fault in [
            library().repositories(false).await.unwrap_err(),
            library().health().await.unwrap_err(),
            library().heads("shelf").await.unwrap_err(),
        ] {
            assert_eq!(fault.kind, FaultKind::Unavailable);
            assert!(fault.message.contains(expected) && fault.hint.is_some(), "{fault:?}");
        }
    }
}
