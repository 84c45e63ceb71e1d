//! The recipe of a container image, beside what goes into it: `docker build target/dist/image` needs nothing else.

use anyhow::Result;

use super::Made;
use crate::product::{Product, REGISTRY_NAME, SUMMARY};

const RECIPE: &str = include_str!("../../files/Containerfile");

/// The C library of the image that the recipe begins with.
const BASE: (u32, u32) = (2, 36);

pub(super) fn make(product: &Product) -> Result<Vec<Made>> {
    let (major, minor) = product.needed_glibc()?;
    anyhow::ensure!(
        (major, minor) <= BASE,
        "the binary needs glibc {major}.{minor}, and the image has {}.{}: build it on Debian 12 or older",
        BASE.0,
        BASE.1
    );
    let recipe = RECIPE
        .replace("@VERSION@", product.version)
        .replace("@SUMMARY@", SUMMARY)
        .replace("@NAME@", REGISTRY_NAME);
    let file = |name: &str, bytes: &[u8]| Made { name: format!("image/{name}"), bytes: bytes.to_vec() };
    Ok(vec![
        file("Containerfile", recipe.as_bytes()),
        file("LICENSE", product.text("LICENSE")?),
        file("THIRD-PARTY.md", product.text("THIRD-PARTY.md")?),
        file("gatehouse", &product.binary),
    ])
}
