//! Reads repositories and their files.

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{FileHead, Repository},
};
use tokio_postgres::Row;

use super::layout::ExistingLayout;
use crate::{
    documents::engine::match_name,
    sql::Result,
    sql::postgres::{PostgresSession, column, to_count},
};

const MAX_LISTED: i64 = 200_000;

const MAX_DOCUMENT_BYTES: i64 = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct RepositoryFacts {
    pub(super) files: i64,
    pub(super) without_vector: i64,
    /// Average bytes per document.
    pub(super) length: f64,
    /// Embedding model of the vectors. `None` if the tables do not name it.
    pub(super) model: Option<String>,
}

/// Lists the repositories by name, or only the one named `only`.
pub(super) async fn repositories(
    db: &PostgresSession,
    layout: &ExistingLayout,
    guides: bool,
    only: Option<&str>,
) -> Result<Vec<Repository>> {
    let [id, url, commit, kind, created, updated] =
        ["id", "url", "commit", "repository_type", "created_at", "updated_at"]
            .map(|name| layout.repository_field(name));
    let guide = if guides { layout.repository_field("navigation_guide") } else { "NULL::text".to_owned() };
    let sql = format!(
        "SELECT coalesce({id}, r.name::text), r.name::text, {url}, {commit}, {kind}, {created}, {updated}, {guide}, coalesce(f.files, 0)
         FROM repositories r LEFT JOIN (SELECT repo_name, count(content) AS files FROM repository_files
            WHERE $1::text IS NULL OR repo_name = $1 GROUP BY 1) f ON f.repo_name = r.name
         WHERE r.name IS NOT NULL AND ($1::text IS NULL OR r.name = $1)
         ORDER BY r.name::text COLLATE \"C\" LIMIT $2"
    );
    db.all(&sql, &[&only, &MAX_LISTED], repository).await
}

fn repository(row: &Row) -> Result<Repository> {
    Ok(Repository {
        id: column(row, 0)?,
        name: column(row, 1)?,
        url: column::<Option<String>>(row, 2)?.map(without_credentials),
        commit: column(row, 3)?,
        kind: column(row, 4)?,
        created_at: column(row, 5)?,
        updated_at: column(row, 6)?,
        navigation_guide: column(row, 7)?,
        file_count: to_count(row, 8)?,
    })
}

/// Finds the stored spelling of a name; an exact match wins.
pub(super) async fn stored_name(db: &PostgresSession, name: &str) -> Result<Option<String>> {
    if name.contains('\0') {
        return Ok(None);
    }
    let sql = "SELECT name::text FROM repositories WHERE name = $1 OR lower(name) = lower($1)
         ORDER BY name <> $1, name::text COLLATE \"C\" LIMIT 100";
    Ok(match_name(name, db.column(sql, &[&name]).await?.into_iter()))
}

/// Lists the paths of a repository. The tables store no hashes.
pub(super) async fn heads(db: &PostgresSession, repository: &str) -> Result<Vec<FileHead>> {
    let sql = "SELECT DISTINCT filepath::text COLLATE \"C\" AS path FROM repository_files
         WHERE repo_name = $1 AND content IS NOT NULL AND filepath IS NOT NULL ORDER BY path LIMIT $2";
    let head = |row: &Row| Ok(FileHead { path: column(row, 0)?, hash: String::new() });
    db.all(sql, &[&repository, &MAX_LISTED], head).await
}

pub(super) async fn text(db: &PostgresSession, repository: &str, path: &str) -> Result<Option<String>> {
    if path.contains('\0') {
        return Ok(None);
    }
    let sql =
        "SELECT octet_length(content)::bigint, CASE WHEN octet_length(content) <= $3 THEN content::text END
         FROM repository_files WHERE repo_name = $1 AND filepath = $2 AND content IS NOT NULL
         ORDER BY octet_length(content) DESC LIMIT 1";
    let Some(row) = db.query_opt(sql, &[&repository, &path, &(MAX_DOCUMENT_BYTES as i32)]).await? else {
        return Ok(None);
    };
    if let Some(text) = column(&row, 1)? {
        return Ok(Some(text));
    }
    let bytes: i64 = column(&row, 0)?;
    let message = format!("'{path}' has {bytes} bytes; the limit is {MAX_DOCUMENT_BYTES}");
    Err(Fault::invalid(message).into())
}

pub(super) async fn repository_facts(
    db: &PostgresSession,
    layout: &ExistingLayout,
    repository: &str,
) -> Result<RepositoryFacts> {
    let missing = without_vector(layout);
    let sql = format!(
        "SELECT count(content), {missing}, coalesce(avg(octet_length(content)), 0)::float8,
            (SELECT {} FROM repositories r WHERE r.name = $1 LIMIT 1)
         FROM repository_files WHERE repo_name = $1",
        layout.repository_field("embedding_model")
    );
    let row = db.one(&sql, &[&repository]).await?;
    Ok(RepositoryFacts {
        files: column(&row, 0)?,
        without_vector: column(&row, 1)?,
        length: column::<f64>(&row, 2)?.max(1.0),
        model: column(&row, 3)?,
    })
}

pub(super) async fn counts(db: &PostgresSession, layout: &ExistingLayout) -> Result<(u32, u32, u32)> {
    let missing = without_vector(layout);
    let sql = format!(
        "SELECT (SELECT count(*) FROM repositories), count(content), {missing} FROM repository_files"
    );
    let row = db.one(&sql, &[]).await?;
    Ok((to_count(&row, 0)?, to_count(&row, 1)?, to_count(&row, 2)?))
}

fn without_vector(layout: &ExistingLayout) -> &'static str {
    // Empty texts have no vector.
    match layout.vectors {
        Ok(_) => "count(*) FILTER (WHERE embedding IS NULL AND octet_length(content) > 0)",
        Err(_) => "0::bigint",
    }
}

/// Removes user and password from a URL.
fn without_credentials(url: String) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{host}{path}"),
        None => url,
    }
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn credentials_are_taken_out_of_urls() {
        for (url, shown) in [
            ("https://user:s3cret@example.org/a@b", "https://example.org/a@b"),
            ("https://token@example.org", "https://example.org"),
            ("https://example.org/a?b=c@d", "https://example.org/a?b=c@d"),
            ("git@example.org:a/b.git", "git@example.org:a/b.git"),
        ] {
            assert_eq!(without_credentials(url.into()), shown);
        }
    }
}
