//! Digests a database dump or schema: its tables, the other objects that it creates, and the contents of the rows.

mod dump;
mod lexer;

use super::{
    document::{NodeBuilder, NodeIndex, NodeKind, ParsedDocument},
    fit::DigestSection,
    json,
    kind::{TextKind, TextSample},
    lines::{join, pack_lines, shown},
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
const MAX_LINE_BYTES: usize = 200;

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
    let mut by_size: Vec<&DumpTable> = dump.tables.iter().collect();
    by_size.sort_by_key(|table| std::cmp::Reverse(table.rows.len()));
    let tables: Vec<String> = by_size.iter().map(|table| line(text, table)).collect();
    let mut schema = vec![DigestSection::with_title("Tables (columns) and their rows:", 25, tables)];
    for (at, (.., several)) in OBJECT_KINDS.iter().enumerate() {
        let names = dump.others.iter().filter(|(kind, _)| *kind == at);
        let names = names.map(|(_, name)| shown(&text[name.clone()], 60));
        let names = pack_lines("", names, ", ", MAX_LINE_BYTES);
        let share = if at == 0 { 30 } else { 10 };
        schema.push(DigestSection::with_title(format!("Created {several}:"), share, names));
    }
    let mut sections = match dump.rows() {
        0 => vec![DigestSection::with_lines(Vec::new()), DigestSection::query_matches(40, text, query)],
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
    for (at, (_, singular, plural)) in OBJECT_KINDS.iter().enumerate() {
        match dump.others.iter().filter(|(kind, _)| *kind == at).count() {
            0 => {}
            1 => parts.push(format!("1 {singular}")),
            n => parts.push(format!("{n} {plural}")),
        }
    }
    let mut findings = vec![format!("{}.", parts.join(", "))];
    let mut filled: Vec<&DumpTable> = dump.tables.iter().filter(|table| !table.rows.is_empty()).collect();
    filled.sort_by_key(|table| std::cmp::Reverse(table.rows.len()));
    if filled.len() > 1 {
        let size = |t: &&DumpTable| format!("{} {}", shown(&text[t.name.clone()], 60), t.rows.len());
        let largest_tables = join(filled.iter().take(MAX_FINDING_TABLES).map(size), ", ");
        findings.push(format!("Most rows are in: {largest_tables}."));
    }
    findings
}

/// `name (a, b): 12`
fn line(text: &str, table: &DumpTable) -> String {
    let names = table.rows.first().map_or(&table.columns, |row| match table.columns.len() {
        0 => &row.columns,
        _ => &table.columns,
    });
    let columns = join(names.iter().map(|name| shown(&text[name.clone()], 60)), ", ");
    let columns = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", shown(&columns, MAX_COLUMNS_CHARS)),
    };
    format!("{}{columns}: {}", shown(&text[table.name.clone()], 60), table.rows.len())
}

fn rows<'a>(text: &'a str, dump: &SqlDump) -> ParsedDocument<'a> {
    let mut tree = NodeBuilder::default();
    let root = tree.push(NodeKind::Object, 0..text.len(), 0, 0);
    let filled = dump.tables.iter().filter(|table| !table.rows.is_empty());
    for (index, table) in filled.enumerate() {
        tree.push(NodeKind::String, table.name.clone(), root, index);
        let size = table.rows.iter().map(|row| row.at.len()).sum::<usize>();
        let start = table.rows[0].at.start;
        // Rows of several tables may alternate, so this range only has the right size.
        let list = tree.push(NodeKind::Array, start..(start + size).min(text.len()), root, index);
        for (index, row) in table.rows.iter().enumerate() {
            push_row(&mut tree, row, list, index);
        }
        tree.close(list, table.rows.len());
        tree.close(root, index + 1);
    }
    ParsedDocument::from_nodes(text, tree.nodes, None, None)
}

fn push_row(tree: &mut NodeBuilder, row: &DumpRow, list: NodeIndex, index: usize) {
    let named = row.columns.len() == row.cells.len();
    let kind = if named { NodeKind::Object } else { NodeKind::Array };
    let id = tree.push(kind, row.at.clone(), list, index);
    for (at, cell) in row.cells.iter().enumerate() {
        if named {
            tree.push(NodeKind::String, row.columns[at].clone(), id, at);
        }
        tree.push(cell.kind, cell.at.clone(), id, at);
    }
    tree.close(id, row.cells.len());
}
