//! The systems that are packaged for, and what each field calls them.

use anyhow::{Result, bail};

/// A system, under the names that it has in each field.
#[derive(Debug)]
pub(crate) struct Platform {
    pub(crate) triple: &'static str,
    /// `process.platform` of Node, which bundles name too.
    pub(crate) node_os: &'static str,
    /// `process.arch` of Node.
    pub(crate) node_cpu: &'static str,
    /// Python's name of the processor.
    pub(crate) wheel_cpu: &'static str,
    /// Debian's name of the architecture.
    pub(crate) debian: Option<&'static str>,
    /// The oldest macOS that Rust's target runs on, by `rustc --print deployment-target`.
    pub(crate) macos: Option<(u32, u32)>,
}

/// The same list as in deny.toml.
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
    /// The platform of a triple.
    pub(crate) fn from_triple(triple: &str) -> Result<&'static Self> {
        let Some(platform) = PLATFORMS.iter().find(|platform| platform.triple == triple) else {
            let known: Vec<&str> = PLATFORMS.iter().map(|platform| platform.triple).collect();
            bail!("no packages are made for {triple}; there are {}", known.join(", "));
        };
        Ok(platform)
    }
}
