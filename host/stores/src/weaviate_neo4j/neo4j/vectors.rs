//! The vectors of pages, by model: so that a collection can be made again without asking a model that takes money,
//! and that going back to an earlier model costs nothing.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::{Fault, ports::embed::Vector};

use super::{Neo4j, Trouble, cypher, rows::Parameters};

/// A vector that was made, or that the model had none.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Kept {
    /// Of what was embedded.
    pub(in super::super) digest: String,
    pub(in super::super) vector: Vector,
}

impl Neo4j {
    /// Those vectors of this kind that the pages with these keys have, by key.
    pub(in super::super) async fn vectors(
        self: &Arc<Self>,
        space: &str,
        keys: impl Iterator<Item = &String>,
    ) -> Result<HashMap<String, Kept>, Fault> {
        let ids: Vec<String> = keys.map(|key| id(space, key)).collect();
        self.reading(|mut transaction| async move {
            let statement = cypher(
                "MATCH (v:WikiVector) WHERE v.id IN $ids RETURN v.page AS page, v.digest AS digest, v.numbers AS numbers",
            );
            let rows = transaction.rows(statement.with("ids", ids)).await?;
            transaction.rollback().await;
            let kept = |row: &neo4rs::Row| {
                let numbers: Vec<f64> = row.get("numbers")?;
                let vector: Vec<f32> = numbers.into_iter().map(|number| number as f32).collect();
                let vector = (!vector.is_empty()).then_some(vector);
                Ok((row.get("page")?, Kept { digest: row.get("digest")?, vector }))
            };
            rows.iter().map(kept).collect::<Result<_, Trouble>>()
        })
        .await
    }

    /// Keeps vectors of this kind, by key.
    pub(in super::super) async fn keep(
        self: &Arc<Self>,
        space: &str,
        made: Vec<(String, Kept)>,
    ) -> Result<(), Fault> {
        if made.is_empty() {
            return Ok(());
        }
        let space = space.to_owned();
        let row = move |(key, kept): &(String, Kept)| -> Parameters {
            let numbers: Vec<f64> = kept.vector.iter().flatten().map(|number| f64::from(*number)).collect();
            HashMap::from([
                ("id", id(&space, key).into()),
                ("page", key.clone().into()),
                ("digest", kept.digest.clone().into()),
                ("numbers", numbers.into()),
            ])
        };
        self.writes(move |mut transaction| {
            let rows = made.iter().map(|made| (0, row(made))).collect();
            async move {
                let statement = || {
                    cypher(
                        "UNWIND $rows AS row MERGE (v:WikiVector {id: row.id})
                         SET v.page = row.page, v.digest = row.digest, v.numbers = row.numbers",
                    )
                };
                transaction.in_parts(rows, statement).await?;
                transaction.commit().await
            }
        })
        .await
    }
}

fn id(space: &str, key: &str) -> String {
    format!("{space}\n{key}")
}
