//! Feeds (RSS, Atom), as a row for each item.

use quick_xml::{
    Reader, XmlVersion,
    escape::unescape,
    events::{BytesStart, Event},
};

use super::{JsonForm, TextSample, array, object, string};

/// Maximum elements of an item.
const MAX_ELEMENTS: usize = 200;

/// Elements of an item, and what they say.
type FeedItem = Vec<(String, String)>;

/// Reads a text as a feed. Each item is an object of its elements, with their text or the address that they link to.
pub(super) fn read(text: &str, sample: &TextSample<'_>) -> Option<JsonForm> {
    let head = sample.text.trim_start_matches('\u{feff}').trim_start();
    if !head.starts_with('<') || !is_feed(head) {
        return None;
    }
    let items = items(text)?;
    let name = if head.contains("<entry") { "entry" } else { "item" };
    let note = format!("A feed with {} elements `{name}`, starting with `$[0]`", items.len());
    let rows = items.iter().map(item_json);
    (!items.is_empty()).then(|| JsonForm { kind: "feed", json: array(rows), note })
}

/// Returns whether the first element is that of a feed.
fn is_feed(head: &str) -> bool {
    let mut reader = Reader::from_str(head);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => return matches!(tag.name().as_ref(), "rss" | "feed" | "rdf:RDF"),
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}

fn items(text: &str) -> Option<Vec<FeedItem>> {
    let mut reader = Reader::from_str(text);
    let (mut items, mut item) = (Vec::new(), None::<FeedItem>);
    // Open elements within the item.
    let mut depth = 0_usize;
    loop {
        let event = reader.read_event().ok()?;
        let Some(open) = &mut item else {
            match event {
                Event::Start(tag) if matches!(tag.local_name().as_ref(), "item" | "entry") => {
                    (item, depth) = (Some(Vec::new()), 0);
                }
                Event::Eof => return Some(items),
                _ => {}
            }
            continue;
        };
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    open.push(element(&tag));
                }
                if open.len() > MAX_ELEMENTS {
                    return None;
                }
                depth += 1;
            }
            Event::Empty(_) if open.len() > MAX_ELEMENTS => return None,
            Event::Empty(tag) if depth == 0 => open.push(element(&tag)),
            Event::End(_) if depth > 0 => depth -= 1,
            Event::End(_) => items.extend(item.take()),
            Event::Text(text) => add(open, depth, &text),
            Event::CData(text) => add(open, depth, &text),
            Event::GeneralRef(entity) => add(open, depth, &unescape(&format!("&{};", &*entity)).ok()?),
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// Returns the name of an element and the address that it links to.
fn element(tag: &BytesStart<'_>) -> (String, String) {
    let address = tag.try_get_attribute("href").ok().flatten();
    let address = address
        .and_then(|address| Some(address.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned()));
    (tag.name().as_ref().to_owned(), address.unwrap_or_default())
}

/// Adds text to the open element of an item.
fn add(item: &mut FeedItem, depth: usize, text: &str) {
    if let Some((_, open)) = item.last_mut().filter(|_| depth > 0) {
        open.push_str(text);
    }
}

fn item_json(item: &FeedItem) -> String {
    let mut members: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, text) in item {
        let text = string(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        match members.iter_mut().find(|(key, _)| key == name) {
            Some((_, texts)) => texts.push(text),
            None => members.push((name, vec![text])),
        }
    }
    object(members.into_iter().map(|(name, mut texts)| match texts.len() {
        1 => (name, texts.swap_remove(0)),
        _ => (name, array(texts)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_the_text_and_the_addresses_of_their_elements() {
        let rss = "<?xml version=\"1.0\"?><rss><channel><title>T</title><item><title>A &amp; &#98;</title><dc:creator>Ann</dc:creator>\
                   <category>x</category><category>y</category><description><![CDATA[<p>1</p>]]></description></item></channel></rss>";
        let form = read(rss, &TextSample::from_text(rss)).unwrap();
        assert_eq!(
            form.json,
            "[{\"title\":\"A & b\",\"dc:creator\":\"Ann\",\"category\":[\"x\",\"y\"],\"description\":\"<p>1</p>\"}]"
        );
        let atom = "<feed><entry><title>A</title><link href=\"https://a.example/?b&amp;c\"/><author><name>Ann</name></author></entry></feed>";
        let form = read(atom, &TextSample::from_text(atom)).unwrap();
        assert_eq!(form.json, "[{\"title\":\"A\",\"link\":\"https://a.example/?b&c\",\"author\":\"Ann\"}]");
        assert_eq!(form.note, "A feed with 1 elements `entry`, starting with `$[0]`");
        let many: String = (0..500).map(|n| format!("<a{n}/>")).collect();
        let many = format!("<rss><item>{many}</item></rss>");
        let other = "<?xml version='1.0'?><invoice><feedback/><item><name>a</name></item></invoice>";
        for text in [
            &*many,
            other,
            "<rss><item><title>A</rss>",
            "<rss></rss>",
            "<feeder/>",
            "<rss><item>&bomb;</item></rss>",
        ] {
            assert!(read(text, &TextSample::from_text(text)).is_none(), "{text}");
        }
    }
}
