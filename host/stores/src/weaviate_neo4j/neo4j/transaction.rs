//! Transactions and statements. The text of a statement is a compile-time constant; values are parameters.

use std::time::Duration;

use neo4rs::{BoltType, Query, Row, Txn};
use tokio::time::timeout;

use super::{Neo4jError, rows::Parameters};

const MAX_ROWS: usize = 200;

/// Bytes of text per statement. A larger row forms its own statement.
const MAX_BYTES: usize = 4 << 20;

/// A transaction with a timeout per statement. Rolls back unless committed.
pub(super) struct Neo4jTransaction {
    inner: Txn,
    limit: Duration,
}

impl Neo4jTransaction {
    pub(super) fn new(inner: Txn, limit: Duration) -> Self {
        Self { inner, limit }
    }

    pub(super) async fn rows(&mut self, statement: CypherStatement) -> Result<Vec<Row>, Neo4jError> {
        let work = async {
            let mut stream = self.inner.execute(statement.0).await?;
            let mut rows = Vec::new();
            while let Some(row) = stream.next(self.inner.handle()).await? {
                rows.push(row);
            }
            Ok(rows)
        };
        timeout(self.limit, work).await.unwrap_or(Err(Neo4jError::Slow(self.limit)))
    }

    /// Runs a statement and ignores its rows.
    pub(super) async fn run(&mut self, statement: CypherStatement) -> Result<(), Neo4jError> {
        let work = async { Ok(self.inner.run(statement.0).await?) };
        timeout(self.limit, work).await.unwrap_or(Err(Neo4jError::Slow(self.limit)))
    }

    /// Returns the number `n` of a counting statement.
    pub(super) async fn count(&mut self, statement: CypherStatement) -> Result<u32, Neo4jError> {
        let rows = self.rows(statement).await?;
        let counted: i64 = rows.first().map(|row| row.get("n")).transpose()?.unwrap_or_default();
        Ok(u32::try_from(counted).unwrap_or(u32::MAX))
    }

    pub(super) async fn commit(self) -> Result<(), Neo4jError> {
        let work = async { Ok(self.inner.commit().await?) };
        timeout(self.limit, work).await.unwrap_or(Err(Neo4jError::Slow(self.limit)))
    }

    /// Rolls back to return the connection. If that fails, the pool drops the connection.
    pub(super) async fn rollback(self) {
        let _ = timeout(self.limit, self.inner.rollback()).await;
    }

    /// Runs a statement for all rows, in batches. Each row comes with its size in bytes.
    pub(super) async fn run_batched(
        &mut self,
        rows: Vec<(usize, Parameters)>,
        statement: &'static str,
    ) -> Result<(), Neo4jError> {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for (weight, row) in rows {
            if !part.is_empty() && (part.len() >= MAX_ROWS || bytes + weight > MAX_BYTES) {
                self.run(cypher(statement).with_rows("rows", std::mem::take(&mut part))).await?;
                bytes = 0;
            }
            bytes += weight;
            part.push(row);
        }
        if part.is_empty() { Ok(()) } else { self.run(cypher(statement).with_rows("rows", part)).await }
    }
}

/// Assigns no size to rows of a few words.
pub(super) fn unweighted_rows(rows: Vec<Parameters>) -> Vec<(usize, Parameters)> {
    rows.into_iter().map(|row| (0, row)).collect()
}

#[derive(Clone)]
pub(super) struct CypherStatement(Query);

pub(super) fn cypher(text: &'static str) -> CypherStatement {
    CypherStatement(Query::new(text.to_owned()))
}

impl CypherStatement {
    pub(super) fn with_param(self, name: &'static str, value: impl Into<BoltType>) -> Self {
        Self(self.0.param(name, value))
    }

    pub(super) fn with_rows(self, name: &'static str, rows: Vec<Parameters>) -> Self {
        let rows: Vec<BoltType> = rows.into_iter().map(BoltType::from).collect();
        self.with_param(name, rows)
    }
}
