//! What a component shows to the outside: its import list and its export list, read from its bytes.
//! Nothing is compiled, instantiated or run, so that a stranger's file can be looked at safely.

use gatehouse_core::{capability::Ask, hash::sha256_hex, names::quoted};
use wasmparser::{BinaryReaderError, ComponentExternName, Parser, Payload};

use crate::loader::{MAX_FILE, asked, check_header};

/// The export that makes a component a gate, whatever its version.
const TOOLS: &str = "gatehouse:gate/tools@";

/// Real gates have a few dozen.
const MAX_NAMES: usize = 1000;

/// Real ones have up to 60 bytes.
const MAX_NAME: usize = 200;

/// What a component shows to the outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Face {
    /// SHA-256 of the file, hexadecimal.
    pub digest: String,
    /// What it asks for.
    pub ask: Ask,
    /// Everything it imports, by full name, in its order.
    pub imports: Vec<String>,
    /// Everything it exports, by full name, in its order.
    pub exports: Vec<String>,
}

impl Face {
    /// Reads a file's bytes. The error says why they are no gate, as the end of a sentence about the file.
    pub fn of(wasm: &[u8]) -> Result<Self, String> {
        if wasm.len() as u64 > MAX_FILE {
            return Err(format!("has {} bytes, the most is {MAX_FILE}", wasm.len()));
        }
        check_header(wasm)?;
        let broken = |error: BinaryReaderError| {
            format!("is not a valid component: {}", quoted(&error.to_string(), 400))
        };
        let (mut imports, mut exports) = (Vec::new(), Vec::new());
        // Components nest, and only the outermost one speaks to the host.
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.map_err(broken)? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        add(&mut imports, import.map_err(broken)?.name)?;
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        add(&mut exports, export.map_err(broken)?.name)?;
                    }
                }
                _ => {}
            }
        }
        if !exports.iter().any(|name| name.starts_with(TOOLS)) {
            return Err("is a component but no gate: it does not export gatehouse:gate/tools".into());
        }
        let ask = asked(imports.iter().map(String::as_str));
        Ok(Self { digest: sha256_hex(wasm), ask, imports, exports })
    }
}

fn add(names: &mut Vec<String>, name: ComponentExternName<'_>) -> Result<(), String> {
    let name = name.name;
    if names.len() == MAX_NAMES {
        return Err(format!("is no gate: it has more than {MAX_NAMES} imports or exports"));
    }
    // The component model knows no others; a terminal would obey some.
    if name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("is not a valid component: '{}' is no name", quoted(name, 60)));
    }
    names.push(name.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use gatehouse_core::capability::Capability;

    use super::*;

    /// A component that imports and exports instances of these names and holds nothing else.
    fn component(imports: &[&str], exports: &[&str]) -> Vec<u8> {
        let mut wasm = b"\0asm\x0d\0\x01\0".to_vec();
        let mut section = |id: u8, body: Vec<u8>| {
            wasm.push(id);
            wasm.push(u8::try_from(body.len()).expect("a small section"));
            wasm.extend(body);
        };
        let name = |name: &str| {
            let mut bytes = vec![0, u8::try_from(name.len()).expect("a short name")];
            bytes.extend(name.as_bytes());
            bytes
        };
        // One type: an instance without members.
        section(7, vec![1, 0x42, 0]);
        let list = |names: &[&str], tail: &[u8]| {
            let mut body = vec![u8::try_from(names.len()).expect("few")];
            for one in names {
                body.extend(name(one));
                body.extend(tail);
            }
            body
        };
        section(10, list(imports, &[5, 0]));
        section(11, list(exports, &[5, 0, 0]));
        wasm
    }

    #[test]
    fn what_a_component_asks_for_is_read_from_its_bytes() {
        let imports =
            ["gatehouse:gate/types@0.1.0", "wasi:cli/environment@0.2.6", "gatehouse:gate/knowledge@0.1.0"];
        let wasm = component(&imports, &["gatehouse:gate/tools@0.1.0"]);
        let face = Face::of(&wasm).expect("a gate");
        assert_eq!(face.ask.capabilities, [Capability::Knowledge]);
        assert_eq!(face.ask.others, ["wasi:cli/environment@0.2.6"]);
        assert_eq!((face.imports.len(), face.exports.len()), (3, 1));
    }

    #[test]
    fn what_is_no_gate_is_refused_with_the_reason() {
        let refused = |wasm: &[u8]| Face::of(wasm).expect_err("refused");
        assert_eq!(refused(b"garbage"), "is not WebAssembly");
        assert!(refused(b"\0asm\x01\0\0\0").contains("core WebAssembly module"));
        assert!(refused(&component(&[], &["wasi:cli/run@0.2.6"])).contains("no gate"));
        let whole = component(&["wasi:io/poll@0.2.6"], &["gatehouse:gate/tools@0.1.0"]);
        assert!(refused(&whole[..whole.len() - 3]).contains("is not a valid component"));
        assert!(refused(&component(&["a\x1b[2Jb"], &["gatehouse:gate/tools@0.1.0"])).contains("is no name"));
    }
}
