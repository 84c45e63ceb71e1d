//! Digests a database dump or schema: its tables, the other objects that it creates, and the contents of the rows.

mod dump;
mod lexer;
mod parts;

use super::{
    document::{DocumentNode, NodeIndex, NodeKind, ParsedDocument},
    fit::DigestSection,
    json,
    kind::{TextKind, TextSample},
    lines::{matching, shown},
};
use dump::{DumpRow, DumpTable, OBJECT_KINDS, SqlDump};

pub(super) const KIND: TextKind = TextKind { name: "SQL", is, sections };

/// First words of a dump, and the statements that identify it.
const FIRST_WORDS: [&str; 14] = [
    "CREATE ", "INSERT ", "BEGIN", "PRAGMA ", "SET ", "DROP ", "ALTER ", "COPY ", "START ", "USE ", "GRANT ",
    "REPLACE ", "COMMENT ", "SELECT ",
];
const DUMP_STATEMENTS: [&str; 4] = ["CREATE ", "INSERT INTO ", "INSERT OR ", "COPY "];

const MIN_STATEMENTS: usize = 3;

const MAX_COLUMNS_CHARS: usize = 400;
const MAX_LINE_CHARS: usize = 200;

const MAX_FINDING_TABLES: usize = 4;

fn is(sample: &TextSample<'_>) -> bool {
    let begins = |line: &str, words: &[&str]| {
        let head = |word: &str| line.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        words.iter().any(|word| head(word))
    };
    let mut comment = false;
    let mut statements = sample.lines.iter().map(|line| line.trim_start()).filter(|line| {
        let inside = comment || line.starts_with("/*");
        comment = inside && !line.contains("*/");
        !inside && !line.is_empty() && !line.starts_with("--")
    });
    let Some(first) = statements.next().filter(|first| begins(first, &FIRST_WORDS)) else { return false };
    let makes = usize::from(begins(first, &DUMP_STATEMENTS))
        + statements.filter(|line| begins(line, &DUMP_STATEMENTS)).count();
    makes >= MIN_STATEMENTS || makes > 0 && sample.cut
}

fn sections(text: &str, query: &str, budget: usize) -> Vec<DigestSection> {
    let dump = SqlDump::read(text);
    let findings = findings(text, &dump);
    let mut told: Vec<&DumpTable> = dump.tables.iter().collect();
    told.sort_by_key(|table| std::cmp::Reverse(table.rows.len()));
    let tables: Vec<String> = told.iter().map(|table| line(text, table)).collect();
    let mut schema = vec![DigestSection::with_title("Tables (columns) and their rows:", 25, tables)];
    for (at, (.., several)) in OBJECT_KINDS.iter().enumerate() {
        let names = dump.others.iter().filter(|(kind, _)| *kind == at);
        let names = pack_lines(names.map(|(_, name)| shown(&text[name.clone()], 60)));
        schema.push(DigestSection::with_title(
            format!("Created {several}:"),
            if at == 0 { 30 } else { 10 },
            names,
        ));
    }
    let mut sections = match dump.rows() {
        0 => vec![
            DigestSection::with_lines(Vec::new()),
            DigestSection::with_title("Lines that match the query:", 40, matching(text, query)),
        ],
        _ => json::sections_of_parts(&rows(text, &dump), query, budget),
    };
    sections[0].lines.splice(0..0, findings);
    sections.splice(1..1, schema);
    sections
}

fn findings(text: &str, dump: &SqlDump) -> Vec<String> {
    let rows = dump.rows();
    let mut parts = match dump.tables.len() {
        0 => Vec::new(),
        1 => vec![format!("1 table with {rows} rows")],
        tables => vec![format!("{tables} tables with {rows} rows")],
    };
    for (at, (_, one, several)) in OBJECT_KINDS.iter().enumerate() {
        match dump.others.iter().filter(|(kind, _)| *kind == at).count() {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{n} {several}")),
        }
    }
    let mut findings = vec![format!("{}.", parts.join(", "))];
    let mut filled: Vec<&DumpTable> = dump.tables.iter().filter(|table| !table.rows.is_empty()).collect();
    filled.sort_by_key(|table| std::cmp::Reverse(table.rows.len()));
    if filled.len() > 1 {
        let most: Vec<String> = filled
            .iter()
            .take(MAX_FINDING_TABLES)
            .map(|t| format!("{} {}", shown(&text[t.name.clone()], 60), t.rows.len()))
            .collect();
        findings.push(format!("Most rows are in: {}.", most.join(", ")));
    }
    findings
}

/// `name (a, b): 12`
fn line(text: &str, table: &DumpTable) -> String {
    let known = table.rows.first().map_or(&table.columns, |row| match table.columns.len() {
        0 => &row.columns,
        _ => &table.columns,
    });
    let columns: Vec<String> = known.iter().map(|name| shown(&text[name.clone()], 60)).collect();
    let columns = match columns.is_empty() {
        true => String::new(),
        false => format!(" ({})", shown(&columns.join(", "), MAX_COLUMNS_CHARS)),
    };
    format!("{}{columns}: {}", shown(&text[table.name.clone()], 60), table.rows.len())
}

fn pack_lines(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() < MAX_LINE_CHARS => {
                line.push_str(", ");
                line.push_str(&name);
            }
            _ => lines.push(name),
        }
    }
    lines
}

fn rows<'a>(text: &'a str, dump: &SqlDump) -> ParsedDocument<'a> {
    let mut tree = NodeBuilder::default();
    let root = tree.push(NodeKind::Object, 0..text.len(), 0, 0);
    let filled = dump.tables.iter().filter(|table| !table.rows.is_empty());
    for (index, table) in (0..).zip(filled) {
        tree.push(NodeKind::String, table.name.clone(), root, index);
        let size = table.rows.iter().map(|row| row.at.len()).sum::<usize>();
        let start = table.rows[0].at.start;
        // Rows of several tables may alternate, so this range only has the right size.
        let list = tree.push(NodeKind::Array, start..(start + size).min(text.len()), root, index);
        for (index, row) in (0..).zip(&table.rows) {
            tree.row(row, list, index);
        }
        tree.close(list, table.rows.len());
        tree.close(root, index as usize + 1);
    }
    let mut parsed = ParsedDocument::from_nodes(text, tree.nodes, String::new());
    parsed.note = None;
    parsed
}

#[derive(Default)]
struct NodeBuilder {
    nodes: Vec<DocumentNode>,
}

impl NodeBuilder {
    fn push(
        &mut self,
        kind: NodeKind,
        at: std::ops::Range<usize>,
        parent: NodeIndex,
        index: u32,
    ) -> NodeIndex {
        let id = self.nodes.len() as NodeIndex;
        let (start, end) = (at.start as u32, at.end as u32);
        self.nodes.push(DocumentNode { kind, start, end, next: id + 1, len: 0, parent, index });
        id
    }

    fn close(&mut self, id: NodeIndex, len: usize) {
        let next = self.nodes.len() as NodeIndex;
        let node = &mut self.nodes[id as usize];
        (node.next, node.len) = (next, len as u32);
    }

    fn row(&mut self, row: &DumpRow, list: NodeIndex, index: u32) {
        let named = row.columns.len() == row.cells.len();
        let kind = if named { NodeKind::Object } else { NodeKind::Array };
        let id = self.push(kind, row.at.clone(), list, index);
        for (at, cell) in row.cells.iter().enumerate() {
            if named {
                self.push(NodeKind::String, row.columns[at].clone(), id, at as u32);
            }
            self.push(cell.kind, cell.at.clone(), id, at as u32);
        }
        self.close(id, row.cells.len());
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_core::ports::TextCompressor as _;

    use crate::{Extractor, digest::digest};

    fn has(text: &str, told: &[&str]) {
        let digest = digest(text, "", 400).unwrap();
        assert_eq!(digest.kind, "SQL");
        for told in told {
            assert!(digest.text.contains(told), "'{told}' is not in\n{}", digest.text);
        }
    }

    fn inserts(n: usize) -> String {
        (0..n)
            .map(|i| format!("INSERT INTO \"ant\" VALUES({i},'it''s ; ant {i}',{});\n", i * 37 % 101))
            .collect()
    }

    #[test]
    fn tables_are_told_with_columns_and_rows() {
        let head = "-- a dump\nCREATE TABLE ant (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'a,b', size INT, UNIQUE (name, size));\n\
             CREATE TABLE IF NOT EXISTS main.bee (legs INT CHECK (legs > 0));\nCREATE UNIQUE INDEX by_name ON ant (name);\n\
             CREATE TRIGGER t AFTER INSERT ON ant BEGIN INSERT INTO bee VALUES (1); DELETE FROM bee; END;\n";
        has(
            &format!("{head}{}", inserts(200)),
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
        has(
            &copy,
            &["1 table with 99 rows, 1 view, 1 index.", "ant (a, b, c): 99", "a: 0 (\"name 0\") to 98"],
        );
        let values: Vec<String> = (0..99).map(|i| format!("({i},'it\\'s {i}',NULL)")).collect();
        let mysql = format!(
            "DROP TABLE x;\nCREATE TABLE `ant` (\n  `a` int,\n  `b` text,\n  `c` int,\n  KEY `k` (`a`)\n) ENGINE=x;\n\
             CREATE TABLE `bee` (`key` int);\nINSERT INTO `ant` VALUES {};\n",
            values.join(",")
        );
        has(&mysql, &["2 tables with 99 rows.", "ant (a, b, c): 99", "bee (key): 0"]);
    }

    #[test]
    fn hostile_dumps_are_bounded() {
        let texts = [
            "CREATE TABLE a (".repeat(20_000),
            format!("{}INSERT INTO a VALUES ('", inserts(900)),
            format!(
                "CREATE TABLE é (\"\u{202e}x\" int);\nCREATE TABLE \"b\nc\" (d int);\n{}$é$ '",
                inserts(900)
            ),
            format!("INSERT INTO a VALUES {};", "(((1,2),".repeat(30_000)),
            format!("{}COPY a FROM stdin;", inserts(900)),
        ];
        for text in texts {
            let digest = Extractor.digest(&text, "a", 300).unwrap();
            assert!(digest.tokens_out <= 300);
            assert!(!digest.text.contains('\u{202e}'), "{}", digest.text);
        }
    }
}
