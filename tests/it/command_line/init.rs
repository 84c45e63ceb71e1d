//! `gatehouse init`: instructions for a project's agents; the rest of each file stays unchanged.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use super::run;
use crate::support::{Place, terminal};

const BEGIN: &str = "<!-- gatehouse:begin ";

fn project() -> Place {
    let place = Place::shipped();
    fs::create_dir(place.path("project")).expect("a folder");
    place
}

fn init(place: &Place, code: i32, more: &[&str]) -> String {
    let preset: &[&str] = if more.contains(&"--preset") { &[] } else { &["--preset", "context"] };
    let arguments = [&["init", "--folder", "project"], preset, more].concat();
    let ran = run(place, code, &arguments);
    format!("{}{}", ran.stdout(), ran.stderr())
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path("project").join(name)).expect(name)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn an_agent_gets_the_names_of_the_tools_in_its_preset() {
    let place = project();
    let output = init(&place, 0, &["--yes"]);
    assert!(
        output.contains("+++ b/.claude/CLAUDE.md\n") && output.contains("+- code: `wiki_code_search`\n"),
        "{output}"
    );
    let section = read(&place, ".claude/CLAUDE.md");
    assert!(section.starts_with(BEGIN), "{section}");
    assert!(section.contains("- idea: `wiki_idea_search`\n- code: `wiki_code_search`\n"), "{section}");
    assert!(section.contains("`mcp__gatehouse__<name>`"), "{section}");
    assert!(!section.contains("kg_edit"), "{section}");
    let command = read(&place, ".claude/commands/gateway-init.md");
    assert!(command.starts_with("---\ndescription: ") && command.contains("Task: $ARGUMENTS\n"), "{command}");
    assert!(init(&place, 0, &["--yes"]).contains("everything is up to date"));

    let output = init(&place, 0, &["--yes", "--preset", "merger"]);
    assert!(output.contains("-- idea: `wiki_idea_search`\n"), "{output}");
    let section = read(&place, ".claude/CLAUDE.md");
    assert_eq!(section.matches(BEGIN).count(), 1, "{section}");
    assert!(section.contains("`kg_edit`") && !section.contains("wiki_idea_search"), "{section}");
}

#[test]
fn a_section_teaches_what_the_preset_has() {
    let place = project();
    let section = |preset: &str| {
        init(&place, 0, &["--yes", "--preset", preset]);
        read(&place, ".claude/CLAUDE.md")
    };
    let code = section("code");
    let names = code.find("- script: `run_code`").expect("the names");
    let lesson =
        code.find("Several calls are one `run_code` script: `return (await callMCPTool(").expect("scripts");
    assert!(names < lesson, "{code}");
    let proxy = section("proxy");
    assert!(
        proxy.contains("`search_tools` finds more tools by task") && !proxy.contains("callMCPTool"),
        "{proxy}"
    );
    let gateway = section("gateway");
    assert!(
        gateway.contains("`request` runs every tool") && gateway.contains("\"search_tools\""),
        "{gateway}"
    );
    let full = section("full");
    assert!(!full.contains("callMCPTool") && !full.contains("search_tools"), "{full}");
    let context = section("context");
    assert!(!context.contains("artifact"), "{context}");
}

#[test]
fn undo_takes_out_what_was_written_and_nothing_else() {
    let place = project();
    let mine = "# Mine\r\n\r\nno line end";
    for target in ["claude", "agents-md", "cursor"] {
        init(&place, 0, &["--yes", "--target", target]);
        init(&place, 0, &["--undo", "--yes", "--target", target]);
        assert_eq!(names(&place.path("project")), Vec::<String>::new(), "{target}");
    }
    place.write("project/.claude/CLAUDE.md", mine);
    place.write("project/.claude/commands/other.md", "other");
    init(&place, 0, &["--yes"]);
    assert!(read(&place, ".claude/CLAUDE.md").starts_with(&format!("{mine}\r\n\r\n{BEGIN}")));
    assert_eq!(read(&place, ".claude/CLAUDE.md").replace("\r\n", "").matches('\n').count(), 0);
    init(&place, 0, &["--undo", "--yes"]);
    assert_eq!(read(&place, ".claude/CLAUDE.md"), mine);
    assert_eq!(names(&place.path("project/.claude/commands")), ["other.md"]);
    assert!(init(&place, 0, &["--undo", "--yes"]).contains("nothing to remove"));
}

#[test]
fn nothing_is_written_that_was_not_agreed_to() {
    let place = project();
    let output = init(&place, 0, &["--dry-run"]);
    assert!(output.contains("+++ b/.claude/CLAUDE.md") && output.contains("nothing was written"), "{output}");
    assert!(init(&place, 2, &[]).contains("no terminal to ask"));
    assert_eq!(names(&place.path("project")), Vec::<String>::new());
}

#[test]
#[cfg(unix)]
fn a_person_at_a_terminal_is_asked() {
    let place = project();
    for (answer, written) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let (mut typing, terminal) = terminal();
        let mut command: Command = place.command(&["init", "--folder", "project", "--preset", "context"]);
        let mut child =
            command.stdin(terminal).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("run");
        typing.write_all(answer.as_bytes()).expect("typed");
        let mut asked = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut asked).expect("read");
        assert!(child.wait().expect("an end").success(), "{asked}");
        assert!(asked.starts_with("Write this? [y/N] "), "{asked}");
        assert_eq!(place.path("project/.claude/CLAUDE.md").exists(), written, "{answer:?}: {asked}");
    }
}

#[test]
fn a_file_that_cannot_be_changed_safely_is_left_alone() {
    let place = project();
    let agents = place.path("project/AGENTS.md");
    let target = ["--yes", "--target", "agents-md"];
    for (content, reason) in [
        ("<!-- gatehouse:end -->\n".as_bytes(), "the markers of its section are broken"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ] {
        fs::write(&agents, content).expect("written");
        let output = init(&place, 1, &target);
        assert!(output.contains("AGENTS.md: ") && output.contains(reason), "{output}");
        assert_eq!(fs::read(&agents).expect("there"), content);
    }
    let rule = place.write("project/.cursor/rules/gatehouse.mdc", "mine\n");
    let output = init(&place, 1, &["--yes", "--target", "cursor"]);
    assert!(output.contains("was not written by `gatehouse init`"), "{output}");
    assert_eq!(fs::read(rule).expect("there"), b"mine\n");

    fs::write(&agents, "mine\n").expect("written");
    let mut mode = fs::metadata(&agents).expect("there").permissions();
    mode.set_readonly(true);
    fs::set_permissions(&agents, mode).expect("set");
    assert!(init(&place, 1, &target).contains("AGENTS.md: is read-only; nothing was written"));
    assert_eq!(fs::read(&agents).expect("there"), b"mine\n");
}

#[test]
#[cfg(unix)]
fn a_link_is_followed_within_the_folder_and_never_out_of_it() {
    use std::os::unix::fs::symlink;
    let place = project();
    let (agents, elsewhere) = (place.path("project/AGENTS.md"), place.write("elsewhere.md", "mine\n"));
    symlink(&elsewhere, &agents).expect("a link");
    let target = ["--yes", "--target", "agents-md"];
    assert!(init(&place, 1, &target).contains("AGENTS.md: leads outside the project"));
    symlink(place.path("nowhere"), place.path("project/.claude")).expect("a link");
    assert!(init(&place, 1, &["--yes"]).contains(".claude/CLAUDE.md: is a broken link"));
    assert_eq!(fs::read(elsewhere).expect("there"), b"mine\n");

    fs::remove_file(&agents).expect("removed");
    place.write("project/CLAUDE.md", "mine\n");
    symlink("CLAUDE.md", &agents).expect("a link");
    init(&place, 0, &target);
    assert!(agents.symlink_metadata().expect("there").is_symlink());
    assert!(read(&place, "CLAUDE.md").contains(BEGIN));
}

#[test]
fn a_skill_says_how_to_go_on_and_is_taken_out_whole() {
    let place = project();
    init(&place, 0, &["--skill", "--yes", "--preset", "full"]);
    let skill = read(&place, ".claude/skills/gatehouse/SKILL.md");
    assert!(
        skill.starts_with("---\nname: gatehouse\ndescription: ") && skill.contains("preset `full`"),
        "{skill}"
    );
    assert!(!skill.contains("get_workspace_file"), "without servers no result is shortened: {skill}");
    assert!(!skill.contains("call_tool"), "a preset without the proxy finds no tools: {skill}");
    init(&place, 0, &["--skill", "--yes", "--preset", "proxy"]);
    let skill = read(&place, ".claude/skills/gatehouse/SKILL.md");
    assert!(skill.contains("- `search_tools` finds tools by task"), "{skill}");
    assert!(skill.contains("- `get_workspace_file` reads a part"), "{skill}");
    assert!(!skill.contains("### Scripts"), "{skill}");
    init(&place, 0, &["--skill", "--yes", "--preset", "code"]);
    let skill = read(&place, ".claude/skills/gatehouse/SKILL.md");
    assert!(
        skill.contains("### Scripts\n\n`run_code` runs TypeScript")
            && skill.contains("`tool_types` declares"),
        "{skill}"
    );
    init(&place, 0, &["--skill", "--undo", "--yes"]);
    assert!(!place.path("project/.claude").exists());
    assert!(init(&place, 2, &["--skill", "--target", "cursor", "--yes"]).contains("cannot be used with"));
}
