//! Writes repositories and files. Every function requires a transaction that holds the writer lock.

use std::collections::HashSet;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gatehouse_core::ports::documents::RepositoryState;

use super::{
    super::super::{error::Result, session::PostgresSession, terms::storable},
    after_prefix, index_key, item_key,
    put::PreparedFile,
    read, repository_prefix,
};
use crate::documents::{engine::CHUNKS, unknown_repository};

/// File inserts that are sent concurrently.
const MAX_IN_FLIGHT: usize = 16;

/// Chunks with the same text to check for a vector to copy.
const MAX_TWINS: i64 = 16;

pub(super) async fn put_state(db: &PostgresSession, state: &RepositoryState) -> Result<()> {
    let RepositoryState { repository, root, changed_since_guide } = state;
    let guide = repository.navigation_guide.as_deref().map(storable);
    db.run(
        "INSERT INTO gatehouse.repository
            (key, name, url, version, kind, root, created_at, updated_at, guide, changed_since_guide)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (key) DO UPDATE SET url = excluded.url, version = excluded.version, kind = excluded.kind,
            root = excluded.root, updated_at = excluded.updated_at, guide = excluded.guide,
            changed_since_guide = excluded.changed_since_guide",
        &[
            &index_key(&repository.name),
            &storable(&repository.name),
            &repository.url,
            &repository.commit,
            &repository.kind,
            &root,
            &repository.created_at,
            &repository.updated_at,
            &guide,
            &i64::from(*changed_since_guide),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn change(
    db: &PostgresSession,
    name: &str,
    put: &[PreparedFile],
    remove: &[String],
    with_vectors: bool,
) -> Result<()> {
    // Another process can have removed the repository since the caller's check.
    let repository = read::key(db, name).await?.ok_or_else(|| unknown_repository(name, &[]))?.number;
    let puts = put.iter().map(|file| put_file(db, repository, file)).collect::<Vec<_>>();
    let items: Vec<Vec<(String, String)>> = stream::iter(puts).buffered(MAX_IN_FLIGHT).try_collect().await?;
    // Insert before deleting, so that a moved file reuses the vectors of its chunks.
    put_items(db, &items.concat(), with_vectors).await?;
    let put_keys: HashSet<&str> = put.iter().map(|file| file.key.as_str()).collect();
    let removed_paths: Vec<String> =
        remove.iter().filter(|path| !put_keys.contains(index_key(path).as_ref())).cloned().collect();
    let removed_files = read::numbers(db, repository, &removed_paths).await?;
    for file in &removed_files {
        remove_items(db, &item_key(repository, *file, "")).await?;
    }
    db.run("DELETE FROM gatehouse.file WHERE number = ANY($1)", &[&removed_files]).await?;
    let prefix = repository_prefix(repository);
    db.run(
        "UPDATE gatehouse.repository r SET files = f.files, words = f.words, items =
            (SELECT count(*) FROM gatehouse.item WHERE corpus = $2 AND key >= $3 AND key < $4)
         FROM (SELECT count(*) AS files, coalesce(sum(length), 0) AS words FROM gatehouse.file
            WHERE repository = $1) f WHERE r.number = $1",
        &[&repository, &CHUNKS, &prefix, &after_prefix(&prefix)],
    )
    .await?;
    Ok(())
}

/// Removes a repository and its files. Returns `false` if it does not exist.
pub(super) async fn remove(db: &PostgresSession, name: &str) -> Result<bool> {
    let Some(repository) = read::key(db, name).await? else { return Ok(false) };
    remove_items(db, &repository_prefix(repository.number)).await?;
    db.run("DELETE FROM gatehouse.repository WHERE number = $1", &[&repository.number]).await?;
    Ok(true)
}

/// Deletes the items with this key prefix and their vectors.
async fn remove_items(db: &PostgresSession, prefix: &str) -> Result<()> {
    let sql = "DELETE FROM gatehouse.item WHERE corpus = $1 AND key >= $2 AND key < $3";
    db.run(sql, &[&CHUNKS, &prefix, &after_prefix(prefix)]).await?;
    Ok(())
}

/// Stores a file without its chunk items, which it returns as (key, version) pairs.
async fn put_file(
    db: &PostgresSession,
    repository: i64,
    file: &PreparedFile,
) -> Result<Vec<(String, String)>> {
    let PreparedFile { head, terms, chunks, .. } = file;
    let number: i64 = db
        .value(
            "WITH own AS (
                INSERT INTO gatehouse.file (repository, key, path, hash, made_from, lines, tokens, length)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                ON CONFLICT (repository, key) DO UPDATE SET hash = excluded.hash, made_from = excluded.made_from,
                    lines = excluded.lines, tokens = excluded.tokens, length = excluded.length
                RETURNING number
             ), body AS (
                INSERT INTO gatehouse.file_text (file, abstract, content) SELECT number, $9, $10 FROM own
                ON CONFLICT (file) DO UPDATE SET abstract = excluded.abstract, content = excluded.content
             ), words AS (
                INSERT INTO gatehouse.file_terms (file, terms)
                SELECT number, array_to_tsvector(ARRAY['/' || $1::bigint])
                    || setweight(to_tsvector('gatehouse.words', $11), 'A')
                    || setweight(to_tsvector('gatehouse.words', $12), 'B')
                    || to_tsvector('gatehouse.words', $13) FROM own
                ON CONFLICT (file) DO UPDATE SET terms = excluded.terms
             ), name AS (
                INSERT INTO gatehouse.file_name (repository, key, file)
                SELECT $1, key, number FROM own, unnest($14::text[]) key ON CONFLICT DO NOTHING
             ), gone AS (
                DELETE FROM gatehouse.chunk c USING own WHERE c.file = own.number AND c.position >= cardinality($15::text[])
             )
             SELECT number FROM own",
            &[
                &repository,
                &file.key,
                &head.path,
                &head.hash,
                &file.made_from,
                &file.lines,
                &file.tokens,
                &terms.length,
                &file.abstract_text,
                &file.text,
                &terms.texts[0],
                &terms.texts[1],
                &terms.texts[2],
                &file.names,
                &chunks.versions,
            ],
        )
        .await?;
    let keys: Vec<String> =
        chunks.versions.iter().map(|version| item_key(repository, number, version)).collect();
    db.run(
        "INSERT INTO gatehouse.chunk (file, position, item, start, stop, first_line, last_line, heading)
         SELECT $1, c.position - 1, c.item, c.start, c.stop, c.first_line, c.last_line, c.heading
         FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
            WITH ORDINALITY AS c (item, start, stop, first_line, last_line, heading, position)
         ON CONFLICT (file, position) DO UPDATE SET item = excluded.item, start = excluded.start,
            stop = excluded.stop, first_line = excluded.first_line, last_line = excluded.last_line,
            heading = excluded.heading",
        &[
            &number,
            &keys,
            &chunks.starts,
            &chunks.stops,
            &chunks.first_lines,
            &chunks.last_lines,
            &chunks.headings,
        ],
    )
    .await?;
    let prefix = item_key(repository, number, "");
    let unused = "DELETE FROM gatehouse.item WHERE corpus = $1 AND key >= $2 AND key < $3 AND key <> ALL($4)";
    db.run(unused, &[&CHUNKS, &prefix, &after_prefix(&prefix), &keys]).await?;
    Ok(keys.into_iter().zip(chunks.versions.iter().cloned()).collect())
}

/// Stores chunk items. A new item copies the vectors of an item with the same text.
async fn put_items(db: &PostgresSession, items: &[(String, String)], with_vectors: bool) -> Result<()> {
    let (keys, versions): (Vec<&String>, Vec<&String>) =
        items.iter().map(|(key, version)| (key, version)).unzip();
    let fresh = "INSERT INTO gatehouse.item (corpus, key, version)
         SELECT DISTINCT $1, new.key, new.version FROM unnest($2::text[], $3::text[]) AS new (key, version)
         ON CONFLICT DO NOTHING RETURNING key, version";
    if !with_vectors {
        db.run(fresh, &[&CHUNKS, &keys, &versions]).await?;
        return Ok(());
    }
    // The limit avoids quadratic work for texts that many chunks share, such as licenses.
    let sql = format!(
        "WITH fresh AS ({fresh})
         INSERT INTO gatehouse.item_vector (corpus, key, model, dimension, embedding)
         SELECT DISTINCT ON (fresh.key, v.model) $1, fresh.key, v.model, v.dimension, v.embedding
         FROM fresh, LATERAL (SELECT i.key FROM gatehouse.item i
                WHERE i.version = fresh.version AND i.corpus = $1 LIMIT $4) twin
            JOIN gatehouse.item_vector v ON v.corpus = $1 AND v.key = twin.key
         ORDER BY fresh.key, v.model, twin.key
         ON CONFLICT DO NOTHING"
    );
    db.run(&sql, &[&CHUNKS, &keys, &versions, &MAX_TWINS]).await?;
    Ok(())
}
