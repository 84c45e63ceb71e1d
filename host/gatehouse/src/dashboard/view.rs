//! Parts of pages. One template renders all of them, so that every text is escaped at one place.

use askama::Template;
use gatehouse_core::names::quoted;

/// Maximum characters of a text in a table, of a long one, and of one with lines.
const MAX_TEXT: usize = 200;
const MAX_LONG_TEXT: usize = 4_000;
const MAX_LINES_TEXT: usize = 24_000;

const NAVIGATION: [(&str, &str); 6] = [
    ("/", "Now"),
    ("/calls", "Calls"),
    ("/tools", "Tools"),
    ("/servers", "Servers"),
    ("/presets", "Presets"),
    ("/wiki", "Wiki"),
];

#[derive(Template, Default)]
#[template(path = "dashboard/page.html")]
pub(super) struct Page {
    pub(super) title: String,
    /// Path of the entry in the navigation.
    pub(super) active: &'static str,
    /// Value that forms must send back.
    pub(super) csrf: String,
    /// Seconds after which the browser loads the page again, if the user follows it, or 0.
    pub(super) refresh: u32,
    pub(super) notices: Vec<String>,
    pub(super) sections: Vec<Section>,
}

impl Page {
    pub(super) fn new(title: impl Into<String>, active: &'static str, sections: Vec<Section>) -> Self {
        Self { title: title.into(), active, sections, ..Self::default() }
    }
}

#[derive(Default)]
pub(super) struct Section {
    /// Target of links on this page, or empty.
    pub(super) id: &'static str,
    pub(super) heading: String,
    pub(super) about: Vec<String>,
    pub(super) content: Content,
    pub(super) links: Vec<Cell>,
}

impl Section {
    pub(super) fn new(heading: impl Into<String>, content: Content) -> Self {
        Self { heading: heading.into(), content, ..Self::default() }
    }

    pub(super) fn about(mut self, text: impl Into<String>) -> Self {
        self.about.push(text.into());
        self
    }
}

#[derive(Default)]
pub(super) enum Content {
    #[default]
    Nothing,
    Facts(Vec<(&'static str, Cell)>),
    Table(Table),
    /// SVG that this host has drawn, with escaped texts.
    Chart(String),
    /// HTML of a wide drawing, with escaped texts.
    Drawing(String),
    Text(String),
    Form(Form),
}

pub(super) struct Table {
    /// Name for screen readers.
    pub(super) label: String,
    pub(super) header: Vec<Cell>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// The form to which the checkboxes of the table belong.
    pub(super) bulk: Option<Form>,
}

impl Content {
    /// Returns a table, or `empty` if it has no rows.
    pub(super) fn table(label: &str, header: &[&str], rows: Vec<Vec<Cell>>, empty: &str) -> Self {
        if rows.is_empty() {
            return Self::Text(empty.to_owned());
        }
        let header = header.iter().map(|name| Cell::from(*name)).collect();
        Self::Table(Table { label: label.to_owned(), header, rows, bulk: None })
    }
}

impl Content {
    /// Adds a form for the checkboxes of a table.
    pub(super) fn with_bulk(mut self, form: Form) -> Self {
        if let Self::Table(table) = &mut self {
            table.bulk = Some(form);
        }
        self
    }
}

/// A text, perhaps as a link, with a form behind it.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) href: Option<String>,
    /// Class of the text: `bad`, `warn` or `quiet`.
    pub(super) tone: &'static str,
    pub(super) form: Option<Form>,
    /// Name and value of a checkbox before the text, which names it.
    pub(super) checkbox: Option<(&'static str, String)>,
}

impl<T: AsRef<str>> From<T> for Cell {
    /// Creates a cell of a text from anywhere: spaces replace hidden characters.
    fn from(text: T) -> Self {
        Self { text: quoted(text.as_ref(), MAX_TEXT), ..Self::default() }
    }
}

impl Cell {
    pub(super) fn long(text: &str) -> Self {
        Self { text: quoted(text, MAX_LONG_TEXT), ..Self::default() }
    }

    /// Creates a cell of a text whose lines stay.
    pub(super) fn lines(text: &str) -> Self {
        let shown: String = text.chars().take(MAX_LINES_TEXT).collect();
        let rest = if shown.len() < text.len() { "\n… (the rest is not shown)" } else { "" };
        let lines: Vec<String> = shown.lines().map(|line| quoted(line, MAX_LINES_TEXT)).collect();
        Self { text: lines.join("\n") + rest, ..Self::default() }
    }

    pub(super) fn link(text: impl AsRef<str>, href: impl Into<String>) -> Self {
        Self { href: Some(href.into()), ..Self::from(text) }
    }

    pub(super) fn number(number: impl ToString) -> Self {
        Self { text: number.to_string(), ..Self::default() }
    }

    pub(super) fn tone(self, tone: &'static str) -> Self {
        Self { tone, ..self }
    }

    /// Adds a checkbox of the bulk form of the table.
    pub(super) fn checkbox(self, name: &'static str, value: String) -> Self {
        Self { checkbox: Some((name, value)), ..self }
    }

    pub(super) fn form(form: Form) -> Self {
        Self { form: Some(form), ..Self::default() }
    }
}

#[derive(Default)]
pub(super) struct Form {
    pub(super) action: String,
    /// False for a search, whose fields are in the address.
    pub(super) posts: bool,
    pub(super) fields: Vec<Field>,
    /// Name, value and label.
    pub(super) buttons: Vec<(&'static str, String, String)>,
}

impl Form {
    /// Creates a form that does something.
    pub(super) fn post(
        action: &str,
        hidden: &[(&str, &str)],
        buttons: &[(&'static str, &str, &str)],
    ) -> Self {
        let field = |(name, value): &(&str, &str)| Field {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            ..Field::default()
        };
        let button = |(name, value, label): &(&'static str, &str, &str)| {
            (*name, (*value).to_owned(), (*label).to_owned())
        };
        Self {
            action: action.to_owned(),
            posts: true,
            fields: hidden.iter().map(field).collect(),
            buttons: buttons.iter().map(button).collect(),
        }
    }
}

/// Escapes a text for SVG.
pub(super) fn escaped(text: &str) -> String {
    let escapes = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
    escapes.iter().fold(text.to_owned(), |text, (letter, escape)| text.replace(letter, escape))
}

#[derive(Default)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) value: String,
    pub(super) kind: FieldKind,
}

#[derive(Default)]
pub(super) enum FieldKind {
    #[default]
    Hidden,
    Text,
    Lines,
    /// A text that the page does not show.
    Secret,
    Switch,
    Choice(Vec<String>),
}

impl Field {
    pub(super) fn text(name: &str, label: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), label: label.to_owned(), value: value.into(), kind: FieldKind::Text }
    }
}
