//! Rules that every source file must follow.

use super::{between, files, none, read, rust};

/// Words that are banned in some files, and the reason. Each is written in two parts, so that this file does not match.
struct Ban {
    words: &'static [&'static str],
    rule: &'static str,
    /// True for files that the rule applies to.
    among: fn(&str) -> bool,
    /// Exempt files, and folders, which end in `/`; each has a comment with the reason.
    except: &'static [&'static str],
}

const BANS: [Ban; 5] = [
    Ban {
        words: &[concat!("allow(", "unsafe_code"), concat!("expect(", "unsafe_code")],
        rule: "unsafe code is in few modules",
        among: |_| true,
        except: &[
            "host/sandbox/src/machine_code.rs", // maps machine code that this host compiled
            "host/core/src/search/dot.rs",      // vector instructions
            "host/gatehouse/src/allocator.rs",  // a function of the allocator
            "gates/sdk/src/bindings.rs",        // the canonical ABI passes pointers
            "gates/sdk/src/lib.rs",             // `export!` writes that ABI's exports into the gate
            "xtask/src/process.rs",             // children end with their parent
            "tests/fixtures/",                  // a fixture gate is written against the contract alone
        ],
    },
    Ban {
        words: &[concat!("#[", "ignore")],
        rule: "a test runs or does not exist",
        among: |_| true,
        except: &[],
    },
    Ban {
        words: &[concat!("thread::", "sleep"), concat!("time::", "sleep(")],
        rule: "a test waits for what it needs, not for a time",
        among: is_test,
        except: &["tests/fixtures/gates/"], // a guest that sleeps is a vice, which the host has to end
    },
    Ban {
        words: &[concat!("todo", "!("), concat!("unimplemented", "!(")],
        rule: "merged code is complete",
        among: |_| true,
        except: &[],
    },
    Ban {
        words: &[concat!("env::", "var")],
        rule: "the environment is read in one place",
        among: |path| (path.starts_with("host/") || path.starts_with("gates/")) && !is_test(path),
        except: &[
            "host/gatehouse/src/config/env.rs",
            "host/gatehouse/build.rs", // cargo says in it where to write
        ],
    },
];

fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

#[test]
fn banned_words_stand_nowhere() {
    let sources = rust();
    for ban in &BANS {
        let exempt =
            |path: &str| ban.except.iter().any(|e| path == *e || (e.ends_with('/') && path.starts_with(e)));
        let among = sources.iter().filter(|(path, _)| (ban.among)(path) && !exempt(path));
        let found = among.flat_map(|(path, text)| {
            let lines = text.lines().enumerate();
            let wrong = lines.filter(|(_, line)| ban.words.iter().any(|word| line.contains(word)));
            wrong.map(move |(index, line)| format!("{path}:{}: {}", index + 1, line.trim()))
        });
        none(ban.rule, found);
    }
}

#[test]
fn every_exemption_is_needed() {
    let sources = rust();
    let needed = |ban: &Ban, exempt: &str| {
        let mut files = sources.iter().filter(|(path, _)| path.starts_with(exempt));
        files.any(|(_, text)| ban.words.iter().any(|word| text.contains(word)))
    };
    let idle = BANS.iter().flat_map(|ban| ban.except.iter().filter(move |exempt| !needed(ban, exempt)));
    none("remove exemptions that no file needs", idle.map(|exempt| (*exempt).to_owned()));
}

#[test]
fn every_module_says_what_it_is_for() {
    let without = rust().into_iter().filter(|(_, text)| !text.starts_with("//! "));
    none("a file begins with its module doc (`//! …`)", without.map(|(path, _)| path));
}

#[test]
fn files_fit_a_head() {
    let reason = "//! Longer than 300 lines because";
    let long = rust().into_iter().filter(|(_, text)| text.lines().count() > 300);
    let long = long.filter(|(_, text)| !text.lines().any(|line| line.starts_with(reason)));
    let findings = long.map(|(path, text)| format!("{path}: {} lines", text.lines().count()));
    none("at most 300 lines, or a module doc with a line `//! Longer than 300 lines because …`", findings);
}

#[test]
fn every_variable_is_documented() {
    let env = "host/gatehouse/src/config/env.rs";
    let text = read(env);
    let list = between(env, &text, "const VARIABLES", "];");
    let name = |text: &&str| {
        !text.is_empty() && text.chars().all(|c| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    let names: Vec<&str> = list.split('"').skip(1).step_by(2).filter(name).collect();
    assert!(names.contains(&"MCP_PRESET"), "{env}: the list of variables is not where this test looks");
    let mut pages = files("docs", ".md");
    pages.push(("README.md".into(), read("README.md")));
    let is_documented = |name: &str| pages.iter().any(|(_, page)| page.contains(&format!("`{name}`")));
    none("docs/ or README.md names every variable of config/env.rs in backticks", {
        names.iter().filter(|name| !is_documented(name)).map(|name| (*name).to_owned())
    });
}

#[test]
fn the_workplace_is_not_named() {
    let words = [
        concat!("far", "m-"),
        concat!("/wo", "rk/"),
        concat!("shared/", "design"),
        concat!("duplicates", " --"),
        concat!("issues", " show"),
    ];
    let found = files("", "").into_iter().flat_map(|(path, text)| {
        let named = words.iter().filter(|word| text.contains(**word));
        named.map(|word| format!("{path}: '{word}'")).collect::<Vec<_>>()
    });
    none("the repository does not name its author's tools", found);
}
