//! Kinds of documents by file name.

use std::path::Path;

use gatehouse_text::split_list;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Markdown,
    Rst,
    AsciiDoc,
    /// Markdown that a converter made.
    Converted,
    /// Code, with definitions as headings.
    Source,
    Data,
    Plain,
}

/// Maximum size of a file that is read as it is. Larger ones are usually generated, and would crowd out other documents in
/// a search.
pub(crate) const MAX_TEXT_BYTES: u64 = 4 << 20;

/// Maximum size of a file that is converted, which can have pictures. Its text has a limit of its own.
pub(crate) const MAX_CONVERTED_BYTES: u64 = 32 << 20;

/// In lower case. Other files are read as plain text if they look like text.
const EXTENSIONS: [(FileKind, &[&str]); 6] = [
    (FileKind::Markdown, &["md", "markdown", "mdown", "mkd", "mdx", "rmd", "qmd"]),
    (FileKind::Rst, &["rst", "rest"]),
    (FileKind::AsciiDoc, &["adoc", "asciidoc", "asc"]),
    (
        FileKind::Source,
        &split_list::<65>(
            "rs|py|pyi|js|mjs|cjs|jsx|ts|mts|tsx|go|java|kt|kts|scala|c|h|cc|cpp|cxx|hh|hpp|cs|swift|m|mm|\
            rb|php|pl|pm|lua|sh|bash|zsh|fish|ps1|sql|r|jl|ex|exs|erl|hs|ml|mli|clj|lisp|el|dart|zig|nim|\
            d|v|vhdl|cu|f90|groovy|proto|graphql|wit|vue|svelte|css|scss|less",
        ),
    ),
    (
        FileKind::Data,
        &split_list::<21>(
            "toml|yaml|yml|json|jsonl|json5|ini|cfg|conf|properties|xml|csv|tsv|tf|hcl|nix|cmake|\
            gradle|mk|bazel|bzl",
        ),
    ),
    (FileKind::Plain, &["txt", "text", "log", "tex", "bib", "org", "pod", "texi", "wiki", "diff", "patch"]),
];

pub(crate) const SECRET: &str = "may hold a secret: an environment, a key or a certificate";

const NEEDS_CONVERTER: &str = "needs a converter, and none under [documents] in presets.toml takes it";

/// Names of private keys, also with an extension.
const KEY_NAMES: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

const COPIES: [&str; 6] = [".bak", ".old", ".orig", ".local", ".txt", "~"];

const SECRET_EXTENSIONS: [&str; 13] =
    ["env", "pem", "p8", "key", "p12", "pfx", "jks", "keystore", "ppk", "kdbx", "crt", "cer", "der"];

/// Extensions that are skipped unread, with the reason.
const SKIPPED_EXTENSIONS: [(&str, &[&str]); 4] = [
    (
        "is an image, audio or video file",
        &split_list::<24>(
            "png|jpg|jpeg|gif|webp|bmp|ico|icns|tif|tiff|svg|psd|mp3|wav|ogg|flac|m4a|mp4|mov|avi|mkv|\
            webm|heic|avif",
        ),
    ),
    (
        "is an archive or binary",
        &split_list::<44>(
            "zip|gz|tgz|bz2|xz|zst|7z|rar|tar|jar|war|whl|exe|dll|so|dylib|a|o|obj|lib|wasm|class|pyc|pyo|\
            db|sqlite|sqlite3|bin|dat|parquet|arrow|npy|npz|pt|pth|onnx|safetensors|gguf|pkl|h5|iso|dmg|\
            deb|rpm",
        ),
    ),
    ("is a font", &["ttf", "otf", "woff", "woff2", "eot"]),
    (
        NEEDS_CONVERTER,
        &split_list::<30>(
            "pdf|doc|docx|docm|dotx|xls|xlsx|xlsm|xlsb|ppt|pptx|pptm|ppsx|odt|ott|ods|ots|odp|rtf|epub|mobi|html|\
            htm|xhtml|ipynb|pages|numbers|djvu|ps|odg",
        ),
    ),
];

const LOCK_FILES: [&str; 7] = split_list(
    "package-lock.json|npm-shrinkwrap.json|pnpm-lock.yaml|go.sum|bun.lockb|packages.lock.json|\
    gradle.lockfile",
);

/// Returns the kind of a file that is not converted by its name, or the reason why it is skipped.
pub(crate) fn kind(path: &str) -> Result<FileKind, &'static str> {
    check_name(path)?;
    let extension = extension(path);
    if let Some((reason, _)) =
        SKIPPED_EXTENSIONS.iter().find(|(_, extensions)| extensions.contains(&&*extension))
    {
        return Err(reason);
    }
    let entry = EXTENSIONS.iter().find(|(_, extensions)| extensions.contains(&&*extension));
    Ok(entry.map_or(FileKind::Plain, |(kind, _)| *kind))
}

/// Returns true if only a converter can read a file of this name.
pub(crate) fn needs_converter(path: &str) -> bool {
    kind(path) == Err(NEEDS_CONVERTER)
}

/// Returns the extension of a file's name in lower case, or an empty text.
pub(crate) fn extension(path: &str) -> String {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension.unwrap_or_default().to_ascii_lowercase()
}

/// Checks that no rule excludes a file by its name, whatever reads it. The error is the reason.
pub(crate) fn check_name(path: &str) -> Result<(), &'static str> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if name.ends_with(".lock") || LOCK_FILES.contains(&name.as_str()) {
        return Err("is a lock file");
    }
    if [".min.js", ".min.css", ".min.mjs", ".bundle.js", ".js.map", ".css.map"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        return Err("is minified or bundled");
    }
    // A copy of a secret is one, too.
    let is_copy =
        |copy: &str| name.strip_suffix(copy).is_some_and(|original| check_name(original) == Err(SECRET));
    let is_key = KEY_NAMES.iter().any(|key| name.starts_with(key)) && !name.ends_with(".md");
    if is_key || SECRET_EXTENSIONS.contains(&&*extension(&name)) || COPIES.into_iter().any(is_copy) {
        return Err(SECRET);
    }
    Ok(())
}

/// Returns true for minified code, which has long lines.
pub(crate) fn is_bundle(path: &str, text: &str) -> bool {
    let bundled = [".js", ".mjs", ".cjs", ".css"].iter().any(|end| path.to_ascii_lowercase().ends_with(end));
    bundled && text.len() > 20_000 && text.len() / text.lines().count().max(1) > 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_a_file_is_read() {
        assert_eq!(kind("docs/Guide.MD"), Ok(FileKind::Markdown));
        assert_eq!(kind("src/lib.rs"), Ok(FileKind::Source));
        assert_eq!(kind("Makefile"), Ok(FileKind::Plain));
        for (path, reason) in [
            ("Cargo.lock", "is a lock file"),
            ("web/package-lock.json", "is a lock file"),
            ("web/app.min.js", "is minified or bundled"),
            ("logo.PNG", "is an image, audio or video file"),
            ("tls/server.key", SECRET),
            ("prod.env", SECRET),
            ("prod.env.local", SECRET),
            ("server.key.bak", SECRET),
            ("id_rsa_work.pub", SECRET),
            ("id_ed25519", SECRET),
        ] {
            assert_eq!(kind(path), Err(reason), "{path}");
        }
        assert!(needs_converter("paper.pdf") && !needs_converter("notes.md"));
    }

    #[test]
    fn bundles_are_detected_by_their_lines() {
        assert!(is_bundle("app.js", &"x".repeat(30_000)));
        assert!(!is_bundle("app.js", &"let x = 1;\n".repeat(3_000)));
        assert!(!is_bundle("data.json", &"x".repeat(30_000)));
    }
}
