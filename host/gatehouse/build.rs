//! Puts files into the binary: the shipped gates, and what new gate projects consist of. Gates are as many as `cargo
//! xtask gates` has built by then: this builds nothing itself, for a build within a build would want the locks that are
//! held.

use std::{
    collections::BTreeMap,
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
};

/// Gates share most of their libraries, which a window over all of them finds: all take less than half of what each for
/// itself takes. This level has one of 8 MiB.
const LEVEL: i32 = 19;

fn main() -> io::Result<()> {
    // As it is when this runs: a target folder may have come from elsewhere.
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let root = Path::new(&manifest).join("../..").canonicalize()?;
    let folder = root.join("gates");
    let (mut gates, mut version) = (Vec::new(), DefaultHasher::new());
    for entry in fs::read_dir(&folder)? {
        let file = entry?.path();
        // Other files there are not ours: a shipped gate has its source beside it.
        if file.extension().is_some_and(|ending| ending == "wasm") && file.with_extension("").is_dir() {
            gates.push(file);
        }
    }
    gates.sort();
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let mut embedded = String::new();
    for (name, folder) in [("CONTRACT", "wit/0.1.0"), ("SDK", "gates/sdk/src")] {
        embedded += &embed(name, &root.join(folder))?;
    }
    let templates = root.join("host/gatehouse/templates");
    for language in ["common", "c", "js", "python", "rust"] {
        let name = language.to_uppercase();
        embedded += &embed(&name, &templates.join(language))?;
        embedded += &embed(&format!("CONVERTER_{name}"), &templates.join("converter").join(language))?;
    }
    fs::write(Path::new(&out).join("projects.rs"), embedded)?;
    let (mut list, mut all) = (String::new(), Vec::new());
    for file in &gates {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let gate = fs::read(file)?;
        (&name, &gate).hash(&mut version);
        list += &format!("    BuiltIn {{ name: {name:?}, size: {} }},\n", gate.len());
        all.extend(gate);
    }
    let packed = Path::new(&out).join("gates.zst");
    fs::write(&packed, zstd::encode_all(&*all, LEVEL)?)?;
    // A gate that was not there then: the first build of gates, or a new member of the workspace.
    let sign = if gates.is_empty() { folder } else { root.join("Cargo.toml") };
    println!("cargo::rerun-if-changed={}", sign.display());
    let version = version.finish();
    let table = format!(
        "const VERSION: u64 = {version};\nconst PACKED: &[u8] = include_bytes!({packed:?});\n\
         const GATES: &[BuiltIn] = &[\n{list}];\n"
    );
    fs::write(Path::new(&out).join("gates.rs"), table)
}

/// Returns a constant with the path and the text of each file below a folder, sorted by path. `.in` at the end of a name
/// is left out: files whose name means something to git or cargo have it here.
fn embed(name: &str, folder: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below)? {
            let path = entry?.path();
            if path.is_dir() {
                // Left behind by trying a template.
                let output_folders = ["__pycache__", "node_modules", ".venv", "build", "target"];
                folders.extend(
                    Some(path).filter(|path| !output_folders.iter().any(|name| path.ends_with(name))),
                );
                continue;
            }
            let relative_path =
                path.strip_prefix(folder).map_err(io::Error::other)?.to_string_lossy().into_owned();
            files.insert(relative_path.trim_end_matches(".in").to_owned(), path);
        }
    }
    let files = files
        .iter()
        .map(|(relative_path, path)| format!("    ({relative_path:?}, include_str!({path:?})),\n"));
    Ok(format!("const {name}: &[(&str, &str)] = &[\n{}];\n", files.collect::<String>()))
}
