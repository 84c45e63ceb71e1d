//! Digests of each kind of text: the facts that they show, and hostile texts.
//! Longer than 300 lines because each kind has its texts next to the expected parts.

#![allow(clippy::unwrap_used)]

use gatehouse_core::ports::text::DocumentDigest;

use crate::digest::digest;

/// Digests a text, and checks its kind and that each of the parts is in the digest.
fn check_digest(text: &str, query: &str, budget: u32, kind: &str, parts: &[&str]) -> DocumentDigest {
    let digest = digest(text, query, budget).unwrap();
    assert_eq!(digest.kind, kind);
    for part in parts {
        assert!(digest.text.contains(part), "'{part}' is not in\n{}", digest.text);
    }
    digest
}

/// Checks that digests of hostile texts stay in the budget.
fn check_budget(texts: &[String], query: &str, budget: u32, kind: Option<&str>) -> Vec<DocumentDigest> {
    let check = |text: &String| {
        let digest = digest(text, query, budget).unwrap();
        assert!(kind.is_none_or(|kind| digest.kind == kind), "{}", digest.kind);
        assert!(digest.tokens_out <= budget);
        digest
    };
    texts.iter().map(check).collect()
}

/// Checks that digests of hostile texts stay in the budget and show no control characters.
fn check_bounded(texts: &[String], query: &str, budget: u32, kind: Option<&str>) {
    for digest in check_budget(texts, query, budget, kind) {
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!digest.text.contains(hidden), "{}", digest.text);
    }
}

#[test]
fn definitions_of_code_are_listed_with_lines_and_comments() {
    let mut text = String::from(
        "\"\"\"Does things with numbers.\n\nAnd more.\n\"\"\"\nimport os\n\nclass Thing(object):\n    \"\"\"A thing.\"\"\"\n\n    def first(self):\n        return 1\n\n    def second(self):\n        \"\"\"Gives two.\"\"\"\n        return (\n            2\n        )\n\n",
    );
    text += &(0..60).map(|n| format!("def function_{n}(x):\n    return x + {n}\n\n")).collect::<String>();
    let parts = [
        "define def 62, class 1",
        "First comment: Does things with numbers.",
        "second (lines 13-17)",
        "class Thing 7; def function_0 19, function_1 22",
        "in class Thing: def first 10, second 13",
        "second (13): Gives two.",
        "Thing (7): A thing.",
    ];
    check_digest(&text, "", 700, "code", &parts);
}

#[test]
fn hostile_code_is_bounded() {
    let texts = [
        (0..20_000).map(|n| format!("fn f{n}() {{\n")).collect(),
        (0..3_000).map(|n| format!("{}def f{n}(x):\n", " ".repeat(n))).collect::<String>(),
        format!("fn a() {{\nfn b() {{\nfn c() {{\nfn {}(", "é".repeat(1 << 20)),
        "fn \u{202e}x\u{1b}[31m() {\n/// \u{7}bell\nfn y() {\n}\n}\n".repeat(400),
        "/*\n".repeat(5_000) + "fn a() {\n}\n",
    ];
    check_bounded(&texts, "f77", 300, None);
}

const DIFF: &str = "commit 1234\n\n    Say why\n\ndiff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
@@ -1,3 +1,5 @@ impl Thing\n kept\n-pub fn old_name() {}\n+pub fn new_name() {}\n+--- not a head\n++++ not a head\n kept\n\
diff --git a/b.txt b/c.txt\nsimilarity index 90%\nrename from b.txt\nrename to c.txt\n\
diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+class Added:\n\\ No newline at end of file\n";

#[test]
fn files_lines_and_names_of_a_diff_are_listed() {
    let text = DIFF.to_owned()
        + &format!("diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -0,0 +1,400 @@\n{}", "+x y z\n".repeat(400));
    let parts = [
        "4 files changed: 404 lines added, 1 removed.",
        "src/a.rs +3 -1",
        "c.txt +0 -0 from b.txt",
        "new.py +1 -0 new",
        "src/a.rs: new_name",
        "src/a.rs: old_name",
        "new.py: Added",
        "line 9: src/a.rs: impl Thing",
        "Say why",
    ];
    check_digest(&text, "", 300, "diff", &parts);
}

#[test]
fn hostile_diffs_are_bounded() {
    let texts = [
        (0..10_000)
            .map(|n| {
                format!("diff --git a/{n} b/{n}\n--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@ p{n}\n-a\n+fn f{n}() {{\n")
            })
            .collect(),
        format!("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+{}", "é".repeat(1 << 20)),
        "--- a\n+++ b\n@@ -99999999999999999999,1 +1 @@\n@@ -1,18446744073709551615 +1,9 @@\n".repeat(500),
        "diff --git a/\u{1b}[31m\u{202e}x b/\u{1b}[31m\u{202e}x\nindex 1..2\n@@ -1 +1 @@ \u{7}\n".repeat(300),
    ];
    check_bounded(&texts, "p77", 300, Some("diff"));
}

#[test]
fn pages_are_shown_by_headings_and_sentences() {
    let mut html = String::from("<!doctype html>\n<html><head><title>Pumps</title></head><body>");
    for n in 0..40 {
        html += &format!(
            "<h2 class=\"x\">Part <code>{n}</code></h2><p>It wears out after {n}00 hours of use each day.</p>"
        );
    }
    let parts = ["The page title is: Pumps.", "40 of level 2", "Part 12", "after 700 hours"];
    check_digest(&html, "part 7", 400, "HTML", &parts);
}

#[test]
fn hostile_pages_are_bounded() {
    let texts = [
        format!("<html>{}", "<".repeat(1 << 19)),
        format!("<html>{}", "<script>".repeat(50_000)),
        format!("<html>{}", "<a \"".repeat(50_000)),
        format!("<html>{}", "&#x".repeat(50_000)),
        format!("<html><h1>{}", "&#27;[31m\u{1b}[0m\u{202e} </h1><h1>".repeat(5_000)),
        format!("<html>{}", "</scrip<!--".repeat(50_000)),
    ];
    check_budget(&texts, "", 200, None);
}

#[test]
fn paths_are_counted_by_directory_and_extension() {
    let text: String = (0..200)
        .map(|n| format!("src/part{}/file{n}.{}\n", n % 4, if n % 10 == 0 { "md" } else { "rs" }))
        .collect();
    check_digest(
        &(text + "src/Makefile\n"),
        "",
        300,
        "listing",
        &[
            "201 entries in 5 directories, at most 2 deep",
            ".rs 180, .md 20, none 1",
            "src/part0 50, src/part1 50",
        ],
    );
}

#[test]
fn long_listings_show_sizes_and_links() {
    let mut text = String::from("total 12\n");
    text += &(0..100)
        .map(|n| format!("-rwxr-xr-x 1 root root  {} 2026-01-02 10:00 tool {n}\n", 100 + n * 37 % 101))
        .collect::<String>();
    text += "lrwxrwxrwx 1 root root 7 2026-01-02 10:00 cc -> gcc-12\n-rw-r--r-- 1 root root 99999 Jan  2  2026 big.bin\n";
    check_digest(
        &text,
        "",
        300,
        "listing",
        &[
            "files 101, links 1",
            "The largest is big.bin with 99999",
            "99999 big.bin (line 103)",
            "cc -> gcc-12",
        ],
    );
}

#[test]
fn hostile_listings_are_bounded() {
    let texts = [
        (0..20_000).map(|n| format!("d{n}/e{n}.x{n}\n")).collect(),
        format!("a/b\n{}", format!("a/{}\n", "é/".repeat(2_000)).repeat(200)),
        "18446744073709551615\ta/\u{1b}[31m\u{202e}b\n".repeat(2_000),
    ];
    check_bounded(&texts, "d77", 300, None);
}

fn log() -> String {
    let mut text = String::new();
    for n in 0..600 {
        let level = if n % 100 == 7 { "ERROR" } else { "INFO" };
        let what = if n % 100 == 7 {
            format!("disk {n} failed: no space")
        } else {
            format!("job {n} done in {}ms", n * 7 % 401)
        };
        text += &format!("2026-03-{:02} 10:00:{:02} {level} {what}\n", 4 + n / 400, n % 60);
    }
    text
}

#[test]
fn levels_times_and_templates_of_a_log_are_counted() {
    let parts = [
        "600 lines, from 2026-03-04 10:00:00 to 2026-03-05 10:00:59",
        "info 594, error 6",
        "Lines by day: 2026-03-04 400, 2026-03-05 200",
        "594 × INFO job … done in … (max 400ms: line ",
        "6 lines have a word or level of failure; line 8: 2026-03-04 10:00:07 ERROR disk 7 failed: no space",
    ];
    check_digest(&log(), "", 400, "log", &parts);
}

#[test]
fn log_lines_that_match_are_shown_with_their_numbers() {
    let digest = digest(&log(), "what happened to disk 107?", 500).unwrap();
    assert!(digest.text.contains("108: 2026-03-04 10:00:47 ERROR disk 107 failed"), "{}", digest.text);
}

#[test]
fn lines_of_few_templates_are_shown_by_template() {
    let text: String = (0..80).map(|n| format!("   Compiling crate-{n} v0.{n}.0\n")).collect();
    let digest = digest(&(text + "    Finished in 3s\n"), "", 120).unwrap();
    assert_eq!(digest.kind, "lines");
    assert!(digest.text.contains("80 × Compiling …"), "{}", digest.text);
}

#[test]
fn prose_and_code_with_the_words_of_an_outcome_are_no_output() {
    let prose = "The build finished late, and all of its tests completed successfully.\n".repeat(60);
    assert_ne!(digest(&prose, "", 200).unwrap().kind, "output");
    let code = "fn a() {\n    check(\"1 failed, 2 passed\");\n}\n".repeat(60);
    assert_eq!(digest(&code, "", 200).unwrap().kind, "code");
    let output = "step done\n".repeat(30) + &"working on a part\n".repeat(200) + "1 failed, 2 passed\n";
    assert_eq!(digest(&output, "", 200).unwrap().kind, "output");
}

#[test]
fn hostile_logs_are_bounded() {
    let line = |n: usize| format!("2026-01-01 00:00:00 {n:x}a{n} b{n}\u{1b}[31m \u{202e}{n}\n");
    let texts = [
        (0..40_000).map(line).collect::<String>(),
        format!("2026-01-01 00:00:00 x\n2026-01-01 00:00:00 x\n2026-01-01 00:00:00 {}", "y ".repeat(1 << 20)),
        "Traceback (most recent call last):\n".repeat(50_000),
        (0..50_000).map(|n| format!("E{n}Error: x{n}\n")).collect(),
        "2026-01-01 00:00:00 \u{0}\u{7}\n".repeat(1_000),
    ];
    check_bounded(&texts, "b77 x error", 300, None);
}

#[test]
fn markdown_shows_headings_with_lines_and_sentences() {
    let mut text = String::from("# Pumps\n\nHow pumps stay in service.\n\n");
    for n in 1..=30 {
        text += &format!(
            "## Part {n}\n\nThe part {n} of the pump wears out after {n}00 hours. {}\n\n",
            "It is oiled every day by hand. ".repeat(6)
        );
    }
    text += "## Seals\n\nThe seal is made of cork.\n";
    let parts =
        ["32 headings: 1 of level 1, 31 of level 2", "Pumps (1)", "  Part 12 (49)", "seal is made of cork"];
    let digest = check_digest(&text, "what is the seal made of?", 700, "Markdown", &parts);
    assert!(digest.tokens_out > 450, "{}", digest.tokens_out);
}

#[test]
fn hostile_headings_are_bounded() {
    let texts = [
        (0..5_000).map(|n| format!("# H{n}\ntext\n")).collect::<String>(),
        format!("# a\n## b\n{}", "w ".repeat(1 << 18)),
        "# \u{1b}[31m\u{202e}x\n## y\n".repeat(500),
    ];
    check_budget(&texts, "", 300, Some("Markdown"));
}

#[test]
fn sections_of_settings_show_keys_and_values() {
    let comment = format!("# {}\n", "the purpose of this, and its other uses. ".repeat(100));
    let text = format!(
        "home = /srv\n{comment}[ net ]\nport=80 \nhosts = [\n  \"a\", # one\n  \"b\",\n]\n[log]\n; x = 1\nlevel = \"warn\"\nfile = a.log\nsize = 10\n"
    );
    check_digest(
        &text,
        "",
        300,
        "settings",
        &[
            "6 settings in 2 sections.",
            "home = /srv",
            "[net] port = 80; hosts = [ \"a\", # one \"b\", ]",
            "[log] level = \"warn\"; file = a.log; size = 10",
        ],
    );
}

#[test]
fn repeated_sections_of_settings_are_rows() {
    let text: String =
        (0..90).map(|n| format!("[[package]]\nname = \"p{n}\"\nsize = {}\n\n", n * 7 % 31)).collect();
    check_digest(
        &text,
        "",
        300,
        "settings",
        &["The section package occurs 90 times.", "named by name", "size: 0 (\"p0\") to 30"],
    );
}

#[test]
fn settings_with_dots_are_grouped_by_the_first_word() {
    let text: String = (0..200).map(|n| format!("{}.a.k{n} = {n}\n", ["fs", "net"][n % 2])).collect();
    check_digest(
        &text,
        "",
        300,
        "settings",
        &["200 settings in 0 sections.", "fs.* 100, net.* 100", "fs.* fs.a.k0 = 0; fs.a.k2 = 2"],
    );
}

#[test]
fn code_is_not_settings_and_hostile_settings_are_bounded() {
    let code = "let a = 1;\nlet b = f(2);\nx == y\nfn f() {\n}\n".repeat(200);
    assert_ne!(digest(&code, "", 300).unwrap().kind, "settings");
    let texts = [
        "[".repeat(50_000),
        format!("{}a = [{}", "k = v\n".repeat(900), "[".repeat(9_000)),
        (0..9_000).map(|n| format!("[s{n}]\nk{n} = \u{202e}é\\\n")).collect(),
        format!("{}\u{feff}é[", "[[é]]\né = \"é\n".repeat(9_00)),
    ];
    check_bounded(&texts, "k7", 300, None);
}

fn inserts(n: usize) -> String {
    (0..n).map(|i| format!("INSERT INTO \"ant\" VALUES({i},'it''s ; ant {i}',{});\n", i * 37 % 101)).collect()
}

#[test]
fn dumps_show_tables_with_columns_and_rows() {
    let head = "-- a dump\nCREATE TABLE ant (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'a,b', size INT, UNIQUE (name, size));\n\
             CREATE TABLE IF NOT EXISTS main.bee (legs INT CHECK (legs > 0));\nCREATE UNIQUE INDEX by_name ON ant (name);\n\
             CREATE TRIGGER t AFTER INSERT ON ant BEGIN INSERT INTO bee VALUES (1); DELETE FROM bee; END;\n";
    check_digest(
        &format!("{head}{}", inserts(200)),
        "",
        400,
        "SQL",
        &[
            "2 tables with 200 rows, 1 index, 1 trigger.",
            "ant (id, name, size): 200",
            "bee (legs): 0",
            "size: 0 (\"it''s ; ant 0\") to 100",
            "Created indexes:\nby_name",
        ],
    );
}

#[test]
fn rows_of_postgres_and_mysql_are_read() {
    let rows: String = (0..99).map(|i| format!("{i}\tname {i}\t\\N\n")).collect();
    let copy = format!(
        "SET x = 1;\nCREATE TABLE public.ant (a int, b text, c text);\nCREATE VIEW v AS SELECT 1;\n\
             COPY public.ant (a, b, c) FROM stdin;\n{rows}\\.\n\nCREATE INDEX i ON ant (a);\n"
    );
    check_digest(
        &copy,
        "",
        400,
        "SQL",
        &["1 table with 99 rows, 1 view, 1 index.", "ant (a, b, c): 99", "a: 0 (\"name 0\") to 98"],
    );
    let values: Vec<String> = (0..99).map(|i| format!("({i},'it\\'s {i}',NULL)")).collect();
    let mysql = format!(
        "DROP TABLE x;\nCREATE TABLE `ant` (\n  `a` int,\n  `b` text,\n  `c` int,\n  KEY `k` (`a`)\n) ENGINE=x;\n\
             CREATE TABLE `bee` (`key` int);\nINSERT INTO `ant` VALUES {};\n",
        values.join(",")
    );
    check_digest(&mysql, "", 400, "SQL", &["2 tables with 99 rows.", "ant (a, b, c): 99", "bee (key): 0"]);
}

#[test]
fn hostile_dumps_are_bounded() {
    let texts = [
        "CREATE TABLE a (".repeat(20_000),
        format!("{}INSERT INTO a VALUES ('", inserts(900)),
        format!("CREATE TABLE é (\"\u{202e}x\" int);\nCREATE TABLE \"b\nc\" (d int);\n{}$é$ '", inserts(900)),
        format!("INSERT INTO a VALUES {};", "(((1,2),".repeat(30_000)),
        format!("{}COPY a FROM stdin;", inserts(900)),
    ];
    check_bounded(&texts, "a", 300, None);
}

#[test]
fn comments_of_a_settings_file_are_no_headings() {
    let services: String =
        (1..80).map(|port| format!("service{port}\t{port}/tcp\t\t# alias {port}\n")).collect();
    let text = format!(
        "# Network services, Internet style\n#\n# Updated from the list of the IANA.\n\n{services}\n# Local services\n# of this site\n"
    );
    assert_ne!(digest(&text, "", 1_000).unwrap().kind, "Markdown");
    let page =
        "# Guide\n\nSome text about it that is long enough.\n\n# Install\n\nRun this.\n\n# Use\n\nCall it.\n"
            .repeat(20);
    assert_eq!(digest(&page, "", 1_000).unwrap().kind, "Markdown");
}

#[test]
fn places_in_files_are_no_times() {
    let lint: String = (10..60)
        .map(|n| format!("/src/app/file{n}.js\n  {n}:12  error    'x{n}' is not defined    no-undef\n  {n}:40  warning  Unexpected console  no-console\n"))
        .collect();
    let text = digest(&lint, "", 1_000).unwrap().text;
    assert!(!text.contains(" to 59:") && !text.contains("from 10:"), "{text}");
}
