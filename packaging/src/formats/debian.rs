//! The Debian package: an `ar` archive of three members, see deb(5). It is written here because not every system has
//! dpkg.
//!
//! The services are installed but disabled: nothing listens until the user enables it.

use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};

use super::{PackageFile, archive::USER_SERVICE, one};
use crate::{
    entries::{ArchiveEntry, TIME, tar_gz},
    product::{AUTHOR, Product, SUMMARY},
};

const SYSTEM_SERVICE: &str = include_str!("../../files/system.service");

/// Debian revision; the upstream version is the same in all formats.
const REVISION: &str = "1";

pub(super) fn make(product: &Product) -> Result<Vec<PackageFile>> {
    let architecture = product.platform.debian.context("Debian packages are for Linux")?;
    let files = files(product)?;
    let version = format!("{}-{REVISION}", product.version);
    let control = vec![ArchiveEntry::file("./control", control(product, &files, architecture, &version)?)];
    let mut package = b"!<arch>\n".to_vec();
    member(&mut package, "debian-binary", b"2.0\n");
    member(&mut package, "control.tar.gz", &tar_gz(control, Compression::best())?);
    member(&mut package, "data.tar.gz", &tar_gz(files, product.level)?);
    Ok(one(format!("gatehouse_{version}_{architecture}.deb"), package))
}

fn files(product: &Product) -> Result<Vec<ArchiveEntry>> {
    let user = USER_SERVICE.replace("@PROGRAM@", "/usr/bin/gatehouse");
    let mut files = vec![
        ArchiveEntry::program("./usr/bin/gatehouse", product.binary.clone()),
        ArchiveEntry::file("./usr/lib/systemd/user/gatehouse.service", user),
        ArchiveEntry::file("./usr/lib/systemd/system/gatehouse.service", SYSTEM_SERVICE),
        ArchiveEntry::file("./usr/share/bash-completion/completions/gatehouse", product.completion("bash")?),
        ArchiveEntry::file("./usr/share/zsh/vendor-completions/_gatehouse", product.completion("zsh")?),
        ArchiveEntry::file(
            "./usr/share/fish/vendor_completions.d/gatehouse.fish",
            product.completion("fish")?,
        ),
        ArchiveEntry::file("./usr/share/doc/gatehouse/copyright", copyright()),
        ArchiveEntry::file("./usr/share/man/man1/gatehouse.1.gz", packed(&product.manual)?),
    ];
    files.extend(product.machine_code_in("./usr/lib/gatehouse"));
    files.extend(product.texts_in("./usr/share/doc/gatehouse"));
    Ok(files)
}

fn packed(page: &str) -> Result<Vec<u8>> {
    let mut packed = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    packed.write_all(page.as_bytes())?;
    Ok(packed.finish()?)
}

/// Returns the control file: the fields of Debian policy 5.3, and the dependencies of the binary.
fn control(product: &Product, files: &[ArchiveEntry], architecture: &str, version: &str) -> Result<String> {
    let (major, minor) = product.needed_glibc()?;
    let kilobytes: usize = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum();
    Ok(format!(
        "Package: gatehouse\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {AUTHOR} <gatehouse@localhost>\n\
         Installed-Size: {kilobytes}\nDepends: libc6 (>= {major}.{minor}), libgcc-s1\nRecommends: ca-certificates\n\
         Section: net\nPriority: optional\nDescription: {SUMMARY}\n \
         Gates are groups of tools that run as sandboxed WebAssembly components.\n \
         Presets define which gates an agent sees, and what each can access.\n"
    ))
}

fn copyright() -> String {
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n\
         Files: *\nCopyright: {AUTHOR}\nLicense: Apache-2.0\n \
         The license text is in LICENSE next to this file, and in /usr/share/common-licenses/Apache-2.0.\n \
         Third-party components are listed in THIRD-PARTY.md.\n"
    )
}

/// Appends an `ar` member: a 60-character header, the bytes, and a newline if their number is odd.
fn member(package: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let header = format!("{name:<16}{TIME:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len());
    package.extend(header.as_bytes());
    package.extend(bytes);
    if bytes.len() % 2 == 1 {
        package.push(b'\n');
    }
}
