//! Converts books in EPUB to Markdown: the chapters in the order of reading.

use std::collections::{HashMap, HashSet};

use gatehouse_sdk::ConvertedMarkdown;
use percent_encoding::percent_decode_str;
use quick_xml::{Reader, events::Event};

use crate::{
    html,
    markdown::{MAX_TEXT, TOO_LONG, left_out, one_line, xml_character},
    package::{BROKEN, Package, attribute, for_each_tag, resolved},
};

/// Parts of the media types of chapters.
const TEXTS: [&str; 3] = ["html", "oeb1-document", "dtbook+xml"];

/// Methods that only hide fonts.
const FONT_ENCRYPTION: [&str; 2] = ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];

pub(crate) fn markdown(bytes: &[u8]) -> Result<ConvertedMarkdown, &'static str> {
    let mut package = Package::open(bytes)?;
    if let Some(xml) = package.part("META-INF/encryption.xml")? {
        let mut is_encrypted = false;
        for_each_tag(&xml, |tag| {
            if tag.local_name().as_ref() == "EncryptionMethod" {
                let method = attribute(tag, "Algorithm").unwrap_or_default();
                is_encrypted |= !FONT_ENCRYPTION.contains(&method.as_str());
            }
        })?;
        if is_encrypted {
            return Err("is protected against copying");
        }
    }
    let container = package.part("META-INF/container.xml")?.ok_or(BROKEN)?;
    let mut root = None;
    for_each_tag(&container, |tag| {
        let is_book =
            || attribute(tag, "media-type").is_none_or(|kind| kind == "application/oebps-package+xml");
        if tag.local_name().as_ref() == "rootfile" && root.is_none() && is_book() {
            root = attribute(tag, "full-path");
        }
    })?;
    let root = root.ok_or(BROKEN)?;
    let contents = package.part(&root)?.ok_or(BROKEN)?;
    let (mut chapters, mut all, mut order) = (HashMap::new(), Vec::new(), Vec::new());
    for_each_tag(&contents, |tag| match tag.local_name().as_ref() {
        "item" => {
            let value = |name| attribute(tag, name).unwrap_or_default();
            let kind = value("media-type");
            if TEXTS.iter().any(|text| kind.contains(text)) {
                all.push(value("id"));
            }
            chapters.insert(value("id"), (value("href"), kind));
        }
        "itemref" => order.extend(attribute(tag, "idref")),
        _ => {}
    })?;
    if order.is_empty() {
        order = all;
    }
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (mut paths, mut seen, mut others) = (Vec::new(), HashSet::new(), 0);
    for (path, kind) in order.iter().filter_map(|id| chapters.get(id)) {
        let path = path.split('#').next().unwrap_or_default();
        let path = resolved(folder, &percent_decode_str(path).decode_utf8_lossy());
        match TEXTS.iter().any(|text| kind.contains(text)) {
            true if seen.insert(path.clone()) => paths.push(path),
            true => {}
            false => others += 1,
        }
    }
    let parts = package.names();
    let missing = paths.iter().filter(|path| parts.binary_search(path).is_err()).count();
    if missing > 0 {
        // The order is of other files than those of the book.
        paths.extend(parts.into_iter().filter(|path| path.ends_with("html") && !seen.contains(path)));
    }
    let mut text = String::new();
    for path in paths {
        let Some(page) = package.part(&path)? else { continue };
        text.push_str(html::markdown(&page).trim());
        text.push_str("\n\n");
        if text.len() > MAX_TEXT {
            return Err(TOO_LONG);
        }
    }
    if let Some(title) = title(&contents).filter(|_| !text.trim().is_empty()) {
        text.insert_str(0, &format!("# {title}\n\n"));
    }
    let missing = (missing > 0).then(|| format!("names {missing} chapters that it does not contain"));
    let losses = missing.into_iter().chain(left_out(others, "unreadable chapter")).collect();
    Ok(ConvertedMarkdown { text, losses })
}

/// Returns the title of the book.
fn title(contents: &str) -> Option<String> {
    let mut reader = Reader::from_str(contents);
    let mut title: Option<String> = None;
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) if tag.local_name().as_ref() == "title" => title = Some(String::new()),
            Event::CData(text) => title.iter_mut().for_each(|title| title.push_str(&text)),
            Event::Text(text) => title.iter_mut().for_each(|title| title.push_str(&text)),
            Event::GeneralRef(entity) => {
                title.iter_mut().for_each(|title| title.extend(xml_character(&entity)))
            }
            Event::End(tag) if tag.local_name().as_ref() == "title" => {
                return title.map(|title| one_line(&title)).filter(|title| !title.is_empty());
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}
