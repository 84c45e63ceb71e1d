//! Files for new projects in the binary: the contract and common templates.

/// Directory of the contract in a project, which component tools search.
pub(super) const CONTRACT_FOLDER: &str = "wit/deps/gatehouse-gate";

pub(super) const CONTRACT: &[(&str, &str)] = &[
    ("artifacts.wit", include_str!("../../../../wit/0.1.0/artifacts.wit")),
    ("catalog.wit", include_str!("../../../../wit/0.1.0/catalog.wit")),
    ("completion.wit", include_str!("../../../../wit/0.1.0/completion.wit")),
    ("context.wit", include_str!("../../../../wit/0.1.0/context.wit")),
    ("documents.wit", include_str!("../../../../wit/0.1.0/documents.wit")),
    ("elicitation.wit", include_str!("../../../../wit/0.1.0/elicitation.wit")),
    ("filter.wit", include_str!("../../../../wit/0.1.0/filter.wit")),
    ("http.wit", include_str!("../../../../wit/0.1.0/http.wit")),
    ("knowledge.wit", include_str!("../../../../wit/0.1.0/knowledge.wit")),
    ("kv.wit", include_str!("../../../../wit/0.1.0/kv.wit")),
    ("models.wit", include_str!("../../../../wit/0.1.0/models.wit")),
    ("prompts.wit", include_str!("../../../../wit/0.1.0/prompts.wit")),
    ("resources.wit", include_str!("../../../../wit/0.1.0/resources.wit")),
    ("sampling.wit", include_str!("../../../../wit/0.1.0/sampling.wit")),
    ("servers-admin.wit", include_str!("../../../../wit/0.1.0/servers-admin.wit")),
    ("servers.wit", include_str!("../../../../wit/0.1.0/servers.wit")),
    ("text.wit", include_str!("../../../../wit/0.1.0/text.wit")),
    ("tools.wit", include_str!("../../../../wit/0.1.0/tools.wit")),
    ("types.wit", include_str!("../../../../wit/0.1.0/types.wit")),
    ("world.wit", include_str!("../../../../wit/0.1.0/world.wit")),
];

pub(super) const WORLD: &str = include_str!("../../templates/common/world.wit");

pub(super) const PRESETS: &str = include_str!("../../templates/common/presets.toml");

pub(super) fn filled(text: &str, name: &str) -> String {
    text.replace("{{name}}", name)
}

#[cfg(test)]
pub(super) mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;

    /// Fails unless the list has exactly the files of a directory in the repository.
    pub(crate) fn complete(list: &[(&str, &str)], folder: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        let mut there = BTreeSet::new();
        collect(&folder, "", &mut there);
        let listed: BTreeSet<String> = list.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(listed, there, "the list must match the files in {}", folder.display());
    }

    fn collect(folder: &Path, below: &str, into: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the folder") {
            let path = entry.expect("an entry").path();
            let name = format!("{below}{}", path.file_name().expect("a name").to_string_lossy());
            if path.is_dir() {
                collect(&path, &format!("{name}/"), into);
            } else {
                into.insert(name);
            }
        }
    }

    #[test]
    fn the_whole_contract_is_carried() {
        complete(CONTRACT, "wit/0.1.0");
    }
}
