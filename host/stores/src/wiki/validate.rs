//! Validates and normalizes the input of a write. Rejects values that would break the page markup.

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{EDGES, PageChanges, PageDraft, PageLink, PageSource},
};

use super::{file::MAX_FILE_BYTES, ids, parse::plain};

const MAX_FIELD: usize = 500;

const MAX_LIST: usize = 1000;

pub(crate) fn draft(draft: PageDraft) -> Result<PageDraft, Fault> {
    Ok(PageDraft {
        title: title(&draft.title)?,
        page_type: draft.page_type,
        overview: long_text("overview", &draft.overview)?,
        content: long_text("content", &draft.content)?,
        domains: domains(&draft.domains)?,
        sources: sources(&draft.sources)?,
        links: links(&draft.links)?,
    })
}

pub(crate) fn changes(changes: &PageChanges) -> Result<PageChanges, Fault> {
    Ok(PageChanges {
        overview: changes.overview.as_deref().map(|text| long_text("overview", text)).transpose()?,
        content: changes.content.as_deref().map(|text| long_text("content", text)).transpose()?,
        domains: changes.domains.as_deref().map(domains).transpose()?,
        sources: changes.sources.as_deref().map(sources).transpose()?,
        links: changes.links.as_deref().map(links).transpose()?,
    })
}

fn title(text: &str) -> Result<String, Fault> {
    let text = text.trim();
    let refuse = |reason: &str| Err(Fault::invalid(format!("page_title '{}' {reason}", ids::shorten(text))));
    if text.is_empty() {
        return Err(Fault::invalid("page_title is empty").hint("Set a title, for example Model Loading."));
    }
    if text.chars().count() > ids::MAX_NAME {
        return refuse("is longer than 200 characters");
    }
    if text.contains(['/', '\\', '[', ']', '|']) || text.contains("..") || text.chars().any(char::is_control)
    {
        return refuse("must not contain / \\ [ ] | .. or a control character");
    }
    Ok(text.to_owned())
}

fn long_text(field: &str, text: &str) -> Result<String, Fault> {
    if text.contains('\0') {
        return Err(Fault::invalid(format!("{field} contains a NUL character")).hint("Send text only."));
    }
    if text.len() as u64 > MAX_FILE_BYTES / 2 {
        return Err(Fault::invalid(format!(
            "{field} has {} bytes; the limit is {}",
            text.len(),
            MAX_FILE_BYTES / 2
        ))
        .hint("Split the page and link its parts with 'related'."));
    }
    Ok(plain(text))
}

/// Validates a value for use inside a tag.
fn tag_text(field: &str, text: &str) -> Result<String, Fault> {
    let text = text.trim();
    if text.contains(['[', ']', '|']) || text.chars().any(char::is_control) {
        return Err(Fault::invalid(format!(
            "{field} '{}' would break the page's markup",
            ids::shorten(text)
        ))
        .hint("Remove [ ] | and line breaks."));
    }
    if text.chars().count() > MAX_FIELD {
        return Err(Fault::invalid(format!(
            "{field} '{}' is longer than {MAX_FIELD} characters",
            ids::shorten(text)
        )));
    }
    Ok(text.to_owned())
}

/// Normalizes the values of a list and removes duplicates.
fn list<T: PartialEq, U>(
    field: &str,
    values: &[U],
    stored: impl Fn(&U) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    if values.len() > MAX_LIST {
        let count = values.len();
        return Err(Fault::invalid(format!("{field} has {count} entries; the limit is {MAX_LIST}"))
            .hint("Split the page."));
    }
    let mut unique_values = Vec::new();
    for value in values {
        let value = stored(value)?;
        if !unique_values.contains(&value) {
            unique_values.push(value);
        }
    }
    Ok(unique_values)
}

fn domains(values: &[String]) -> Result<Vec<String>, Fault> {
    list("domains", values, |value| {
        let domain = ids::key(&tag_text("domain", value)?);
        if domain.trim().is_empty() {
            return Err(Fault::invalid("a domain is empty").hint("Remove it from the list."));
        }
        Ok(domain)
    })
}

fn sources(values: &[PageSource]) -> Result<Vec<PageSource>, Fault> {
    list("sources", values, |value| {
        let source = PageSource {
            kind: tag_text("source kind", &value.kind)?,
            title: tag_text("source title", &value.title)?,
            url: tag_text("source url", &value.url)?,
        };
        if source.title.is_empty() && source.url.is_empty() {
            return Err(
                Fault::invalid("a source has neither title nor url").hint("Set at least one of them.")
            );
        }
        Ok(source)
    })
}

fn links(values: &[PageLink]) -> Result<Vec<PageLink>, Fault> {
    list("links", values, |value| {
        if !EDGES.contains(&value.edge.as_str()) {
            return Err(Fault::invalid(format!("unknown edge '{}'", ids::shorten(&value.edge)))
                .hint(format!("Use one of {}.", EDGES.join(", "))));
        }
        let (page_type, name) = ids::split_strict(&value.target).map_err(|fault| {
            Fault::invalid(format!("link target: {}", fault.message))
                .hint("A link target is Type/Name, for example Principle/Model_Loading.")
        })?;
        Ok(PageLink {
            edge: value.edge.clone(),
            target: ids::join(page_type, &tag_text("link target", name)?),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_core::{outcome::FaultKind, ports::knowledge::PageType};

    fn sample(title: &str) -> PageDraft {
        PageDraft {
            title: title.into(),
            page_type: PageType::Principle,
            overview: " a\r\nb ".into(),
            content: String::new(),
            domains: vec!["Fine_Tuning".into(), "Fine Tuning".into()],
            sources: vec![],
            links: vec![],
        }
    }

    #[test]
    fn values_take_the_form_in_which_they_are_stored() {
        let checked = draft(sample(" Model Loading ")).unwrap();
        assert_eq!(checked.title, "Model Loading");
        assert_eq!(checked.overview, "a\nb");
        assert_eq!(checked.domains, ["Fine Tuning"]);
    }

    #[test]
    fn titles_that_are_paths_or_markup_are_refused() {
        for title in ["", "  ", "a/b", "..", "a\u{7}", "[[x]]", &"x".repeat(201)] {
            assert_eq!(draft(sample(title)).unwrap_err().kind, FaultKind::InvalidArguments, "{title}");
        }
        assert!(draft(sample(&"é".repeat(200))).is_ok());
    }

    #[test]
    fn values_that_break_the_markup_are_refused() {
        let source =
            |title: &str| PageSource { kind: "Doc".into(), title: title.into(), url: "https://x".into() };
        let link = |edge: &str, target: &str| PageLink { edge: edge.into(), target: target.into() };
        let bad = [
            PageChanges { domains: Some(vec!["a\nb".into()]), ..PageChanges::default() },
            PageChanges { domains: Some(vec!["a]]".into()]), ..PageChanges::default() },
            PageChanges { domains: Some(vec![" ".into()]), ..PageChanges::default() },
            PageChanges { sources: Some(vec![source("a|b")]), ..PageChanges::default() },
            PageChanges { sources: Some(vec![source("a]]")]), ..PageChanges::default() },
            PageChanges { links: Some(vec![link("nonsense", "Principle/X")]), ..PageChanges::default() },
            PageChanges { links: Some(vec![link("step", "Principle:X")]), ..PageChanges::default() },
            PageChanges { links: Some(vec![link("step", "Principle/../X")]), ..PageChanges::default() },
            PageChanges { links: Some(vec![link("step", "Nothing/X")]), ..PageChanges::default() },
            PageChanges { content: Some("a\0".into()), ..PageChanges::default() },
        ];
        for change in bad {
            assert_eq!(changes(&change).unwrap_err().kind, FaultKind::InvalidArguments, "{change:?}");
        }
    }
}
