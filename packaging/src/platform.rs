//! The supported systems and their names in each packaging ecosystem.

use anyhow::{Result, bail};

#[derive(Debug)]
pub(crate) struct Platform {
    pub(crate) triple: &'static str,
    /// Value of Node's `process.platform`; bundles use it too.
    pub(crate) node_os: &'static str,
    /// Value of Node's `process.arch`.
    pub(crate) node_cpu: &'static str,
    pub(crate) wheel_cpu: &'static str,
    pub(crate) debian: Option<&'static str>,
    /// Oldest macOS of the Rust target, from `rustc --print deployment-target`.
    pub(crate) macos: Option<(u32, u32)>,
}

/// The list of targets in deny.toml.
pub(crate) const PLATFORMS: &[Platform] = &[
    Platform {
        triple: "x86_64-unknown-linux-gnu",
        node_os: "linux",
        node_cpu: "x64",
        wheel_cpu: "x86_64",
        debian: Some("amd64"),
        macos: None,
    },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        node_os: "linux",
        node_cpu: "arm64",
        wheel_cpu: "aarch64",
        debian: Some("arm64"),
        macos: None,
    },
    Platform {
        triple: "x86_64-apple-darwin",
        node_os: "darwin",
        node_cpu: "x64",
        wheel_cpu: "x86_64",
        debian: None,
        macos: Some((10, 12)),
    },
    Platform {
        triple: "aarch64-apple-darwin",
        node_os: "darwin",
        node_cpu: "arm64",
        wheel_cpu: "arm64",
        debian: None,
        macos: Some((11, 0)),
    },
];

impl Platform {
    pub(crate) fn from_triple(triple: &str) -> Result<&'static Self> {
        let Some(platform) = PLATFORMS.iter().find(|platform| platform.triple == triple) else {
            let triples: Vec<&str> = PLATFORMS.iter().map(|platform| platform.triple).collect();
            bail!("unsupported target '{triple}': expected one of {}", triples.join(", "));
        };
        Ok(platform)
    }
}
