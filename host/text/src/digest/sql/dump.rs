//! Reads a dump as tables with their rows: the columns of `CREATE TABLE`, and the values of `INSERT` and `COPY`.

use std::{collections::HashMap, ops::Range, rc::Rc};

use super::lexer::{
    DumpCell, MAX_COLUMNS, SqlLexer, SqlToken, cells, inside, is_end, kind, name, name_list, skip, skip_body,
    word,
};
use crate::digest::document::NodeKind;

const MAX_TABLES: usize = 2_000;
const MAX_NAMES: usize = 4_000;

/// Objects other than tables: the keyword, the singular and the plural.
pub(super) const OBJECT_KINDS: [(&str, &str, &str); 9] = [
    ("VIEW", "view", "views"),
    ("INDEX", "index", "indexes"),
    ("TRIGGER", "trigger", "triggers"),
    ("FUNCTION", "function", "functions"),
    ("PROCEDURE", "procedure", "procedures"),
    ("TYPE", "type", "types"),
    ("DOMAIN", "domain", "domains"),
    ("SEQUENCE", "sequence", "sequences"),
    ("SCHEMA", "schema", "schemas"),
];

const CONSTRAINTS: [&str; 10] =
    ["PRIMARY", "FOREIGN", "UNIQUE", "CONSTRAINT", "CHECK", "KEY", "INDEX", "EXCLUDE", "LIKE", "FULLTEXT"];

pub(super) struct DumpRow {
    pub(super) at: Range<usize>,
    pub(super) cells: Vec<DumpCell>,
    pub(super) columns: Rc<Vec<Range<usize>>>,
}

pub(super) struct DumpTable {
    pub(super) name: Range<usize>,
    pub(super) columns: Rc<Vec<Range<usize>>>,
    pub(super) rows: Vec<DumpRow>,
}

#[derive(Default)]
pub(super) struct SqlDump {
    pub(super) tables: Vec<DumpTable>,
    /// Index in [`OBJECT_KINDS`], and the name.
    pub(super) others: Vec<(usize, Range<usize>)>,
    known: HashMap<String, usize>,
}

impl SqlDump {
    pub(super) fn read(text: &str) -> Self {
        let mut dump = Self::default();
        let mut tokens = SqlLexer::new(text);
        while let Some(token) = tokens.next() {
            let word = word(text, &token);
            match word.as_str() {
                "CREATE" => dump.create(&mut tokens),
                "INSERT" | "REPLACE" => dump.insert(&mut tokens),
                "COPY" => dump.copy(&mut tokens),
                _ => skip(&mut tokens, Some(token)),
            }
        }
        dump
    }

    pub(super) fn rows(&self) -> usize {
        self.tables.iter().map(|table| table.rows.len()).sum()
    }

    fn table(&mut self, text: &str, name: Range<usize>) -> Option<usize> {
        let key = text[name.clone()].to_lowercase();
        if let Some(at) = self.known.get(&key) {
            return Some(*at);
        }
        if self.tables.len() >= MAX_TABLES {
            return None;
        }
        self.known.insert(key, self.tables.len());
        self.tables.push(DumpTable { name, columns: Rc::default(), rows: Vec::new() });
        Some(self.tables.len() - 1)
    }

    fn create(&mut self, tokens: &mut SqlLexer<'_>) {
        // Skip modifiers such as `OR REPLACE TEMPORARY`.
        let text = tokens.text;
        for _ in 0..6 {
            let Some(token) = tokens.next() else { return };
            let word = word(text, &token);
            if word == "TABLE" {
                return self.create_table(tokens);
            }
            if let Some(kind) = OBJECT_KINDS.iter().position(|(name, ..)| *name == word) {
                let (name, after) = name(tokens);
                if let Some(name) = name.filter(|_| self.others.len() < MAX_NAMES) {
                    self.others.push((kind, name));
                }
                return if word == "TRIGGER" { skip_body(tokens, after) } else { skip(tokens, after) };
            }
            if is_end(&token) {
                return;
            }
        }
        skip(tokens, None);
    }

    fn create_table(&mut self, tokens: &mut SqlLexer<'_>) {
        let (Some(name), after) = name(tokens) else { return skip(tokens, None) };
        let table = self.table(tokens.text, name);
        if after != Some(SqlToken::Mark(b'(', after.as_ref().map_or(0, |token| token.range().start))) {
            return skip(tokens, after);
        }
        let text = tokens.text;
        let (mut depth, mut first) = (1, true);
        let mut columns = Vec::new();
        for token in tokens.by_ref() {
            match token {
                SqlToken::Mark(b'(', _) => depth += 1,
                SqlToken::Mark(b')', _) => depth -= 1,
                SqlToken::Mark(b',', _) if depth == 1 => {
                    first = true;
                    continue;
                }
                SqlToken::Word(_) | SqlToken::Name(_) if first && columns.len() < MAX_COLUMNS => {
                    let quoted = matches!(token, SqlToken::Name(_));
                    if quoted || !CONSTRAINTS.contains(&word(text, &token).as_str()) {
                        columns.push(inside(token));
                    }
                }
                _ => {}
            }
            first = false;
            if depth == 0 {
                break;
            }
        }
        if let Some(table) = table {
            self.tables[table].columns = Rc::new(columns);
        }
        skip(tokens, None);
    }

    fn insert(&mut self, tokens: &mut SqlLexer<'_>) {
        let text = tokens.text;
        for token in tokens.by_ref().take(4) {
            if word(text, &token) == "INTO" {
                break;
            }
        }
        let (name, mut after) = name(tokens);
        let table = name.and_then(|name| self.table(text, name));
        let Some(table) = table else { return skip(tokens, after) };
        let mut columns = Rc::clone(&self.tables[table].columns);
        if matches!(after, Some(SqlToken::Mark(b'(', _))) {
            columns = Rc::new(name_list(tokens));
            after = tokens.next();
        }
        if after.as_ref().is_none_or(|token| word(text, token) != "VALUES") {
            return skip(tokens, after);
        }
        loop {
            let opened = tokens.next();
            let Some(SqlToken::Mark(b'(', start)) = opened else { return skip(tokens, opened) };
            let (cells, end) = cells(tokens);
            let row = DumpRow { at: start..end, cells, columns: Rc::clone(&columns) };
            self.tables[table].rows.push(row);
            match tokens.next() {
                Some(SqlToken::Mark(b',', _)) => {}
                token => return skip(tokens, token),
            }
        }
    }

    /// Reads `COPY name (columns) FROM stdin;`, then lines of tab-separated values up to `\.`.
    fn copy(&mut self, tokens: &mut SqlLexer<'_>) {
        let text = tokens.text;
        let (name, mut after) = name(tokens);
        let mut columns = Rc::default();
        if matches!(after, Some(SqlToken::Mark(b'(', _))) {
            columns = Rc::new(name_list(tokens));
            after = tokens.next();
        }
        let mut stdin = false;
        while let Some(token) = after.take().or_else(|| tokens.next()) {
            stdin |= word(text, &token) == "STDIN";
            if is_end(&token) {
                break;
            }
        }
        let Some(table) = name.filter(|_| stdin).and_then(|name| self.table(text, name)) else { return };
        loop {
            tokens.skip_line();
            let start = tokens.at;
            let line = text[start..].lines().next().unwrap_or_default();
            if start >= text.len() || line == "\\." {
                return tokens.skip_line();
            }
            let mut at = start;
            let cells = line.split('\t').map(|cell| {
                let range = at..at + cell.len();
                at = range.end + 1;
                let kind = if cell == "\\N" { NodeKind::Null } else { kind(cell) };
                DumpCell { kind, at: range }
            });
            let cells = cells.take(MAX_COLUMNS).collect();
            let row = DumpRow { at: start..start + line.len(), cells, columns: Rc::clone(&columns) };
            self.tables[table].rows.push(row);
        }
    }
}
