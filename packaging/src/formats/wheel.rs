//! The Python wheel. The binary is one of its scripts, which installers copy unchanged into the program directory, so
//! no Python runs when `gatehouse` does.

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::{PackageFile, one};
use crate::{
    entries::{ArchiveEntry, zip},
    product::{PACKAGE, Product, REGISTRY_NAME, SUMMARY},
};

const MODULE: &str = "gatehouse_mcp";

/// Entry point for `uvx NAME` and `pipx run NAME`, which start the program named like the package.
const START: &str = include_str!("../../files/start.py");

pub(super) fn make(product: &Product) -> Result<Vec<PackageFile>> {
    let stem = format!("{MODULE}-{}", product.version);
    let (info, tag) = (format!("{stem}.dist-info"), tag(product)?);
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {}\nSummary: {SUMMARY}\nLicense-Expression: Apache-2.0\n\
         License-File: LICENSE\nLicense-File: THIRD-PARTY.md\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n<!-- mcp-name: {REGISTRY_NAME} -->\n\n{}",
        product.version,
        product.text_str("README.md")?
    );
    let wheel =
        format!("Wheel-Version: 1.0\nGenerator: gatehouse-packaging\nRoot-Is-Purelib: false\nTag: {tag}\n");
    let scripts = format!("[console_scripts]\n{PACKAGE} = {MODULE}:start\n");
    let mut entries = vec![
        ArchiveEntry::file(format!("{MODULE}/__init__.py"), START),
        ArchiveEntry::program(format!("{stem}.data/scripts/gatehouse"), product.binary.clone()),
        ArchiveEntry::file(format!("{info}/METADATA"), metadata),
        ArchiveEntry::file(format!("{info}/WHEEL"), wheel),
        ArchiveEntry::file(format!("{info}/entry_points.txt"), scripts),
    ];
    entries.extend(product.machine_code_in(&format!("{stem}.data/data/lib/gatehouse")));
    for name in ["LICENSE", "THIRD-PARTY.md"] {
        entries.push(ArchiveEntry::file(format!("{info}/licenses/{name}"), product.text(name)?));
    }
    entries.extend(product.documentation_in(&format!("{stem}.data/data/share/doc/{PACKAGE}/")));
    let record = format!("{info}/RECORD");
    let mut lines: String = entries.iter().map(line).collect();
    lines += &format!("{record},,\n");
    // The format recommends the metadata last, where zip readers look first.
    entries.push(ArchiveEntry::file(record, lines));
    Ok(one(format!("{stem}-{tag}.whl"), zip(&entries, product.level)?))
}

fn line(entry: &ArchiveEntry) -> String {
    let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&entry.bytes));
    format!("{},sha256={digest},{}\n", entry.path, entry.bytes.len())
}

/// Returns the wheel tag: any Python 3, and the systems that the binary supports (PEP 600 for Linux).
fn tag(product: &Product) -> Result<String> {
    let cpu = product.platform.wheel_cpu;
    let system = match product.platform.macos {
        Some((major, minor)) => format!("macosx_{major}_{minor}_{cpu}"),
        None => {
            let (major, minor) = product.needed_glibc()?;
            format!("manylinux_{major}_{minor}_{cpu}")
        }
    };
    Ok(format!("py3-none-{system}"))
}
