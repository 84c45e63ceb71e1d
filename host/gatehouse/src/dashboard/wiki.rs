//! Pages of the knowledge graph and their links: the most linked ones, or the surroundings of one page.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use gatehouse_core::names::quoted;
use gatehouse_stores::{LinkedPage, WikiRoots};

use super::{
    Query, encoded_pair,
    snapshot::Snapshot,
    view::{Cell, Content, Field, Form, Page, Section, escaped},
};
use crate::{compose, plain_error::PlainError};

/// Maximum pages in a drawing, of which each takes about 500 bytes with its links.
const MAX_DRAWN: usize = 60;

/// Maximum rows of a table of problems.
const MAX_ROWS: usize = 50;

/// Maximum characters of a name in a box.
const MAX_NAME: usize = 30;

const BOX: (usize, usize) = (230, 20);
const ROW: usize = 26;
const COLUMN: usize = 340;

pub(super) async fn page(snapshot: &Snapshot, query: &Query) -> Result<Page, PlainError> {
    let composition = &snapshot.composition;
    let chosen = composition.config.knowledge.chosen()?;
    let graph = compose::knowledge(chosen, WikiRoots::Any, &composition.models.embedder)?;
    let pages = graph.linked().await;
    graph.close().await;
    Ok(draw(&pages?, query.get("page")))
}

fn draw(pages: &[LinkedPage], center: &str) -> Page {
    let linked: BTreeSet<&str> = pages.iter().flat_map(targets).collect();
    let is_orphan = |page: &&LinkedPage| page.links.is_empty() && !linked.contains(page.id.as_str());
    let mut drawn: Vec<&LinkedPage> = match center {
        "" => pages.iter().collect(),
        center => {
            let is_near =
                |page: &&LinkedPage| page.id == center || targets(page).any(|target| target == center);
            let from_center: BTreeSet<&str> =
                pages.iter().filter(|page| page.id == center).flat_map(targets).collect();
            pages.iter().filter(|page| is_near(page) || from_center.contains(page.id.as_str())).collect()
        }
    };
    let near = drawn.len();
    drawn.sort_by_key(|page| (page.id != center, std::cmp::Reverse(page.links.len())));
    drawn.truncate(MAX_DRAWN);
    let form = Form {
        action: "/wiki".into(),
        fields: vec![Field::text("page", "Links of a page, such as concepts/name", center)],
        buttons: vec![("", String::new(), "Show".into())],
        ..Form::default()
    };
    let about = match (pages.is_empty(), drawn.len() < near) {
        (true, _) => "There are no pages. Run `gatehouse kg index DIR` to index a wiki.".to_owned(),
        (false, true) => format!(
            "{} of {near} pages, those with the most links. Select one to see what is around it.",
            drawn.len()
        ),
        (false, false) => format!("{near} of {} pages. Select one to see what is around it.", pages.len()),
    };
    let picture = if drawn.is_empty() { Content::Nothing } else { Content::Drawing(picture(&drawn)) };
    let mut sections = vec![
        Section::new("", Content::Form(form)),
        Section::new("Links between pages", picture).about(about),
    ];
    let link = |id: &str| Cell::link(id, format!("/wiki?{}", encoded_pair("page", id)));
    let orphans: Vec<Vec<Cell>> = pages.iter().filter(is_orphan).map(|page| vec![link(&page.id)]).collect();
    let missing = pages.iter().flat_map(|page| {
        page.unresolved
            .iter()
            .map(move |to| vec![link(&page.id), Cell::from(&to.edge), Cell::from(&to.target)])
    });
    let tables = [
        ("Pages without links", &["Page"][..], orphans),
        ("Links to pages that do not exist", &["Page", "Edge", "To"], missing.collect()),
    ];
    for (heading, header, mut rows) in tables {
        let count = rows.len();
        rows.truncate(MAX_ROWS);
        if count > 0 {
            let table = Content::table(heading, header, rows, "");
            sections.push(Section::new(format!("{heading} ({count})"), table));
        }
    }
    Page::new("Wiki", "/wiki", sections)
}

fn targets(page: &LinkedPage) -> impl Iterator<Item = &str> {
    page.links.iter().map(|link| link.target.as_str())
}

/// Draws the pages in a column for each type, with curves for links.
fn picture(pages: &[&LinkedPage]) -> String {
    let mut columns = BTreeMap::<&str, Vec<&LinkedPage>>::new();
    for page in pages {
        columns.entry(page.page_type.as_str()).or_default().push(page);
    }
    let mut places = BTreeMap::new();
    let mut boxes = String::new();
    for (column, (kind, pages)) in columns.iter().enumerate() {
        let x = column * COLUMN + 4;
        let _ = write!(boxes, "<text x=\"{x}\" y=\"16\">{}</text>", escaped(kind));
        for (row, page) in pages.iter().enumerate() {
            let y = row * ROW + 26;
            places.insert(page.id.as_str(), (x, y));
            let name = page.id.split_once('/').map_or(page.id.as_str(), |(_, name)| name).replace('_', " ");
            let tone = if page.unresolved.is_empty() { "" } else { " bad" };
            let _ = write!(
                boxes,
                "<a href=\"/wiki?{}\"><rect class=\"box{tone}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\
                 <text class=\"name\" x=\"{}\" y=\"{}\">{}</text></a>",
                encoded_pair("page", &page.id),
                BOX.0,
                BOX.1,
                x + 8,
                y + 14,
                escaped(&quoted(&name, MAX_NAME)),
            );
        }
    }
    let mut links = String::new();
    for page in pages {
        let Some(&(x1, y1)) = places.get(page.id.as_str()) else { continue };
        let drawn = targets(page).filter(|target| *target != page.id).filter_map(|target| places.get(target));
        for &(x2, y2) in drawn.collect::<BTreeSet<_>>() {
            let (y1, y2) = (y1 + BOX.1 / 2, y2 + BOX.1 / 2);
            let (from, to) = match x1.cmp(&x2) {
                std::cmp::Ordering::Less => (x1 + BOX.0, x2),
                std::cmp::Ordering::Equal => (x1 + BOX.0, x2 + BOX.0),
                std::cmp::Ordering::Greater => (x1, x2 + BOX.0),
            };
            let (bend1, bend2) = if x1 > x2 {
                (from - 40, to + 40)
            } else {
                (from + 50, if x1 == x2 { to + 50 } else { to - 50 })
            };
            let _ = write!(links, "M{from} {y1}C{bend1} {y1} {bend2} {y2} {to} {y2}");
        }
    }
    let rows = columns.values().map(Vec::len).max().unwrap_or_default();
    let (width, height) = (columns.len() * COLUMN, rows * ROW + 40);
    // The page scrolls a wide drawing, so that its texts stay readable.
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Links between pages\"><svg class=\"wide\" \
         viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\"><path class=\"link\" d=\"{links}\"/>{boxes}</svg></div>"
    )
}
