//! Members with aligned values and indented parts, as `kubectl describe` and `lscpu` print them, and records of such lines,
//! as `apt-cache show` and `/proc/cpuinfo` have them.

use std::collections::{HashMap, HashSet};

use super::{JsonForm, TextSample, array, object, string, value};

const MIN_MEMBERS: usize = 8;
const MIN_RECORDS: usize = 3;
const MIN_RECORD_MEMBERS: usize = 4;
const MAX_KEY_BYTES: usize = 60;

/// Words of the first value of a record, which is a name.
const MAX_NAME_WORDS: usize = 3;

const LEVELS: [&str; 9] =
    ["trace", "debug", "info", "notice", "warn", "warning", "error", "fatal", "critical"];
const MAX_DEPTH: usize = 40;

/// Key of the text beside a member's name that also has members of its own.
const OWN_VALUE: &str = "value";

/// Reads a text as members. A repeated first key begins the next record.
pub(super) fn read(text: &str, sample: &TextSample<'_>) -> Option<JsonForm> {
    let first = is_description(sample)?;
    let mut reader = DescriptionReader::default();
    let mut records: Vec<Member<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if member(line).is_some_and(|(key, _)| key == first) && !line.starts_with([' ', '\t']) {
            records.extend(reader.finish());
        }
        reader.line(line);
    }
    records.extend(reader.finish());
    let many = records.len();
    let mut json: Vec<String> = records.iter().map(Member::to_json).collect();
    let (json, note) = match many {
        1 => (json.pop()?, "Members by indentation".to_owned()),
        _ => (array(json), format!("{many} records that start with {first:?}, starting with `$[0]`")),
    };
    Some(JsonForm { kind: "records", json, note })
}

/// Returns the first key of a text whose lines are members, aligned or in records, with their parts.
fn is_description<'a>(sample: &TextSample<'a>) -> Option<&'a str> {
    let mut lines = sample.lines.iter().filter(|line| !line.trim().is_empty());
    let (first, value) = member(lines.next()?).filter(|(key, _)| key.starts_with(char::is_alphabetic))?;
    // Logs begin so, too.
    if LEVELS.iter().any(|level| first.eq_ignore_ascii_case(level)) {
        return None;
    }
    let says = |value: &str| usize::from(value.split_whitespace().count() > MAX_NAME_WORDS);
    let (mut sentences, mut repeated, mut keys) = (says(value), 0, HashSet::from([first]));
    let (mut members, mut nested, mut aligned, mut others, mut records) = (1, 0, 0, 0, 1);
    for line in lines {
        let is_nested = line.starts_with([' ', '\t']);
        match member(line) {
            None => others += usize::from(!is_nested),
            Some((key, value)) => {
                members += 1;
                nested += usize::from(is_nested);
                let is_first = !is_nested && key == first;
                records += usize::from(is_first);
                if is_first {
                    keys.clear();
                    sentences += says(value);
                }
                // In a record, a key that repeats is the name of somebody who talks, or a level.
                repeated += usize::from(!is_nested && !keys.insert(key));
                let after_key = &line.trim_start()[key.len()..];
                aligned += usize::from(value.starts_with("  ") || after_key.starts_with([' ', '\t']));
            }
        }
    }
    let is_list = repeated * 20 <= members
        && records >= MIN_RECORDS
        && members >= records * MIN_RECORD_MEMBERS
        && sentences * 2 <= records;
    let fits = aligned * 2 >= members && nested > 0 || is_list;
    (members >= MIN_MEMBERS && others * 20 <= members && fits).then_some(first)
}

/// Splits a line into a key and the text after the colon.
fn member(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim_start().split_once(':')?;
    let key = key.trim_end();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '(' | ')');
    let is_key = (1..=MAX_KEY_BYTES).contains(&key.len()) && key.chars().all(plain) && !key.contains("  ");
    (is_key && (value.is_empty() || value.starts_with([' ', '\t']))).then_some((key, value))
}

/// A member with its text and its parts.
#[derive(Default)]
struct Member<'a> {
    key: &'a str,
    indent: usize,
    lines: Vec<&'a str>,
    members: Vec<Member<'a>>,
}

impl Member<'_> {
    fn to_json(&self) -> String {
        let text = || match &self.lines[..] {
            [] => "null".to_owned(),
            [line] => value(line),
            lines => array(lines.iter().map(|line| string(line))),
        };
        if self.members.is_empty() {
            return text();
        }
        let own_value = (!self.lines.is_empty()).then(|| (OWN_VALUE, vec![text()]));
        let mut values: Vec<(&str, Vec<String>)> = own_value.into_iter().collect();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for member in &self.members {
            let place = *places.entry(member.key).or_insert(values.len());
            match values.get_mut(place) {
                Some((_, of_key)) => of_key.push(member.to_json()),
                None => values.push((member.key, vec![member.to_json()])),
            }
        }
        object(values.into_iter().map(|(key, mut of_key)| match of_key.len() {
            1 => (key, of_key.swap_remove(0)),
            _ => (key, array(of_key)),
        }))
    }
}

/// Reads lines into members by their indentation.
#[derive(Default)]
struct DescriptionReader<'a> {
    /// The record and the open member of each level.
    open: Vec<Member<'a>>,
}

impl<'a> DescriptionReader<'a> {
    fn line(&mut self, line: &'a str) {
        let indent = line.len() - line.trim_start().len();
        if self.open.is_empty() {
            self.open.push(Member::default());
        }
        while self.open.len() > 1 && self.open.last().is_some_and(|open| open.indent >= indent) {
            self.close();
        }
        match member(line).filter(|_| self.open.len() < MAX_DEPTH) {
            Some((key, text)) => {
                let lines = Some(text.trim()).filter(|text| !text.is_empty()).into_iter().collect();
                self.open.push(Member { key, indent, lines, members: Vec::new() });
            }
            None => self.open.last_mut().into_iter().for_each(|open| open.lines.push(line.trim())),
        }
    }

    fn close(&mut self) {
        let Some(member) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(parent) => parent.members.push(member),
            None => self.open.push(member),
        }
    }

    fn finish(&mut self) -> Option<Member<'a>> {
        while self.open.len() > 1 {
            self.close();
        }
        self.open.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Option<String> {
        read(text, &TextSample::from_text(text)).map(|form| form.json)
    }

    #[test]
    fn members_have_their_parts_by_indentation() {
        let text = "Name:         web-1\nLabels:       app=web\n              tier=front\nAnnotations:  a.io/b: true\nStatus:       Running\n\
                    Containers:\n  web:\n    State:    Waiting\n      Reason: CrashLoopBackOff\n    Port:     8080\nEvents:\n  Type     Reason\n  \
                    Warning  BackOff  Back-off: again\n\nName:         web-2\nStatus:       Failed\n";
        assert_eq!(
            json(text).unwrap(),
            "[{\"Name\":\"web-1\",\"Labels\":[\"app=web\",\"tier=front\"],\"Annotations\":\"a.io/b: true\",\"Status\":\"Running\",\
             \"Containers\":{\"web\":{\"State\":{\"value\":\"Waiting\",\"Reason\":\"CrashLoopBackOff\"},\"Port\":8080}},\
             \"Events\":[\"Type     Reason\",\"Warning  BackOff  Back-off: again\"]},{\"Name\":\"web-2\",\"Status\":\"Failed\"}]"
        );
        let cores = "processor\t: 0\nmodel name\t: X\nMHz\t: 1.50\nflags\t:\n\n".repeat(3);
        let core = "{\"processor\":0,\"model name\":\"X\",\"MHz\":1.50,\"flags\":null}";
        assert_eq!(json(&cores).unwrap(), format!("[{core},{core},{core}]"));
    }

    #[test]
    fn equal_keys_are_a_list_and_talk_is_no_record() {
        let text = "Host:    a\nPort:    1\nPort:    2\nUser:    b\nPath:    /\n  Deep:  1\nMode:    x\nKind:    y\nSize:    3\n";
        assert!(json(text).unwrap().contains("\"Port\":[1,2]"));
        let log = "INFO: start\nDEBUG: a\nWARN: b\nERROR: disk full\n".repeat(4);
        let four = "Ann: did it work again?\nBob: no\nCat: yes\nDan: perhaps\n".repeat(4);
        let talk = "Ann: did it work?\nBob: no, it failed\nAnn: why: the disk?\nBob: yes\n".repeat(9);
        let mail = "From: a@example.org\nTo: b@example.org\n\nDear all,\nplease note: no.\nBest\n".repeat(4);
        for text in [talk, mail, log, four] {
            assert_eq!(json(&text), None, "{text}");
        }
        let mut deep = "Name:  a\n".repeat(9);
        for n in 0..5_000 {
            deep += &format!("{}k:  1\n", " ".repeat(n));
        }
        assert!(json(&deep).unwrap().len() > 1_000, "levels are bounded");
    }
}
