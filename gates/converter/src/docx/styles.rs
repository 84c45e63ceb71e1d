//! Styles and numbering of a DOCX document.

use std::collections::HashMap;

use gatehouse_decode::prefix;

use super::{attribute, for_each_tag, number};

/// Maximum length of a chain of styles, which can be a circle.
const MAX_CHAIN: usize = 10;

const MAX_LABEL_BYTES: usize = 60;

pub(super) const MAX_LEVELS: usize = 9;

/// Largest number of a list, as in Word.
const MAX_NUMBER: usize = 32_767;

/// A place in a list: its numbering, and the level in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ListPlace {
    pub(super) numbering: Option<String>,
    pub(super) level: usize,
}

#[derive(Default)]
struct Style {
    based_on: Option<String>,
    /// Heading level by name or outline level. 0 if the style resets it.
    heading: Option<usize>,
    list: Option<ListPlace>,
}

/// Styles by ID. IDs are localized; names are not.
#[derive(Default)]
pub(super) struct Styles(HashMap<String, Style>);

impl Styles {
    pub(super) fn from_xml(xml: &str) -> Result<Self, &'static str> {
        let (mut styles, mut id): (HashMap<String, Style>, _) = (HashMap::new(), String::new());
        for_each_tag(xml, |tag| {
            let name = tag.local_name();
            if name.as_ref() == "style" {
                id = attribute(tag, "styleId").unwrap_or_default();
                styles.insert(id.clone(), Style::default());
            }
            let Some(style) = styles.get_mut(&id) else { return };
            match name.as_ref() {
                "name" => {
                    let name = attribute(tag, "val").unwrap_or_default().to_ascii_lowercase();
                    let level = name.strip_prefix("heading ").and_then(|level| level.parse().ok());
                    style.heading = level.or((name == "title").then_some(1)).or(style.heading);
                }
                "basedOn" => style.based_on = attribute(tag, "val"),
                "outlineLvl" => style.heading = style.heading.or(outline_level(number(tag))),
                "numPr" => style.list = Some(ListPlace::default()),
                "numId" => style.list.get_or_insert_default().numbering = attribute(tag, "val"),
                "ilvl" => {
                    style.list.get_or_insert_default().level = number(tag).unwrap_or(0).min(MAX_LEVELS - 1)
                }
                _ => {}
            }
        })?;
        Ok(Self(styles))
    }

    /// Returns the first value in a style and those that it is based on.
    fn inherited<T>(&self, id: &str, of: impl Fn(&Style) -> Option<T>) -> Option<T> {
        let mut style = self.0.get(id);
        for _ in 0..MAX_CHAIN {
            let current = style?;
            if let Some(value) = of(current) {
                return Some(value);
            }
            style = self.0.get(current.based_on.as_ref()?);
        }
        None
    }

    /// Returns the heading level of a style, 0 for text.
    pub(super) fn heading(&self, id: &str) -> usize {
        self.inherited(id, |style| style.heading).unwrap_or(0)
    }

    pub(super) fn list(&self, id: &str) -> Option<ListPlace> {
        self.inherited(id, |style| style.list.clone())
    }
}

/// Converts an outline level, which counts from 0, into a heading level. Level 9 is text.
pub(super) fn outline_level(level: Option<usize>) -> Option<usize> {
    level.map(|level| if level < MAX_LEVELS { level + 1 } else { 0 })
}

#[derive(Debug, Clone)]
struct ListLevel {
    format: String,
    text: String,
    start: usize,
}

impl Default for ListLevel {
    fn default() -> Self {
        Self { format: "decimal".into(), text: String::new(), start: 1 }
    }
}

#[derive(Default)]
struct ListNumbering {
    definition: String,
    /// Start by level, which takes effect when the numbering is first used.
    starts: HashMap<usize, usize>,
    is_used: bool,
}

/// Numberings of lists, and how far each has counted.
#[derive(Default)]
pub(super) struct ListNumbers {
    definitions: HashMap<String, HashMap<usize, ListLevel>>,
    numberings: HashMap<String, ListNumbering>,
    /// Last numbers of a definition by level, which its numberings share.
    counters: HashMap<String, [Option<usize>; MAX_LEVELS]>,
}

impl ListNumbers {
    pub(super) fn from_xml(xml: &str) -> Result<Self, &'static str> {
        let mut numbers = Self::default();
        let (mut definition, mut numbering, mut level) = (String::new(), None::<String>, 0);
        for_each_tag(xml, |tag| {
            let value = || attribute(tag, "val").unwrap_or_default();
            match tag.local_name().as_ref() {
                "abstractNum" => {
                    (definition, numbering) = (attribute(tag, "abstractNumId").unwrap_or_default(), None);
                }
                "num" => numbering = attribute(tag, "numId"),
                "abstractNumId" => {
                    let of = ListNumbering { definition: value(), ..ListNumbering::default() };
                    numbering.clone().and_then(|id| numbers.numberings.insert(id, of));
                }
                "lvl" | "lvlOverride" => {
                    level = attribute(tag, "ilvl").and_then(|level| level.parse().ok()).unwrap_or(0);
                }
                "startOverride" => {
                    let of = numbering.as_ref().and_then(|id| numbers.numberings.get_mut(id));
                    of.and_then(|of| of.starts.insert(level, number(tag).unwrap_or(1)));
                }
                name @ ("start" | "numFmt" | "lvlText") if numbering.is_none() && level < MAX_LEVELS => {
                    let of =
                        numbers.definitions.entry(definition.clone()).or_default().entry(level).or_default();
                    match name {
                        "start" => of.start = number(tag).unwrap_or(1),
                        "numFmt" => of.format = value(),
                        _ => of.text = prefix(&value(), MAX_LABEL_BYTES).to_owned(),
                    }
                }
                _ => {}
            }
        })?;
        Ok(numbers)
    }

    /// Counts an item and returns its label, `None` for a bullet.
    pub(super) fn label(&mut self, place: &ListPlace) -> Option<String> {
        let numbering = self.numberings.get_mut(place.numbering.as_ref()?)?;
        let levels = self.definitions.get(&numbering.definition)?;
        let counters = self.counters.entry(numbering.definition.clone()).or_default();
        if !std::mem::replace(&mut numbering.is_used, true) {
            for (level, start) in &numbering.starts {
                if let Some(counter) = counters.get_mut(*level) {
                    *counter = start.checked_sub(1);
                }
            }
        }
        let level = levels.get(&place.level)?;
        if matches!(&*level.format, "bullet" | "none") {
            return None;
        }
        let next = counters[place.level].map_or(level.start, |last| last + 1).min(MAX_NUMBER);
        counters[place.level] = Some(next);
        counters[place.level + 1..].fill(None);
        let mut label = level.text.clone();
        for (at, counter) in counters.iter().enumerate() {
            let of = levels.get(&at);
            let count = counter.or(of.map(|of| of.start)).unwrap_or(1).min(MAX_NUMBER);
            label = label
                .replace(&format!("%{}", at + 1), &formatted(count, of.map_or("decimal", |of| &of.format)));
        }
        Some(label).filter(|label| !label.trim().is_empty())
    }
}

fn formatted(number: usize, format: &str) -> String {
    match format {
        "lowerLetter" => letters(number, b'a'),
        "upperLetter" => letters(number, b'A'),
        "lowerRoman" => roman(number).to_lowercase(),
        "upperRoman" => roman(number),
        "decimalZero" => format!("{number:02}"),
        _ => number.to_string(),
    }
}

/// Returns a to z, then aa to zz, as Word counts.
fn letters(number: usize, first: u8) -> String {
    let at = number.saturating_sub(1);
    let letter = char::from(first + u8::try_from(at % 26).unwrap_or(0));
    std::iter::repeat_n(letter, (at / 26 + 1).min(9)).collect()
}

fn roman(mut number: usize) -> String {
    const DIGITS: [(usize, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut out = String::new();
    for (value, digit) in DIGITS {
        while number >= value {
            out.push_str(digit);
            number -= value;
        }
    }
    out
}
