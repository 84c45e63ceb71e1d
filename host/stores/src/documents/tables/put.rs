//! Prepares files for storage before the transaction begins: this work is slow, and a waiting transaction would block
//! other writers.

use gatehouse_core::{outcome::Fault, ports::documents::NewFile};

use super::index_key;
#[cfg(feature = "postgres")]
use crate::sql::postgres::{IndexTerms, with_variants};
use crate::{
    documents::chunk::{abstract_of, version},
    engine::name_keys,
};

pub(super) struct PreparedFile {
    pub(super) file: NewFile,
    pub(super) key: String,
    pub(super) abstract_text: String,
    /// Comparison keys of the path, the file name, and the name without extension.
    pub(super) names: Vec<String>,
    /// Hashes of the texts to embed, one for each chunk.
    pub(super) versions: Vec<String>,
    /// Terms of the path, the headings and the text.
    #[cfg(feature = "postgres")]
    pub(super) terms: Option<IndexTerms<3>>,
}

impl PreparedFile {
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables))]
    pub(super) fn new(file: NewFile, with_terms: bool) -> Result<Self, Fault> {
        let path = &file.head.path;
        let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let mut versions = Vec::with_capacity(file.chunks.len());
        for chunk in &file.chunks {
            let text = file
                .text
                .get(chunk.start..chunk.end)
                .ok_or_else(|| Fault::internal(format!("a chunk of '{path}' is outside its text")))?;
            versions.push(version(&chunk.heading, text));
        }
        #[cfg(feature = "postgres")]
        let terms = with_terms.then(|| {
            let (named, headings) = (with_variants(path), with_variants(&file.headings.join("\n")));
            IndexTerms::new(path, [&named, &headings, &file.text])
        });
        Ok(Self {
            key: index_key(path).into_owned(),
            abstract_text: abstract_of(&file),
            names: name_keys([path, name, stem]),
            versions,
            #[cfg(feature = "postgres")]
            terms,
            file,
        })
    }
}
