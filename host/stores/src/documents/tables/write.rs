//! Writes repositories and their files. Every function runs inside a transaction of the caller, with no other writer of
//! the repository.

use std::collections::HashSet;

use gatehouse_core::ports::documents::RepositoryState;
use serde_json::{Value, json};

use super::{after_prefix, index_key, item_key, put::PreparedFile, read, repository_prefix, words};
use crate::{
    documents::{engine::CHUNKS, unknown_repository},
    sql::{
        Result, Session, SqlValue, StoreError,
        value::storable,
        values,
        vectors::{self, Vectors},
    },
};

pub(super) async fn put_state(db: Session<'_>, state: &RepositoryState) -> Result<()> {
    let RepositoryState { repository, root, changed_since_guide } = state;
    let (key, changed_since_guide) = (index_key(&repository.name), i64::from(*changed_since_guide));
    let is_new = read::key(db, &repository.name).await?.is_none();
    let sql = "INSERT INTO repository
            (key, name, url, version, kind, root, created_at, updated_at, changed_since_guide, guide)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (key) DO UPDATE SET url = excluded.url, version = excluded.version, kind = excluded.kind,
            root = excluded.root, updated_at = excluded.updated_at,
            changed_since_guide = excluded.changed_since_guide, guide = excluded.guide
         RETURNING number";
    let values = values![
        *key,
        repository.name,
        repository.url,
        repository.commit,
        repository.kind,
        root,
        repository.created_at,
        repository.updated_at,
        changed_since_guide,
        repository.navigation_guide,
    ];
    let number = db.value(sql, values).await?;
    if is_new { words::create(db, number) } else { Ok(()) }
}

pub(super) async fn change(
    db: Session<'_>,
    vectors: &Vectors,
    name: &str,
    put: &[PreparedFile],
    remove: &[String],
) -> Result<()> {
    // Another process may have removed it since the caller looked it up.
    let repository = read::key(db, name).await?.ok_or_else(|| unknown_repository(name, &[]))?.number;
    let numbers = words::put(db, repository, put).await?;
    let files: Vec<(i64, &PreparedFile)> = numbers.into_iter().zip(put).collect();
    put_names(db, repository, &files).await?;
    // Adds items before it deletes any, so that a moved text finds its old vectors.
    put_chunks(db, vectors, repository, &files).await?;
    let put_keys: HashSet<&str> = put.iter().map(|file| file.key.as_str()).collect();
    let removed = remove.iter().map(|path| index_key(path).into_owned());
    let removed: Vec<String> = removed.filter(|key| !put_keys.contains(key.as_str())).collect();
    let removed = read::numbers(db, repository, &removed).await?;
    words::remove(db, repository, &removed)?;
    let prefixes: Vec<String> = removed.iter().map(|file| item_key(repository, *file, "")).collect();
    remove_items(db, &prefixes).await?;
    db.run("DELETE FROM file WHERE number IN @numbers(?1)", values![removed]).await?;
    db.run(
        "UPDATE repository SET revision = revision + 1, files = (SELECT count(*) FROM file WHERE repository = ?1)
         WHERE number = ?1",
        values![repository],
    )
    .await?;
    words::count(db, repository).await
}

/// Removes a repository and its files. Returns `false` if it does not exist.
pub(super) async fn remove(db: Session<'_>, name: &str) -> Result<bool> {
    let Some(repository) = read::key(db, name).await? else { return Ok(false) };
    words::drop(db, repository.number)?;
    remove_items(db, &[repository_prefix(repository.number)]).await?;
    db.run("DELETE FROM repository WHERE number = ?1", values![repository.number]).await?;
    Ok(true)
}

/// Deletes the items with these key prefixes, and their vectors.
async fn remove_items(db: Session<'_>, prefixes: &[String]) -> Result<()> {
    let ends: Vec<String> = prefixes.iter().map(|prefix| after_prefix(prefix)).collect();
    let rows: Vec<_> =
        prefixes.iter().zip(&ends).map(|(from, to)| values![CHUNKS, *from, *to].to_vec()).collect();
    db.run_each("DELETE FROM item WHERE corpus = ?1 AND key >= ?2 AND key < ?3", &rows).await
}

async fn put_names(db: Session<'_>, repository: i64, files: &[(i64, &PreparedFile)]) -> Result<()> {
    let names = files.iter().flat_map(|(number, file)| file.names.iter().map(move |name| (number, name)));
    let names = names.map(|(number, name)| json!([storable(name), number]));
    let names = Value::from_iter(names).to_string();
    let sql = "INSERT INTO file_name (repository, key, file)
         SELECT ?1, given.value ->> 0, CAST(given.value ->> 1 AS bigint) FROM @json(?2) AS given WHERE true
         ON CONFLICT DO NOTHING";
    db.run(sql, values![repository, names]).await.map(drop)
}

/// Stores the chunks of files and their items, and deletes the items that a file no longer has.
async fn put_chunks(
    db: Session<'_>,
    vectors: &Vectors,
    repository: i64,
    files: &[(i64, &PreparedFile)],
) -> Result<()> {
    let key = |number: i64, version: &String| item_key(repository, number, version);
    let items = files.iter().flat_map(|(number, file)| {
        file.versions.iter().map(move |version| (key(*number, version), version.clone()))
    });
    let items = vectors::add_items(db, vectors, CHUNKS, &items.collect::<Vec<_>>()).await?;
    let mut chunks = Vec::new();
    for (number, PreparedFile { file, versions, .. }) in files {
        for (position, (chunk, version)) in file.chunks.iter().zip(versions).enumerate() {
            let item = items.get(&key(*number, version));
            let item = item.ok_or_else(|| StoreError::invalid("the item of a chunk is missing"))?;
            let (lines, heading) = (chunk.lines, storable(&chunk.heading));
            let (start, stop) = (chunk.start, chunk.end);
            chunks.push(json!([number, position, item, start, stop, lines.first, lines.last, heading]));
        }
    }
    let numbers: Vec<i64> = files.iter().map(|(number, _)| *number).collect();
    db.run("DELETE FROM chunk WHERE file IN @numbers(?1)", values![numbers]).await?;
    let numbers = (0..7).map(|at| format!("CAST(given.value ->> {at} AS bigint)")).collect::<Vec<_>>();
    let sql = format!(
        "INSERT INTO chunk (file, position, item, start, stop, first_line, last_line, heading)
         SELECT {}, given.value ->> 7 FROM @json(?1) AS given",
        numbers.join(", ")
    );
    db.run(&sql, values![Value::from(chunks).to_string()]).await?;
    let prefixes = files.iter().map(|(number, file)| {
        let prefix = item_key(repository, *number, "");
        let keys: Vec<String> = file.versions.iter().map(|version| key(*number, version)).collect();
        (after_prefix(&prefix), prefix, keys)
    });
    let prefixes: Vec<_> = prefixes.collect();
    let unused = "DELETE FROM item WHERE corpus = ?1 AND key >= ?2 AND key < ?3 AND key NOT IN @texts(?4)";
    let rows: Vec<Vec<SqlValue<'_>>> =
        prefixes.iter().map(|(to, from, keys)| values![CHUNKS, *from, *to, *keys].to_vec()).collect();
    db.run_each(unused, &rows).await
}
