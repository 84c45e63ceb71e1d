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
pub(crate) struct Made {
    /// Its path in the folder of packages.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// A kind of package.
pub(crate) struct Format {
    /// On the command line.
    pub(crate) name: &'static str,
    pub(crate) make: fn(&Product) -> Result<Vec<Made>>,
}

/// Every kind, in the order in which they are made.
pub(crate) const FORMATS: &[Format] = &[
    Format { name: "archive", make: archive::make },
    Format { name: "wheel", make: wheel::make },
    Format { name: "npm", make: npm::make },
    Format { name: "debian", make: debian::make },
    Format { name: "image", make: image::make },
    Format { name: "mcpb", make: bundle::make },
    Format { name: "registry", make: registry::make },
];

/// A package of one file.
fn one(name: String, bytes: Vec<u8>) -> Vec<Made> {
    vec![Made { name, bytes }]
}
