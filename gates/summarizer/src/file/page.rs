//! Pages of a text or a JSON value. JSON stays valid: a page of a list has whole elements, and a page of an object has
//! whole members.

use std::fmt;

use gatehouse_sdk::Fault;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

pub(super) const MAX_PAGE_CHARS: usize = 8_000;

/// The unit of a number, boolean or null.
pub(super) const VALUE: &str = "value";

pub(super) struct ContentPage {
    pub(super) content: String,
    pub(super) unit: &'static str,
    pub(super) next: Option<u64>,
    pub(super) total: u64,
    pub(super) note: Option<String>,
}

/// The origin of a value, for the paths of its elements.
pub(super) enum ValuePath<'a> {
    Pointer(&'a str),
    Jq(&'a str),
}

impl ValuePath<'_> {
    fn element_path(&self, element: &str) -> String {
        match self {
            Self::Pointer(pointer) => {
                let element = element.replace('~', "~0").replace('/', "~1");
                format!("json_pointer {}", quoted(&format!("{pointer}/{element}")))
            }
            Self::Jq(program) => match element.parse::<u64>() {
                Ok(number) => format!("jq {}", quoted(&format!("({program})|.[{number}]"))),
                Err(_) => format!("jq {}", quoted(&format!("({program})|.[{}]", quoted(element)))),
            },
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a page of characters from an offset, up to the end of a line if one is near.
pub(super) fn characters(text: &str, offset: u64) -> ContentPage {
    let total = text.chars().count() as u64;
    let at = |character: u64| {
        let place = usize::try_from(character).unwrap_or(usize::MAX);
        text.char_indices().nth(place).map_or(text.len(), |(at, _)| at)
    };
    let from = at(offset);
    let mut end = at(offset.saturating_add(MAX_PAGE_CHARS as u64));
    let mut next = None;
    if end < text.len() {
        end = from + end_of_line(&text[from..end]);
        next = Some(offset + text[from..end].chars().count() as u64);
    }
    ContentPage { content: text[from..end].to_owned(), unit: "characters", next, total, note: None }
}

/// Returns the end of the last line, or of the page if that would omit more than a quarter.
pub(super) fn end_of_line(page: &str) -> usize {
    page.rfind('\n').map(|at| at + 1).filter(|end| *end > page.len() / 4 * 3).unwrap_or(page.len())
}

pub(super) fn value(json: &str, offset: u64, place: &ValuePath<'_>) -> Result<ContentPage, Fault> {
    let json = without_blanks(json.trim());
    let broken = |e: serde_json::Error| Fault::internal(format!("the host returned invalid JSON: {e}"));
    match json.as_bytes().first() {
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(&json).map_err(broken)?;
            let items = list_elements(elements.into_iter().map(RawValue::get));
            Ok(page_of_elements(&items, "elements", ["[", ",", "]"], offset, place))
        }
        Some(b'{') => {
            let members: ObjectMembers = serde_json::from_str(&json).map_err(broken)?;
            let item = |(name, raw): (String, &RawValue)| {
                let text = format!("{}:{}", quoted(&name), raw.get());
                JsonElement { name, text }
            };
            let items: Vec<JsonElement> = members.0.into_iter().map(item).collect();
            Ok(page_of_elements(&items, "members", ["{", ",", "}"], offset, place))
        }
        Some(b'"') => {
            let text: String = serde_json::from_str(&json).map_err(broken)?;
            let note = Some("The value is a string; this is its text.".into());
            Ok(ContentPage { note, ..characters(&text, offset) })
        }
        _ => Ok(ContentPage { content: json, unit: VALUE, next: None, total: 1, note: None }),
    }
}

pub(super) fn outputs(values: &[String], offset: u64, program: &str) -> ContentPage {
    let items = list_elements(values.iter().map(String::as_str));
    page_of_elements(&items, "values", ["", "\n", ""], offset, &ValuePath::Jq(&format!("[{program}]")))
}

struct JsonElement {
    name: String,
    text: String,
}

fn list_elements<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<JsonElement> {
    let element = |(at, text): (usize, &str)| JsonElement { name: at.to_string(), text: text.to_owned() };
    texts.enumerate().map(element).collect()
}

fn page_of_elements(
    items: &[JsonElement],
    unit: &'static str,
    [open, between, close]: [&str; 3],
    offset: u64,
    place: &ValuePath<'_>,
) -> ContentPage {
    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(items.len());
    let mut used = open.len() + close.len();
    let fitting = items[from..].iter().take_while(|item| {
        used += item.text.chars().count() + between.len();
        used <= MAX_PAGE_CHARS
    });
    let mut end = from + fitting.count();
    let mut note = None;
    let page_items = &items[from..end];
    if let Some(large) = items.get(from).filter(|_| page_items.is_empty()) {
        // An element larger than a page is omitted; the note shows how to read it.
        let (name, length) = (quoted(&large.name), large.text.chars().count());
        let path = place.element_path(&large.name);
        note = Some(format!("Omitted: {name} with {length} characters; use {path}."));
        end += 1;
    }
    let texts: Vec<&str> = page_items.iter().map(|item| item.text.as_str()).collect();
    let content = format!("{open}{}{close}", texts.join(between));
    let next = (end < items.len()).then_some(end as u64);
    ContentPage { content, unit, next, total: items.len() as u64, note }
}

fn without_blanks(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut escaped) = (false, false);
    for c in json.chars() {
        if inside {
            (inside, escaped) = (escaped || c != '"', !escaped && c == '\\');
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            inside = c == '"';
        }
        out.push(c);
    }
    out
}

/// The members of an object in their original order and text.
struct ObjectMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for ObjectMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = ObjectMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(ObjectMembers(members))
            }
        }

        from.deserialize_map(MembersVisitor)
    }
}
