//! The formats, a file each.

mod archive;
mod bundle;
mod debian;
mod image;
mod npm;
mod registry;
mod wheel;

use anyhow::Result;

use crate::product::Product;

/// A finished package.
pub(crate) struct PackageFile {
    /// Its path in the folder of packages.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// A kind of package.
pub(crate) struct PackageFormat {
    /// On the command line.
    pub(crate) name: &'static str,
    pub(crate) make: fn(&Product) -> Result<Vec<PackageFile>>,
}

/// Every kind, in the order in which they are made.
pub(crate) const FORMATS: &[PackageFormat] = &[
    PackageFormat { name: "archive", make: archive::make },
    PackageFormat { name: "wheel", make: wheel::make },
    PackageFormat { name: "npm", make: npm::make },
    PackageFormat { name: "debian", make: debian::make },
    PackageFormat { name: "image", make: image::make },
    PackageFormat { name: "mcpb", make: bundle::make },
    PackageFormat { name: "registry", make: registry::make },
];

/// A package of one file.
fn one(name: String, bytes: Vec<u8>) -> Vec<PackageFile> {
    vec![PackageFile { name, bytes }]
}
