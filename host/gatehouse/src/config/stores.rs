//! `[documents]` and `[artifacts]`, as written and validated. Further needs of an engine are checked when it is first
//! used.

use std::time::Duration;

use gatehouse_stores::ArtifactLimits;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ConfigText, Env, SummarySettings, TextValue, intelligence, limits};

/// Document repositories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Documents {
    /// Storage engine.
    pub(crate) engine: DocumentsEngine,
    /// Owner of the tables (PostgreSQL): "own", or "existing" for tables of another program, which are only read.
    /// Default: the tables that exist, or new ones of its own.
    pub(crate) tables: TableOwner,
    /// Gates that convert files to Markdown, in order; the first that takes the ending of a file's name converts it.
    /// Default: ["converter"], the shipped one.
    pub(crate) converters: Option<Vec<TextValue<String>>>,
}

/// Document engines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DocumentsEngine {
    /// A file in the data directory.
    #[default]
    Sqlite,
    /// A PostgreSQL server, set by DOCUMENTS_DATABASE_URL or else DATABASE_URL.
    Postgres,
}

/// Owner of the document tables.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TableOwner {
    /// The tables that exist.
    #[default]
    Found,
    /// Created and maintained by Gatehouse.
    Own,
    /// Tables of another program, `repositories` and `repository_files`: read, never changed.
    Existing,
}

#[derive(Debug, PartialEq)]
pub(crate) struct DocumentsConfig {
    pub(crate) engine: DocumentsEngine,
    tables: TableOwner,
    /// Names of gates. `None` for the default.
    pub(crate) converters: Option<Vec<String>>,
    env: Env,
}

pub(crate) enum DocumentsEngineConfig {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres {
        server: Box<gatehouse_stores::PostgresConfig>,
        tables: gatehouse_stores::DocumentTables,
    },
}

impl DocumentsConfig {
    pub(super) fn validate(text: &ConfigText, raw: Documents, env: &Env) -> Result<Self, ConfigError> {
        let Documents { engine, tables, converters } = raw;
        for name in converters.iter().flatten() {
            text.at(name, super::check_gate_name(name))?;
        }
        let converters = converters.map(|names| names.into_iter().map(TextValue::into_inner).collect());
        Ok(Self { engine, tables, converters, env: env.clone() })
    }

    /// Returns the settings of the engine. The error names the missing or invalid key or variable.
    pub(crate) fn chosen(&self) -> Result<DocumentsEngineConfig, ConfigError> {
        match (self.engine, self.tables) {
            (DocumentsEngine::Sqlite, TableOwner::Existing) => Err(ConfigError::new(
                "documents.tables",
                "\"existing\" requires the engine 'postgres'; Gatehouse owns the tables of an SQLite file",
            )),
            (DocumentsEngine::Sqlite, _) => Ok(DocumentsEngineConfig::Sqlite),
            #[cfg(feature = "postgres")]
            (DocumentsEngine::Postgres, tables) => {
                let missing = "nor is DATABASE_URL, and the engine 'postgres' of the documents needs one";
                let server = self.env.postgres(&["DOCUMENTS_DATABASE_URL", "DATABASE_URL"], missing)?;
                let tables = match tables {
                    TableOwner::Found => gatehouse_stores::DocumentTables::Detect,
                    TableOwner::Own => gatehouse_stores::DocumentTables::Own,
                    TableOwner::Existing => gatehouse_stores::DocumentTables::Existing,
                };
                Ok(DocumentsEngineConfig::Postgres { server, tables })
            }
            #[cfg(not(feature = "postgres"))]
            (DocumentsEngine::Postgres, _) => Err(ConfigError::not_built("documents.engine", "postgres")),
        }
    }
}

const TTL_HOURS: u64 = 3;

/// Results that are too large to show, stored in full for a limited time. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Artifacts {
    /// Storage engine.
    pub(crate) engine: ArtifactsEngine,
    /// Hours to store them, 1 to 8760, 3 by default. MCP_GATEWAY_INTELLIGENCE_TTL_HOURS overrides it.
    pub(crate) ttl_hours: Option<TextValue<u64>>,
    /// Limit on disk for all of them, "1 GiB" by default, "1 MiB" to "1024 GiB".
    pub(crate) max_bytes: Option<TextValue<String>>,
}

/// Artifact engines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArtifactsEngine {
    /// A file in the data directory.
    #[default]
    Sqlite,
    /// A PostgreSQL server that several hosts can share, set by DATABASE_URL.
    Postgres,
}

#[derive(Debug, PartialEq)]
pub(crate) struct ArtifactsConfig {
    pub(crate) engine: ArtifactsEngine,
    ttl: Duration,
    /// Limit on disk for all artifacts, in bytes.
    pub(crate) cap: u64,
    #[cfg(any(feature = "chroma", feature = "postgres"))]
    env: Env,
}

pub(crate) enum ArtifactsEngineConfig {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres(Box<gatehouse_stores::PostgresConfig>),
}

impl ArtifactsConfig {
    pub(super) fn validate(
        text: &ConfigText,
        raw: &Artifacts,
        intelligence: &SummarySettings,
        env: &Env,
    ) -> Result<Self, ConfigError> {
        let hours = raw.ttl_hours.as_ref().map(|hours| {
            text.at(
                hours,
                intelligence::within(intelligence::HOURS, **hours)
                    .map_err(|reason| format!("ttl_hours {reason}")),
            )
        });
        let hours = hours.transpose()?.unwrap_or(TTL_HOURS);
        let hours = intelligence.ttl_hours.unwrap_or(hours);
        Ok(Self {
            engine: raw.engine,
            ttl: Duration::from_secs(hours * 3_600),
            cap: limits::disk_size(text, "max_bytes", raw.max_bytes.as_ref())?,

            #[cfg(any(feature = "chroma", feature = "postgres"))]
            env: env.clone(),
        })
    }

    pub(crate) fn limits(&self) -> ArtifactLimits {
        let cap_setting = "max_bytes under [artifacts] in presets.toml".into();
        ArtifactLimits { ttl: self.ttl, cap: self.cap, cap_setting }
    }

    /// Returns the settings of the engine. The error names the missing or invalid key or variable.
    pub(crate) fn chosen(&self) -> Result<ArtifactsEngineConfig, ConfigError> {
        match self.engine {
            ArtifactsEngine::Sqlite => Ok(ArtifactsEngineConfig::Sqlite),
            #[cfg(feature = "postgres")]
            ArtifactsEngine::Postgres => {
                let missing = "and the engine 'postgres' of the artifacts needs it";
                self.env.postgres(&["DATABASE_URL"], missing).map(ArtifactsEngineConfig::Postgres)
            }
            #[cfg(not(feature = "postgres"))]
            ArtifactsEngine::Postgres => Err(ConfigError::not_built("artifacts.engine", "postgres")),
        }
    }

    /// Returns the server that stores the vectors of artifacts. `None` if the variable is not set.
    #[cfg(feature = "chroma")]
    pub(crate) fn chroma(&self) -> Result<Option<gatehouse_stores::ChromaConfig>, ConfigError> {
        let parsed =
            self.env.get("MCP_GATEWAY_CHROMA_URL").map(gatehouse_stores::ChromaConfig::parse).transpose();
        parsed.map_err(|fault| ConfigError::new("MCP_GATEWAY_CHROMA_URL", fault.in_one_line()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{assert_refused, parse};

    fn error(content: &str, env: Env) -> String {
        let config = parse(content, &env).expect("valid");
        config.documents.chosen().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn engine_errors_name_the_key() {
        assert_eq!(error("", Env::default()), "");
        let existing = "[documents]\ntables = \"existing\"";
        assert!(error(existing, Env::default()).starts_with("documents.tables: \"existing\" requires"));
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_database_of_its_own_wins() {
        let postgres = "[documents]\nengine = \"postgres\"\ntables = \"existing\"";
        assert!(error(postgres, Env::default()).starts_with("DOCUMENTS_DATABASE_URL: is not set"));
        let knowledge = ("DATABASE_URL", "postgres://u:s3cret@h/one");
        assert_eq!(error(postgres, Env::from_pairs([knowledge])), "");
        let wrong =
            error(postgres, Env::from_pairs([knowledge, ("DOCUMENTS_DATABASE_URL", "mysql://u:s3cret@h")]));
        assert!(wrong.starts_with("DOCUMENTS_DATABASE_URL") && !wrong.contains("s3cret"), "{wrong}");
    }

    #[test]
    fn ttl_and_size_are_bounded() {
        let ttl = |content: &str, env| parse(content, &env).expect("valid").artifacts.ttl;
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        assert_eq!(ttl("", Env::default()), hours(3));
        assert_eq!(ttl("[artifacts]\nttl_hours = 24", Env::default()), hours(24));
        let env = Env::from_pairs([("MCP_GATEWAY_INTELLIGENCE_TTL_HOURS", "5")]);
        assert_eq!(ttl("[artifacts]\nttl_hours = 24", env), hours(5));
        let cases = [
            ("ttl_hours = 0", ":2:13: ttl_hours must be 1 to 8760"),
            ("max_bytes = \"1 KiB\"", "max_bytes must be from 1 MiB to"),
        ];
        assert_refused("[artifacts]\n", &cases);
        let small = parse("[artifacts]\nmax_bytes = \"2 MiB\"", &Env::default()).expect("valid");
        assert_eq!(small.artifacts.limits().cap, 2 << 20);
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_server_needs_an_address() {
        let postgres = |env| {
            let config = parse("[artifacts]\nengine = \"postgres\"", &env).expect("valid");
            config.artifacts.chosen().err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(postgres(Env::default()).starts_with("DATABASE_URL: is not set"));
        assert_eq!(postgres(Env::from_pairs([("DATABASE_URL", "postgres://u:s3cret@h/one")])), "");
    }
}
