//! Reads tables as rows: values between commas, semicolons or tabs (RFC 4180), Markdown tables, and columns that are aligned
//! by blanks, as commands print them.
//!
//! A row becomes an object whose keys are the cells of the header, or a list where there is no header; an empty cell is no
//! member. Cells stay where they are in the text. What is not a row of as many cells stands as a string, and is counted.

mod cells;

use super::{
    document::{Id, Kind, Node, Parsed},
    kind::Sample,
    measure,
};
use cells::{Cell, Form};

/// Records of the beginning from which a table is recognised, and how many it needs at least.
const LOOKED_AT: usize = 200;
const MIN_RECORDS: usize = 3;

/// A header has no longer cells, in bytes.
const LONGEST_NAME: usize = 64;

/// Cells of a row at most.
const WIDEST: usize = 256;

/// A text that is a table, as rows.
pub(super) fn read<'a>(text: &'a str, sample: &Sample<'a>) -> Option<Parsed<'a>> {
    let form = Form::ALL.into_iter().find(|form| fits(*form, sample))?;
    let mut builder = Builder::over(text);
    form.records(text, |record, cells| builder.record(form, record, cells));
    builder.finish()
}

/// Whether the records of the beginning have as many cells as the first one, nearly all of them.
fn fits(form: Form, sample: &Sample<'_>) -> bool {
    let head = sample.text;
    let mut widths: Vec<usize> = Vec::new();
    let (mut named, mut measured) = (false, false);
    form.records(head, |_, cells| {
        if widths.is_empty() {
            named = header(head, cells);
            measured = cells.iter().any(|cell| is_measure(&head[cell.clone()]));
        }
        if widths.len() < LOOKED_AT {
            widths.push(form.width(cells.len(), widths.first().copied()));
        }
    });
    // The last record may be cut off by the end of the sample.
    if sample.cut {
        widths.pop();
    }
    let Some(&width) = widths.first() else { return false };
    let same = widths.iter().filter(|w| **w == width).count();
    let wide = if named { form.narrowest() } else { form.narrowest() + 1 };
    (wide..=WIDEST).contains(&width)
        && widths.len() >= MIN_RECORDS
        && same * 20 >= widths.len() * 19
        && (named || measured && !form.needs_header())
}

/// Whether the first record is names: short, different, and no numbers.
fn header(text: &str, cells: &[Cell]) -> bool {
    let names: Vec<&str> = cells.iter().map(|cell| unquoted(&text[cell.clone()])).collect();
    // What a sentence or a line of code has, a name has not.
    let mark = |c: char| matches!(c, '=' | '[' | ']' | '{' | '}' | '"' | ';' | '?' | '!');
    let name = |n: &&str| {
        let plain = !n.is_empty() && n.len() <= LONGEST_NAME && !n.ends_with(['.', ',']) && !n.contains(mark);
        plain && !is_measure(n)
    };
    let different = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    names.iter().all(name) && different
}

fn unquoted(cell: &str) -> &str {
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
}

fn is_measure(cell: &str) -> bool {
    measure::number(cell).or(measure::date(cell)).is_some()
}

struct Builder<'a> {
    text: &'a str,
    nodes: Vec<Node>,
    /// The cells of the header; none before the first record was read, empty where there is no header.
    names: Option<Vec<Cell>>,
    width: usize,
    rows: usize,
    broken: usize,
}

impl<'a> Builder<'a> {
    fn over(text: &'a str) -> Self {
        let mut builder = Self { text, nodes: Vec::new(), names: None, width: 0, rows: 0, broken: 0 };
        builder.push(Kind::Array, 0..text.len(), 0, 0);
        builder
    }

    fn push(&mut self, kind: Kind, at: Cell, parent: Id, index: u32) {
        let id = self.nodes.len() as Id;
        let (start, end) = (at.start as u32, at.end as u32);
        self.nodes.push(Node { kind, start, end, next: id + 1, len: 0, parent, index });
    }

    fn record(&mut self, form: Form, record: Cell, cells: &[Cell]) {
        let Some(names) = self.names.take() else {
            let named = header(self.text, cells);
            self.width = cells.len();
            self.names = Some(if named { cells.to_vec() } else { Vec::new() });
            if !named {
                self.record(form, record, cells);
            }
            return;
        };
        let row = self.nodes.len() as Id;
        let index = self.rows as u32;
        if form.width(cells.len(), Some(self.width)) == self.width {
            let kind = if names.is_empty() { Kind::Array } else { Kind::Object };
            self.push(kind, record.clone(), 0, index);
            self.cells(row, &names, form.merged(cells, self.width, record.end));
        } else {
            self.push(Kind::String, record, 0, index);
            self.broken += 1;
        }
        self.rows += 1;
        self.nodes[0].len += 1;
        self.names = Some(names);
    }

    fn cells(&mut self, row: Id, names: &[Cell], cells: Vec<Cell>) {
        let mut len = 0;
        for (at, cell) in cells.into_iter().enumerate() {
            let text = &self.text[cell.clone()];
            match names.get(at) {
                Some(_) if text.is_empty() => continue,
                Some(name) => self.push(Kind::String, name.clone(), row, len),
                None => {}
            }
            let kind = match text {
                "" => Kind::Null,
                text if measure::number(text).is_some() => Kind::Number,
                _ => Kind::String,
            };
            self.push(kind, cell, row, len);
            len += 1;
        }
        let next = self.nodes.len() as Id;
        let node = &mut self.nodes[row as usize];
        (node.len, node.next) = (len, next);
    }

    fn finish(mut self) -> Option<Parsed<'a>> {
        self.nodes[0].next = self.nodes.len() as Id;
        if self.rows + 1 < MIN_RECORDS || self.broken * 10 > self.rows {
            return None;
        }
        let named = if self.names.is_some_and(|names| names.is_empty()) {
            "without a header"
        } else {
            "with a header"
        };
        let broken = match self.broken {
            0 => String::new(),
            broken => format!("; {broken} lines are no such rows"),
        };
        let note = format!(
            "A table of {} columns {named} and {} rows, `$[0]` the first{broken}",
            self.width, self.rows
        );
        Some(Parsed::of(self.text, self.nodes, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Option<Vec<String>> {
        let sample = Sample::of(text);
        let document = read(text, &sample)?;
        let cells = |row: Id| -> String {
            let cell = |(name, value): (Option<Id>, Id)| {
                format!("{}={}", name.map_or("", |name| document.raw(name)), document.raw(value))
            };
            document.members(row).map(cell).collect::<Vec<_>>().join(" ")
        };
        Some(document.children(Parsed::ROOT).map(cells).collect())
    }

    #[test]
    fn each_form_is_read() {
        let expected = ["name=ant legs=6", "name=bee", "name=cat legs=4"];
        for text in [
            "name,legs\nant,6\nbee,\ncat,4\n",
            "name\tlegs\r\nant\t6\r\nbee\t\r\ncat\t4\r\n",
            "\"name\";\"legs\"\n\"ant\";6\n\"bee\";\n\"cat\";4",
            "| name | legs |\n|:-----|---:|\n| ant | 6 |\n| bee | |\n| cat | 4 |\n",
        ] {
            assert_eq!(rows(text).unwrap(), expected, "{text}");
        }
        let ps = "USER  PID COMMAND\nroot    1 init\nme     22 run --all of it\nme    333 ls\n";
        assert_eq!(rows(ps).unwrap()[1], "USER=me PID=22 COMMAND=run --all of it");
        let docker = "NAME    CREATED AT      STATUS\na       2 days ago      Up\nb c     3 weeks ago     Up 4 days\nd       now             Down\n";
        assert_eq!(rows(docker).unwrap()[1], "NAME=b c CREATED AT=3 weeks ago STATUS=Up 4 days");
        assert_eq!(rows("1,2,3\n4,5,6\n7,8,9\n").unwrap()[2], "=7 =8 =9");
    }

    #[test]
    fn quotes_hold_commas_lines_and_quotes() {
        let text = "a,b\n\"x, y\",\"line\nline\"\n1,\"say \"\"so\"\"\"\n2,3\n";
        assert_eq!(rows(text).unwrap()[..2], ["a=x, y b=line\nline", "a=1 b=say \"\"so\"\""]);
    }

    #[test]
    fn prose_and_code_are_no_tables() {
        for text in [
            "Well, this is prose.\nIt has a comma, here.\nAnd it goes on, so.\n",
            "let a = [1, 2];\nlet b = [3, 4];\nlet c = [5, 6];\n",
            "One word\nTwo words\nAnd some more\n",
            "\"never closed, at all\n a, b\n c, d\n",
            "",
        ] {
            assert_eq!(rows(text), None, "{text}");
        }
    }
}
