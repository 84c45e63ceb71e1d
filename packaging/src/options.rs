//! The command line.

use std::path::PathBuf;

use crate::formats::FORMATS;

pub(crate) const USAGE: &str = "gatehouse-packaging --binary FILE --target TRIPLE --out FOLDER [--machine-code FOLDER] [--store] [FORMAT…]";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// The gateway, built and able to run here: it is asked for its version and its completions.
    pub(crate) binary: PathBuf,
    /// The triple that it was built for.
    pub(crate) target: String,
    /// Where the packages go.
    pub(crate) out: PathBuf,
    /// Where `gatehouse cache precompile` put the machine code of the shipped gates. Packages without it are smaller, and
    /// compile the gates when they are first started.
    pub(crate) machine_code: Option<PathBuf>,
    /// Packs nothing: sooner done, for trying packages out.
    pub(crate) store: bool,
    /// Names of formats; none means all.
    formats: Vec<String>,
}

impl Options {
    /// Reads the arguments, and says what is wrong with them.
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
                    return Err(format!("unexpected: {other}; the formats are {}", names.join(", ")));
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

    /// Whether a format is to be made.
    pub(crate) fn wants(&self, format: &str) -> bool {
        self.formats.is_empty() || self.formats.iter().any(|name| name == format)
    }
}
