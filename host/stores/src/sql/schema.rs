//! Schemas of domains, as numbered steps. Never edit a released step; add a new one.

/// Version of a schema after its first step. Lower versions belong to builds from before 0.1.0, which stored data in
/// other forms.
pub(crate) const FIRST_VERSION: i64 = 101;

/// Steps of one schema. Its version counts the applied steps from [`FIRST_VERSION`].
pub(crate) type Steps = &'static [SchemaStep];

/// A step, which runs in one transaction, so that a crash leaves the database at a valid version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaStep {
    /// Statements for both engines, with the types of SQLite.
    pub(crate) both: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl SchemaStep {
    pub(crate) const fn postgres(statements: &'static str) -> Self {
        Self { both: "", sqlite: "", postgres: statements }
    }

    /// Returns the statements for PostgreSQL.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres_statements(&self) -> String {
        let mut statements = self.both.to_owned();
        for (sqlite, postgres) in [
            ("INTEGER PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
            ("INTEGER", "bigint"),
            ("TEXT", "text COLLATE \"C\""),
            ("BLOB", "bytea"),
            (") STRICT, WITHOUT ROWID", ")"),
            (") STRICT", ")"),
        ] {
            statements = statements.replace(sqlite, postgres);
        }
        statements + self.postgres
    }
}

pub(crate) const fn latest(steps: Steps) -> i64 {
    FIRST_VERSION - 1 + steps.len() as i64
}

/// Returns the step after a version, which is 0 if nothing was applied.
pub(crate) fn next(steps: Steps, version: i64) -> Option<(&'static SchemaStep, i64)> {
    let version = version.max(FIRST_VERSION - 1) + 1;
    Some((steps.get((version - FIRST_VERSION) as usize)?, version))
}

/// Returns the fault of a version that this binary does not support.
pub(crate) fn check(steps: Steps, version: i64) -> super::Result<()> {
    match version {
        newer if newer > latest(steps) => {
            Err(super::StoreError::NewerSchema { found: newer, known: latest(steps) })
        }
        older if older != 0 && older < FIRST_VERSION => Err(super::StoreError::OlderSchema { found: older }),
        _ => Ok(()),
    }
}
