//! Schema of the graph, as numbered migration steps. A node stores the version.
//!
//! ```text
//! (:WikiPage {key, id, title, …})-[:LINKS {edge, target, position, kept, inverse}]->(:WikiPage)
//!                                -[:LINKS {…}]->(:WikiMissing {key})     a target that does not exist
//!                                -[:IN_DOMAIN]->(:WikiDomain {key})
//! (:WikiModel {name, used})       a model with vectors in Weaviate
//! (:WikiState {name, schema, …})  one node
//! ```

use std::sync::Arc;

use gatehouse_core::Fault;

use super::{CypherStatement, Neo4jClient, Neo4jError, cypher, words::WORD_INDEX};

pub(crate) const SCHEMA: i64 = FIRST_VERSION - 1 + STEPS.len() as i64;

/// Version of a graph after its first step. Lower versions belong to builds from before 0.1.0, which stored data in other
/// forms.
const FIRST_VERSION: i64 = 101;

/// Migration steps. Each statement is idempotent and runs in its own transaction, because Neo4j cannot mix schema and
/// data changes. Never edit a released step.
const STEPS: [&[&str]; 1] = [&[
    "CREATE CONSTRAINT wiki_page_key IF NOT EXISTS FOR (p:WikiPage) REQUIRE p.key IS UNIQUE",
    "CREATE CONSTRAINT wiki_missing_key IF NOT EXISTS FOR (m:WikiMissing) REQUIRE m.key IS UNIQUE",
    "CREATE CONSTRAINT wiki_domain_key IF NOT EXISTS FOR (d:WikiDomain) REQUIRE d.key IS UNIQUE",
    "CREATE CONSTRAINT wiki_model_name IF NOT EXISTS FOR (m:WikiModel) REQUIRE m.name IS UNIQUE",
    "CREATE CONSTRAINT wiki_state_name IF NOT EXISTS FOR (s:WikiState) REQUIRE s.name IS UNIQUE",
    "CREATE INDEX wiki_page_title IF NOT EXISTS FOR (p:WikiPage) ON (p.title_key)",
    "CREATE INDEX wiki_page_name IF NOT EXISTS FOR (p:WikiPage) ON (p.name_title)",
    "CREATE INDEX wiki_page_name_id IF NOT EXISTS FOR (p:WikiPage) ON (p.name_id)",
    "CREATE INDEX wiki_page_name_stem IF NOT EXISTS FOR (p:WikiPage) ON (p.name_stem)",
    "CREATE INDEX wiki_page_root IF NOT EXISTS FOR (p:WikiPage) ON (p.root)",
    CREATE_WORD_INDEX,
]];

/// ArcadeDB has no such statement. There, the index must exist already.
const CREATE_WORD_INDEX: &str =
    "CREATE FULLTEXT INDEX `WikiPage[words]` IF NOT EXISTS FOR (p:WikiPage) ON EACH [p.words]
     OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}";

impl Neo4jClient {
    /// Applies missing migration steps, once per process.
    pub(super) async fn prepare(self: &Arc<Self>) -> Result<(), Fault> {
        let preparation = self.ready.get_or_try_init(|| async {
            let version = self.schema().await?.unwrap_or(0);
            for (step, statements) in (FIRST_VERSION..).zip(STEPS).filter(|(step, _)| *step > version) {
                for statement in statements {
                    if *statement == CREATE_WORD_INDEX && self.has_word_index().await {
                        continue;
                    }
                    self.run_in_own_transaction(cypher(statement))
                        .await
                        .map_err(|error| self.fault(error))?;
                }
                let remember = "MERGE (s:WikiState {name: 'wiki'}) ON CREATE SET s.graph = randomUUID()
                     SET s.schema = $step";
                match self.run_in_own_transaction(cypher(remember).with_param("step", step)).await {
                    // Another host created the node concurrently.
                    Err(error) if error.is_conflict() => {}
                    done => done.map_err(|error| self.fault(error))?,
                }
            }
            Ok::<(), Fault>(())
        });
        preparation.await.copied()
    }

    async fn has_word_index(self: &Arc<Self>) -> bool {
        let statement =
            "CALL db.index.fulltext.queryNodes($index, 'gatehouse') YIELD node RETURN count(node) AS n";
        self.count(cypher(statement).with_param("index", WORD_INDEX)).await.is_ok()
    }

    async fn run_in_own_transaction(&self, statement: CypherStatement) -> Result<(), Neo4jError> {
        let mut transaction = self.begin().await?;
        transaction.run(statement).await?;
        transaction.commit().await
    }

    /// Returns the stored schema version. `None` if nothing was ever stored. Fails if it is newer than [`SCHEMA`], or
    /// older than [`FIRST_VERSION`].
    pub(crate) async fn schema(self: &Arc<Self>) -> Result<Option<i64>, Fault> {
        let statement = cypher("MATCH (s:WikiState {name: 'wiki'}) RETURN s.schema AS schema");
        let version = self.query_rows(statement, |row| Ok(row.get::<i64>("schema")?)).await?.pop();
        match version {
            Some(newer) if newer > SCHEMA => {
                let cause = format!(
                    "schema version {newer} is newer than {SCHEMA}, the latest that this gatehouse supports"
                );
                Err(self
                    .remote
                    .refused(&cause, "Update gatehouse, or set NEO4J_DATABASE to another database."))
            }
            Some(older) if older < FIRST_VERSION => {
                let cause = format!("schema version {older} is from before gatehouse 0.1.0, and is not read");
                let hint = "Keep this database for the older gatehouse. Set NEO4J_DATABASE to an empty database, and \
                            index pages again.";
                Err(self.remote.refused(&cause, hint))
            }
            version => Ok(version),
        }
    }
}
