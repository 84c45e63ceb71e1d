//! Reads imports, exports, digest and compile cost of a component without compiling or running it, so untrusted files
//! can be inspected safely.

use gatehouse_core::{
    capability::{Capability, RequestedCapabilities},
    hash::sha256_hex,
    names::quoted,
};
use wasmparser::{BinaryReaderError, ComponentExternName, Parser, Payload};

use crate::compile_cost::{CompileCost, CompileCostError};

/// Maximum bytes of a component. Python's interpreter takes 18 MB.
pub const MAX_FILE: u64 = 256 << 20;

/// Prefix of the export that makes a component a gate, in any version.
const TOOLS: &str = "gatehouse:gate/tools@";

/// Prefix of the export of gates that convert documents.
const CONVERT: &str = "gatehouse:gate/convert@";

/// Maximum imports or exports. Real gates have a few dozen.
const MAX_NAMES: usize = 1000;

/// Maximum bytes of an import or export name. Real names have up to 60.
const MAX_NAME: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentInfo {
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    pub ask: RequestedCapabilities,
    pub imports: Vec<String>,
    pub exports: Vec<String>,
}

/// Reason a file is not a gate. The text follows the file's name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAGate(String);

impl From<BinaryReaderError> for NotAGate {
    fn from(error: BinaryReaderError) -> Self {
        Self(format!("is not a valid component: {}", quoted(&error.to_string(), 400)))
    }
}

impl From<CompileCostError> for NotAGate {
    fn from(error: CompileCostError) -> Self {
        Self(error.to_string())
    }
}

pub(crate) fn too_large(bytes: u64) -> String {
    format!("is {bytes} bytes; the limit is {MAX_FILE}")
}

impl ComponentInfo {
    pub fn read(wasm: &[u8]) -> Result<Self, NotAGate> {
        check_header(wasm)?;
        let (mut imports, mut exports, mut cost) = (Vec::new(), Vec::new(), CompileCost::default());
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            match &payload {
                // Components nest; only the outermost one talks to the host.
                Payload::ComponentImportSection(section) if cost.is_outermost() => {
                    for import in section.clone() {
                        add(&mut imports, import?.name)?;
                    }
                }
                Payload::ComponentExportSection(section) if cost.is_outermost() => {
                    for export in section.clone() {
                        add(&mut exports, export?.name)?;
                    }
                }
                _ => cost.add(&payload)?,
            }
        }
        if !exports.iter().any(|name| name.starts_with(TOOLS)) {
            let reason = "is a component but not a gate: it does not export gatehouse:gate/tools";
            return Err(NotAGate(reason.into()));
        }
        Ok(Self { digest: sha256_hex(wasm), ask: ask(&imports), imports, exports })
    }

    /// Returns whether the gate converts documents.
    pub fn is_converter(&self) -> bool {
        self.exports.iter().any(|name| name.starts_with(CONVERT))
    }
}

fn add(names: &mut Vec<String>, name: ComponentExternName<'_>) -> Result<(), NotAGate> {
    let name = name.name;
    if names.len() == MAX_NAMES {
        return Err(NotAGate(format!("is not a gate: it has more than {MAX_NAMES} imports or exports")));
    }
    // The component model allows only ASCII names. Control characters could affect a terminal.
    if name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        let display_name = quoted(name, 60);
        return Err(NotAGate(format!("is not a valid component: '{display_name}' is not a valid name")));
    }
    names.push(name.to_owned());
    Ok(())
}

/// Splits imports into capabilities of the contract and others.
fn ask(imports: &[String]) -> RequestedCapabilities {
    let mut ask = RequestedCapabilities::default();
    for name in imports {
        let interface = name.strip_prefix("gatehouse:gate/").and_then(|rest| rest.split('@').next());
        match Capability::ALL.into_iter().find(|capability| Some(capability.as_str()) == interface) {
            Some(capability) => ask.capabilities.push(capability),
            // Shared types, not a capability.
            None if interface == Some("types") => {}
            None => ask.others.push(name.clone()),
        }
        // `wasi:http` is another interface to the same capability.
        if name.starts_with("wasi:http/outgoing-handler@") {
            ask.capabilities.push(Capability::Http);
        }
    }
    ask.capabilities.sort();
    ask.capabilities.dedup();
    ask.others.sort();
    ask
}

/// Detects common mistakes, for clearer messages than the parser's, by magic, version and layer (component model binary
/// format, "Component Definitions").
fn check_header(wasm: &[u8]) -> Result<(), NotAGate> {
    let reason = match wasm.get(..8) {
        _ if wasm.len() as u64 > MAX_FILE => return Err(NotAGate(too_large(wasm.len() as u64))),
        Some([0, b'a', b's', b'm', _, _, 1, 0]) => return Ok(()),
        Some([0, b'a', b's', b'm', 1, 0, 0, 0]) => {
            "is a core WebAssembly module, not a component; build it for wasm32-wasip2"
        }
        Some([0, b'a', b's', b'm', ..]) => "is WebAssembly of an unsupported version",
        _ => "is not WebAssembly",
    };
    Err(NotAGate(reason.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a component that only imports and exports instances of these names.
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
        let info = ComponentInfo::read(&wasm).expect("a gate");
        assert_eq!(info.ask.capabilities, [Capability::Knowledge]);
        assert_eq!(info.ask.others, ["wasi:cli/environment@0.2.6"]);
        assert_eq!((info.imports.len(), info.exports.len()), (3, 1));
    }

    #[test]
    fn what_is_no_gate_is_refused_with_the_reason() {
        let refused = |wasm: &[u8]| ComponentInfo::read(wasm).expect_err("refused").to_string();
        assert_eq!(refused(b"garbage, no wasm"), "is not WebAssembly");
        assert_eq!(refused(b""), "is not WebAssembly");
        assert!(refused(b"\0asm\x01\0\0\0").contains("core WebAssembly module"));
        assert!(refused(&component(&[], &["wasi:cli/run@0.2.6"])).contains("not a gate"));
        let whole = component(&["wasi:io/poll@0.2.6"], &["gatehouse:gate/tools@0.1.0"]);
        assert!(refused(&whole[..whole.len() - 3]).contains("is not a valid component"));
        assert!(
            refused(&component(&["a\x1b[2Jb"], &["gatehouse:gate/tools@0.1.0"]))
                .contains("is not a valid name")
        );
    }
}
