//! The shipped gates, which travel in the binary. They are loaded from it and never written anywhere: a host needs no
//! folder that it can write to serve them.

use std::{
    io,
    path::{Path, PathBuf},
};

use gatehouse_files::make_private;
use gatehouse_sandbox::EmbeddedComponents;

use crate::config::Config;

include!(concat!(env!("OUT_DIR"), "/gates.rs"));

/// A gate in the binary.
struct BuiltIn {
    /// Of its file.
    name: &'static str,
    /// Bytes of its file.
    size: u64,
}

/// The folder's name in a configuration, and its path: a folder of that name would be `./built-in`.
pub(crate) const NAME: &str = "built-in";

/// The components in the binary, for the sandbox.
pub(crate) const COMPONENTS: EmbeddedComponents = EmbeddedComponents { size, version: VERSION, read };

/// The folders that a configuration names: this one by its name, others by their paths. The default has it, too.
pub(crate) fn folders(base: &Path, named: Option<Vec<String>>) -> Vec<PathBuf> {
    let of = |entry: String| if entry == NAME { NAME.into() } else { base.join(entry) };
    named.unwrap_or_else(|| vec!["gates".into(), NAME.into()]).into_iter().map(of).collect()
}

/// True if a path is that of one of them.
pub(crate) fn is_built_in(file: &Path) -> bool {
    find(file).is_some()
}

/// True if this is the folder that is in the binary.
pub(crate) fn is_folder(folder: &Path) -> bool {
    folder.as_os_str() == NAME
}

/// True if a gate of this name is in the binary.
pub(crate) fn is_shipped(name: &str) -> bool {
    names().any(|shipped| shipped == name)
}

/// Names of the gates in the binary.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GATES.iter().filter_map(|gate| gate.name.strip_suffix(".wasm"))
}

/// True if they are among the folders that a configuration names.
pub(crate) fn is_in_config(config: &Config) -> bool {
    config.gate_folders.iter().any(|folder| is_folder(folder))
}

/// Whether this binary was built with any.
pub(crate) fn has_gates() -> bool {
    !GATES.is_empty()
}

/// Where a gate is among them.
fn find(file: &Path) -> Option<usize> {
    let name = file.file_name().filter(|_| file.parent().is_some_and(is_folder))?;
    GATES.iter().position(|gate| name == gate.name)
}

fn size(file: &Path) -> Option<u64> {
    find(file).map(|place| GATES[place].size)
}

/// Returns the bytes of a gate. Gates are packed one behind the other, so all are unpacked for it.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let place = find(file).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let bytes = |gates: &[BuiltIn]| gates.iter().map(|gate| gate.size as usize).sum::<usize>();
    let mut all = zstd::bulk::decompress(PACKED, bytes(GATES))?;
    all.truncate(bytes(&GATES[..=place]));
    let begin = all.len().checked_sub(GATES[place].size as usize);
    begin
        .map(|begin| all.split_off(begin))
        .ok_or_else(|| io::Error::other("the binary has fewer bytes of gates than it says"))
}

/// The components of all gates.
pub(crate) fn all() -> io::Result<Vec<Vec<u8>>> {
    GATES.iter().map(|gate| read(&Path::new(NAME).join(gate.name))).collect()
}

/// Makes the gate folder of the built-in configuration, for gates to be dropped in: the data folder around it is not
/// watched, as databases are written there all the time. Nobody asked for it, so a host that cannot make it works on.
pub(crate) fn make_default_folder(config: &Config) {
    let unnamed = config.default_gate_folder.as_ref().filter(|_| config.file.is_none());
    if let Some(folder) = unnamed.filter(|folder| config.gate_folders.contains(folder))
        && let Err(error) = make_private(folder)
    {
        tracing::debug!(folder = %folder.display(), %error, "the default folder of gates cannot be made");
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
    fn a_folder_of_that_name_is_another_one() {
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
