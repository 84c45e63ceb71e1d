//! Reads pages, links and statistics.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use gatehouse_core::{
    Fault,
    page::{EngineStatistics, KnowledgePage, PageLink, PageNeighbor},
    search::{MIN_CANDIDATE_POOL, NameMatch},
};
use neo4rs::Row;

use super::{
    CypherStatement, Neo4jClient, Neo4jError, Neo4jTransaction, PageFilter, cypher, rows, words::filtered,
};
use crate::{
    engine::{PageHead, PageQuestion, PageScope, name_matches, statistics_of},
    wiki::record::PageRecord,
};

/// Statement that finds pages by one of their name properties.
macro_rules! named_by {
    ($name:literal) => {
        concat!(
            "MATCH (p:WikiPage) WHERE p.",
            $name,
            " >= $from AND p.",
            $name,
            " < $to AND ",
            filtered!(),
            " RETURN p.key AS key, p.",
            $name,
            " AS name ORDER BY name, key LIMIT $limit"
        )
    };
}

impl Neo4jClient {
    /// Returns the pages with these ids and their neighbors, in the order of `ids`.
    pub(crate) async fn pages(self: &Arc<Self>, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        let keys: Vec<String> = ids.iter().map(|id| rows::key(id)).collect();
        self.check_schema().await?;
        self.reading(|mut transaction| async move {
            let rows = transaction.pages(&keys).await?;
            let mut neighbours = transaction.neighbors(keys.clone()).await?;
            transaction.rollback().await;
            let page = |row: &Row| {
                let key: String = row.get("key")?;
                let page = rows::record(row)?.into_page(neighbours.remove(&key).unwrap_or_default());
                Ok((key, page))
            };
            let mut pages =
                rows.iter().map(page).collect::<Result<HashMap<String, KnowledgePage>, Neo4jError>>()?;
            Ok(keys.iter().map(|key| pages.remove(key)).collect())
        })
        .await
    }

    pub(crate) async fn records(self: &Arc<Self>, ids: &[String]) -> Result<Vec<PageRecord>, Fault> {
        let keys: Vec<String> = ids.iter().map(|id| rows::key(id)).collect();
        self.check_schema().await?;
        self.reading(|mut transaction| async move {
            let pages = transaction.pages(&keys).await?;
            let statement = cypher(
                "MATCH (p:WikiPage)-[l:LINKS]->() WHERE p.key IN $keys
                 RETURN p.key AS key, l.edge AS edge, l.target AS target ORDER BY l.position",
            );
            let mut links: HashMap<String, Vec<PageLink>> = HashMap::new();
            for row in transaction.rows(statement.with_param("keys", keys)).await? {
                links.entry(row.get("key")?).or_default().push(rows::link(&row)?);
            }
            transaction.rollback().await;
            let record = |row: &Row| {
                let links = links.remove(&row.get::<String>("key")?).unwrap_or_default();
                Ok(PageRecord { links, ..rows::record(row)? })
            };
            pages.iter().map(record).collect::<Result<_, Neo4jError>>()
        })
        .await
    }

    /// Returns the heads of the pages in scope, by id.
    pub(crate) async fn heads(self: &Arc<Self>, scope: &PageScope) -> Result<Vec<PageHead>, Fault> {
        self.check_schema().await?;
        self.query_rows(heads(scope), rows::head).await
    }

    pub(crate) async fn ids_by_title(self: &Arc<Self>, title: &str) -> Result<Vec<String>, Fault> {
        self.check_schema().await?;
        let statement = cypher("MATCH (p:WikiPage {title_key: $key}) RETURN p.id AS id ORDER BY p.id");
        self.query_rows(statement.with_param("key", rows::key(title)), |row| Ok(row.get("id")?)).await
    }

    /// Returns pages whose name (title, id, or id without type) equals the question or begins with it.
    pub(crate) async fn name_matches(
        self: &Arc<Self>,
        question: &PageQuestion,
        filter: &PageFilter,
    ) -> Result<BTreeMap<String, NameMatch>, Fault> {
        let Some((from, to)) = question.name.range().map(|(from, to)| (rows::truncate_for_index(from), to))
        else {
            return Ok(BTreeMap::new());
        };
        let (name, filter) = (question.name.clone(), filter.clone());
        self.reading(move |mut transaction| async move {
            let mut candidates = Vec::new();
            for statement in [named_by!("name_title"), named_by!("name_id"), named_by!("name_stem")] {
                let statement =
                    cypher(statement).with_param("from", from.clone()).with_param("to", to.clone());
                let statement = filter.clone().into_params(statement);
                for row in
                    transaction.rows(statement.with_param("limit", MIN_CANDIDATE_POOL as i64 + 1)).await?
                {
                    candidates.push((row.get("key")?, row.get("name")?));
                }
            }
            transaction.rollback().await;
            Ok(name_matches(&name, candidates))
        })
        .await
    }

    /// Returns the keys of existing domains, sorted. `asked` restricts them if it is `Some`.
    pub(crate) async fn domains(self: &Arc<Self>, asked: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        let statement = match asked {
            Some(asked) => {
                let keys: BTreeSet<String> =
                    asked.iter().map(|domain| rows::truncate_for_index(domain)).collect();
                cypher("MATCH (d:WikiDomain) WHERE d.key IN $keys RETURN d.key AS key ORDER BY d.key")
                    .with_param("keys", keys.into_iter().collect::<Vec<_>>())
            }
            None => cypher("MATCH (d:WikiDomain) RETURN d.key AS key ORDER BY d.key"),
        };
        self.query_rows(statement, |row| Ok(row.get("key")?)).await
    }

    pub(crate) async fn statistics(
        self: &Arc<Self>,
        engine: &'static str,
    ) -> Result<EngineStatistics, Fault> {
        self.check_schema().await?;
        self.reading(move |mut transaction| async move {
            let rows = transaction
                .rows(cypher("MATCH (p:WikiPage) RETURN p.type AS type, count(*) AS pages"))
                .await?;
            let counted = rows.iter().map(|row| Ok((row.get("type")?, row.get("pages")?)));
            let counted = counted.collect::<Result<HashMap<String, u32>, Neo4jError>>()?;
            let links = transaction
                .count(cypher(
                    "MATCH (a:WikiPage)-[l:LINKS]->(b:WikiPage)
                     RETURN count(DISTINCT [l.kept, CASE WHEN l.inverse THEN b.key ELSE a.key END,
                         CASE WHEN l.inverse THEN a.key ELSE b.key END]) AS n",
                ))
                .await?;
            transaction.rollback().await;
            Ok(statistics_of(engine, &counted, links))
        })
        .await
    }

    /// Rejects a schema that is newer than this binary supports.
    pub(crate) async fn check_schema(self: &Arc<Self>) -> Result<(), Fault> {
        if self.ready.initialized() { Ok(()) } else { self.schema().await.map(|_| ()) }
    }
}

impl Neo4jTransaction {
    /// Returns the rows of these pages, which [`rows::record`] reads.
    pub(super) async fn pages(&mut self, keys: &[String]) -> Result<Vec<Row>, Neo4jError> {
        let statement =
            "MATCH (p:WikiPage) WHERE p.key IN $keys RETURN p.key AS key, p.id AS id, p.type AS type, p.title AS title,
                 p.overview AS overview, p.content AS content, p.domains AS domains, p.sources AS sources,
                 p.last_updated AS last_updated, p.hash AS hash, p.root AS root, p.file AS file";
        self.rows(cypher(statement).with_param("keys", keys)).await
    }

    /// Returns the pages one link away from each page. An edge declared several times, or from both ends, appears once.
    /// A link declared here is outgoing unless it is inverse; a link declared there is incoming unless it is.
    async fn neighbors(
        &mut self,
        keys: Vec<String>,
    ) -> Result<HashMap<String, Vec<PageNeighbor>>, Neo4jError> {
        let mut by_key: HashMap<String, Vec<PageNeighbor>> = HashMap::new();
        for statement in [
            "MATCH (p:WikiPage)-[l:LINKS]->(o:WikiPage) WHERE p.key IN $keys
             RETURN p.key AS key, l.kept AS edge, NOT l.inverse AS outgoing, o.id AS id, o.title AS title",
            "MATCH (p:WikiPage)<-[l:LINKS]-(o:WikiPage) WHERE p.key IN $keys
             RETURN p.key AS key, l.kept AS edge, l.inverse AS outgoing, o.id AS id, o.title AS title",
        ] {
            for row in self.rows(cypher(statement).with_param("keys", keys.clone())).await? {
                by_key.entry(row.get("key")?).or_default().push(rows::neighbor(&row)?);
            }
        }
        Ok(by_key.into_iter().map(|(key, neighbors)| (key, PageNeighbor::deduplicate(neighbors))).collect())
    }

    pub(super) async fn heads(&mut self, scope: &PageScope) -> Result<Vec<PageHead>, Neo4jError> {
        self.rows(heads(scope)).await?.iter().map(rows::head).collect()
    }
}

fn heads(scope: &PageScope) -> CypherStatement {
    macro_rules! heads {
        ($of:literal) => {
            cypher(concat!(
                "MATCH (p:WikiPage) ",
                $of,
                " RETURN p.id AS id, p.title AS title, p.hash AS hash, p.root AS root, p.file AS file ORDER BY p.id"
            ))
        };
    }
    match scope {
        PageScope::All => heads!(""),
        PageScope::Matching { ids, root } => {
            let keys: Vec<String> = ids.iter().map(|id| rows::key(id)).collect();
            heads!("WHERE p.key IN $keys OR p.root = $root")
                .with_param("keys", keys)
                .with_param("root", root.clone())
        }
    }
}
