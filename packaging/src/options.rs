//! The command line.

use std::path::PathBuf;

use crate::formats::FORMATS;

pub(crate) const USAGE: &str = "gatehouse-packaging --binary FILE --target TRIPLE --out FOLDER [--machine-code FOLDER] [--store] [FORMAT…]";

#[derive(Debug)]
pub(crate) struct Options {
    /// The built gateway. It must run here, because packaging asks it for its version and completions.
    pub(crate) binary: PathBuf,
    pub(crate) target: String,
    pub(crate) out: PathBuf,
    /// Output directory of `gatehouse cache precompile`. Packages without machine code are smaller, and compile the
    /// gates at first start.
    pub(crate) machine_code: Option<PathBuf>,
    /// Stores archives uncompressed, which is faster when trying packages out.
    pub(crate) store: bool,
    /// Formats to make; empty for all.
    formats: Vec<String>,
}

impl Options {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut binary, mut target, mut out) = (None, None, None);
        let (mut machine_code, mut store, mut formats) = (None, false, Vec::new());
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--binary" => binary = Some(value()?.into()),
                "--target" => target = Some(value()?),
                "--out" => out = Some(value()?.into()),
                "--machine-code" => machine_code = Some(value()?.into()),
                "--store" => store = true,
                name if FORMATS.iter().any(|format| format.name == name) => formats.push(argument),
                other => {
                    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
                    return Err(format!(
                        "unexpected argument '{other}': the formats are {}",
                        names.join(", ")
                    ));
                }
            }
        }
        let missing = |name: &str| format!("{name} is missing");
        Ok(Self {
            binary: binary.ok_or_else(|| missing("--binary"))?,
            target: target.ok_or_else(|| missing("--target"))?,
            out: out.ok_or_else(|| missing("--out"))?,
            machine_code,
            store,
            formats,
        })
    }

    pub(crate) fn wants(&self, format: &str) -> bool {
        self.formats.is_empty() || self.formats.iter().any(|name| name == format)
    }
}
