//! Port of converters, which turn documents into Markdown.

use async_trait::async_trait;

use crate::{
    Fault,
    conversion::{ConvertedFile, SourceFile},
};

#[async_trait]
pub trait DocumentConverter: Send + Sync {
    /// Converts a file. The message of an `invalid-arguments` fault follows the file's name. Other faults are of the
    /// converter itself.
    async fn convert(&self, file: SourceFile) -> Result<ConvertedFile, Fault>;
}
