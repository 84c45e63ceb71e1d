//! Conversions of documents to Markdown, which gates offer.

use serde::{Deserialize, Serialize};

use crate::{InvalidValue, invalid::ensure, names};

/// Maximum bytes of a converted text.
pub const MAX_CONVERTED_TEXT: usize = 4 << 20;

const MAX_FORMATS: usize = 64;

/// Maximum remarks about what a text lacks.
pub const MAX_LOSSES: usize = 20;

/// A kind of files that a gate converts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentFormat {
    /// Name for people: `PDF`.
    pub name: String,
    /// Endings of file names, in lower case and without the dot.
    pub endings: Vec<String>,
    pub media_type: String,
}

impl DocumentFormat {
    /// Checks the formats of a gate. The error follows the gate's name.
    pub(crate) fn check_all(all: &[Self]) -> Result<(), InvalidValue> {
        let count = all.len();
        ensure!(count <= MAX_FORMATS, "converts {count} formats; the limit is {MAX_FORMATS}");
        for format in all {
            let fits = |text: &str| !text.trim().is_empty() && text.len() <= 100;
            let display_name = names::quoted(&format.name, 40);
            ensure!(
                fits(&format.name) && fits(&format.media_type),
                "format '{display_name}': name or media type is empty or has more than 100 bytes"
            );
            ensure!(
                !format.endings.is_empty() && format.endings.len() <= 32,
                "format '{display_name}' has no ending, or more than 32"
            );
            for ending in &format.endings {
                let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-+".contains(c);
                ensure!(
                    (1..=16).contains(&ending.len()) && ending.chars().all(plain),
                    "format '{display_name}': invalid ending '{}'; write 1 to 16 of a-z 0-9 _ - +, without the dot",
                    names::quoted(ending, 40)
                );
            }
        }
        Ok(())
    }
}

/// A file to convert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// File name without directories.
    pub name: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Text of a converted file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertedFile {
    /// Markdown.
    pub text: String,
    /// Remarks about what the text lacks; each follows the file's name.
    pub losses: Vec<String>,
}
