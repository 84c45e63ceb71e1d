//! Each composition list matches its folder, in both directions.

use super::{between, modules, none, read, snake};

fn differences(list: &str, given: &[String], folder: &str, wanted: &[String]) -> Vec<String> {
    let missing = wanted.iter().filter(|name| !given.contains(name));
    let missing = missing.map(|name| format!("'{name}' is in {folder} and not in {list}"));
    let orphans = given.iter().filter(|name| !wanted.contains(name));
    missing.chain(orphans.map(|name| format!("'{name}' is in {list} and not in {folder}"))).collect()
}

fn words_after(text: &str, prefix: &str) -> Vec<String> {
    let words = text.split(prefix).skip(1);
    let words = words.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').next());
    words.map(|word| snake(word.unwrap_or_default())).collect()
}

#[test]
fn every_capability_has_a_file_and_an_interface() {
    let path = "host/core/src/policy/capability.rs";
    let all = words_after(between(path, &read(path), "enum_words! { Capability {", "\n} }"), ": \"");
    let folder = "host/sandbox/src/abi/v0_1";
    let exports = ["exports", "optional", "tools"];
    let files =
        modules(folder).into_iter().filter(|name| !exports.contains(&name.as_str())).collect::<Vec<_>>();
    none("one capability, one file", differences("Capability::ALL", &all, folder, &files));
    let world = "wit/0.1.0/world.wit";
    let imports = words_after(between(world, &read(world), "world gate {", "}"), "import ");
    none("one capability, one interface", differences("Capability::ALL", &all, world, &imports));
}

#[test]
fn every_stage_stands_in_the_line() {
    let path = "host/core/src/pipeline/mod.rs";
    let text = read(path);
    let composed = "host/gatehouse/src/compose/pipeline.rs";
    let list = read(composed);
    let stages = words_after(between(composed, &list, "Pipeline::new(vec![", "\n        ])\n"), "Arc::new(");
    let line: Vec<String> = stages.iter().map(|stage| stage.trim_end_matches("_stage").to_owned()).collect();
    let folder = "host/core/src/pipeline";
    let mut sorted = line.clone();
    sorted.sort();
    none("one stage, one file", differences(composed, &sorted, folder, &modules(folder)));
    let picture = between(path, &text, "//! ```text\n//! ", " → source\n");
    assert_eq!(
        picture.split(" → ").collect::<Vec<_>>(),
        line,
        "{path}: the picture shows the list in its order"
    );
}

#[test]
fn every_command_has_a_file_and_a_variant() {
    let path = "host/gatehouse/src/cli/mod.rs";
    let text = read(path);
    let folder = "host/gatehouse/src/cli";
    let files = modules(folder);
    let declared = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let declared: Vec<String> = declared.map(str::to_owned).collect();
    none("one command, one module", differences(path, &declared, folder, &files));
    let variants = between(path, &text, "\nenum Command {\n", "\n}\n").lines().map(str::trim);
    let variants = variants.filter(|line| line.starts_with(char::is_uppercase));
    let variants: Vec<String> =
        variants.map(|line| snake(line.split(['(', ',']).next().unwrap_or_default())).collect();
    none("one command, one variant", differences("enum Command", &variants, folder, &files));
}
