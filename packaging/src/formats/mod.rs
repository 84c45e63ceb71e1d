//! The package formats.

mod archive;
mod bundle;
mod debian;
mod image;
mod npm;
mod registry;
mod wheel;

use anyhow::Result;

use crate::product::Product;

pub(crate) struct PackageFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct PackageFormat {
    pub(crate) name: &'static str,
    pub(crate) make: fn(&Product) -> Result<Vec<PackageFile>>,
}

pub(crate) const FORMATS: &[PackageFormat] = &[
    PackageFormat { name: "archive", make: archive::make },
    PackageFormat { name: "wheel", make: wheel::make },
    PackageFormat { name: "npm", make: npm::make },
    PackageFormat { name: "debian", make: debian::make },
    PackageFormat { name: "image", make: image::make },
    PackageFormat { name: "mcpb", make: bundle::make },
    PackageFormat { name: "registry", make: registry::make },
];

fn one(name: String, bytes: Vec<u8>) -> Vec<PackageFile> {
    vec![PackageFile { name, bytes }]
}
