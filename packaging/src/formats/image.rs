//! The build directory of a container image: `docker build target/dist/image` needs nothing else.

use anyhow::Result;

use super::PackageFile;
use crate::product::{Product, REGISTRY_NAME, SUMMARY};

const RECIPE: &str = include_str!("../../files/Containerfile");

const BASE: (u32, u32) = (2, 36);

const COPIED: &str = "COPY machine-code/ /usr/local/lib/gatehouse/machine-code/\n";

pub(super) fn make(product: &Product) -> Result<Vec<PackageFile>> {
    let (major, minor) = product.needed_glibc()?;
    anyhow::ensure!(
        (major, minor) <= BASE,
        "the binary requires glibc {major}.{minor}, but the image has {}.{}; build it on Debian 12 or older",
        BASE.0,
        BASE.1
    );
    let machine_code = product.machine_code_in("image");
    let machine_code: Vec<PackageFile> =
        machine_code.map(|entry| PackageFile { name: entry.path, bytes: entry.bytes }).collect();
    let copied = if machine_code.is_empty() { "" } else { COPIED };
    let recipe = RECIPE
        .replace("@MACHINE_CODE@", copied)
        .replace("@VERSION@", product.version)
        .replace("@SUMMARY@", SUMMARY)
        .replace("@NAME@", REGISTRY_NAME);
    let file =
        |name: &str, bytes: &[u8]| PackageFile { name: format!("image/{name}"), bytes: bytes.to_vec() };
    let mut files = vec![
        file("Containerfile", recipe.as_bytes()),
        file("LICENSE", product.text("LICENSE")?),
        file("THIRD-PARTY.md", product.text("THIRD-PARTY.md")?),
        file("gatehouse", &product.binary),
    ];
    files.extend(machine_code);
    Ok(files)
}
