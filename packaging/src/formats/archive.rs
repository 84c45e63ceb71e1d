//! `gatehouse-VERSION-TRIPLE.tar.gz`: everything in one directory, for any system.

use anyhow::Result;

use super::{PackageFile, one};
use crate::{
    entries::{ArchiveEntry, tar_gz},
    product::Product,
};

pub(super) const USER_SERVICE: &str = include_str!("../../files/user.service");

pub(super) fn make(product: &Product) -> Result<Vec<PackageFile>> {
    let name = format!("gatehouse-{}-{}", product.version, product.platform.triple);
    let mut entries: Vec<ArchiveEntry> = product.texts_in(&name).collect();
    entries.push(ArchiveEntry::program(format!("{name}/gatehouse"), product.binary.clone()));
    entries.extend(product.machine_code_in(&name));
    for (shell, file) in [("bash", "gatehouse.bash"), ("zsh", "_gatehouse"), ("fish", "gatehouse.fish")] {
        entries.push(ArchiveEntry::file(format!("{name}/completions/{file}"), product.completion(shell)?));
    }
    entries.push(ArchiveEntry::file(format!("{name}/man/gatehouse.1"), product.manual.as_bytes()));
    if product.glibc.is_some() {
        let unit = USER_SERVICE.replace("@PROGRAM@", "%h/.local/bin/gatehouse");
        entries.push(ArchiveEntry::file(format!("{name}/systemd/user/gatehouse.service"), unit));
    }
    Ok(one(format!("{name}.tar.gz"), tar_gz(entries, product.level)?))
}
