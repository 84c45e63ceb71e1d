//! The shipped gates, which are part of the binary. The host loads them from memory and never writes them to disk.

use std::{
    io,
    path::{Path, PathBuf},
};

use gatehouse_files::make_private;
use gatehouse_sandbox::EmbeddedComponents;

use crate::config::Config;

include!(concat!(env!("OUT_DIR"), "/gates.rs"));

struct BuiltIn {
    name: &'static str,
    /// Uncompressed size in bytes.
    size: u64,
}

/// Name and path of the built-in gates in a configuration. A directory with this name is written as `./built-in`.
pub(crate) const NAME: &str = "built-in";

pub(crate) const COMPONENTS: EmbeddedComponents = EmbeddedComponents { size, version: VERSION, read };

/// Returns the paths of the gate directories that a configuration names, or of the default ones: `gates` and
/// `built-in`.
pub(crate) fn folders(base: &Path, named: Option<Vec<String>>) -> Vec<PathBuf> {
    let of = |entry: String| if entry == NAME { NAME.into() } else { base.join(entry) };
    named.unwrap_or_else(|| vec!["gates".into(), NAME.into()]).into_iter().map(of).collect()
}

pub(crate) fn is_built_in(file: &Path) -> bool {
    find(file).is_some()
}

/// Returns whether the path means the built-in gates instead of a directory.
pub(crate) fn is_folder(folder: &Path) -> bool {
    folder.as_os_str() == NAME
}

pub(crate) fn is_shipped(name: &str) -> bool {
    names().any(|shipped| shipped == name)
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GATES.iter().filter_map(|gate| gate.name.strip_suffix(".wasm"))
}

pub(crate) fn is_in_config(config: &Config) -> bool {
    config.gate_folders.iter().any(|folder| is_folder(folder))
}

fn find(file: &Path) -> Option<usize> {
    let name = file.file_name().filter(|_| file.parent().is_some_and(is_folder))?;
    GATES.iter().position(|gate| name == gate.name)
}

fn size(file: &Path) -> Option<u64> {
    find(file).map(|place| GATES[place].size)
}

/// Returns the component of a gate. Gates are compressed as one block, so this decompresses all of them.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let place = find(file).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let bytes = |gates: &[BuiltIn]| gates.iter().map(|gate| gate.size as usize).sum::<usize>();
    let mut unpacked_gates = zstd::bulk::decompress(PACKED, bytes(GATES))?;
    unpacked_gates.truncate(bytes(&GATES[..=place]));
    let begin = unpacked_gates.len().checked_sub(GATES[place].size as usize);
    begin
        .map(|begin| unpacked_gates.split_off(begin))
        .ok_or_else(|| io::Error::other("the built-in gates are incomplete"))
}

pub(crate) fn all() -> io::Result<Vec<Vec<u8>>> {
    GATES.iter().map(|gate| read(&Path::new(NAME).join(gate.name))).collect()
}

/// Creates the gate directory of the built-in configuration, so that users can add gates to it. The host does not watch
/// the data directory around it, because databases there change all the time. A failure is only logged: the user did
/// not configure this directory.
pub(crate) fn make_default_folder(config: &Config) {
    let unnamed = config.default_gate_folder.as_ref().filter(|_| config.file.is_none());
    if let Some(folder) = unnamed.filter(|folder| config.gate_folders.contains(folder))
        && let Err(error) = make_private(folder)
    {
        tracing::debug!(folder = %folder.display(), %error, "cannot create the default gate directory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_is_read_whole_from_the_binary() {
        for gate in GATES {
            let file = Path::new(NAME).join(gate.name);
            let bytes = read(&file).expect("a gate");
            assert!(bytes.starts_with(b"\0asm"), "{}", gate.name);
            assert_eq!((Some(bytes.len() as u64), is_built_in(&file)), (size(&file), true), "{}", gate.name);
        }
    }

    #[test]
    fn paths_are_not_built_in() {
        assert_eq!(
            folders(Path::new("/etc/gh"), Some(vec!["built-in".into(), "./built-in".into()])),
            [Path::new("built-in"), Path::new("/etc/gh/./built-in")]
        );
        for other in ["./built-in", "/built-in", "built-in/", "x/built-in"] {
            assert!(!is_folder(Path::new(other)), "{other}");
            assert!(!is_built_in(&Path::new(other).join("none.wasm")), "{other}");
        }
        assert!(
            !is_built_in(Path::new("built-in/none.wasm")) && read(Path::new("built-in/none.wasm")).is_err()
        );
    }
}
