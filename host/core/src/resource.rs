//! Resources: what a client reads by its address. A source declares families of addresses as templates, and is asked only
//! for addresses of its own.

use serde::{Deserialize, Serialize};

use crate::outcome::ResourceLink;

/// The most templates of one source.
pub const MAX_TEMPLATES: usize = 64;

/// The most bytes of an address, or of a template.
pub const MAX_URI_BYTES: usize = 8 * 1024;

/// A family of addresses: a template of RFC 6570 with `{name}` (level 1) and `{+name}` (level 2), which may have slashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UriTemplate {
    /// For example `gatehouse://page/{+id}`.
    pub uri_template: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What stands at these addresses.
    pub description: Option<String>,
    /// Their media type, where they have one.
    pub mime_type: Option<String>,
}

/// A page of a source's list of resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourcePage {
    /// What is to be read.
    pub resources: Vec<ResourceLink>,
    /// What the source wants to be asked with for the next page, where there is one.
    pub next: Option<String>,
}

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum UriTemplatePart<'a> {
    Literal(&'a str),
    /// One or more characters of a value; with `reserved` also those that part addresses.
    Value {
        reserved: bool,
    },
}

impl UriTemplate {
    /// Whether it is one, as the rest of a sentence about it. Needs a scheme and at least one character after it before the
    /// first value, so that no gate answers for all addresses.
    pub fn check(&self) -> Result<(), String> {
        let template = &self.uri_template;
        if template.len() > MAX_URI_BYTES {
            return Err(format!("is longer than {MAX_URI_BYTES} bytes"));
        }
        let parts = parts(template).ok_or("is not a template of plain text, {name} and {+name}")?;
        if parts
            .windows(2)
            .any(|pair| matches!(pair, [UriTemplatePart::Value { .. }, UriTemplatePart::Value { .. }]))
        {
            return Err("has two values with nothing between them".into());
        }
        let (scheme, rest) = self.prefix().split_once("://").ok_or("does not begin with a scheme and ://")?;
        let letters = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        if rest.is_empty()
            || !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            || !scheme.chars().all(letters)
        {
            return Err("does not begin with a scheme, :// and a name".into());
        }
        Ok(())
    }

    /// Whether an address is of this family.
    pub fn matches(&self, uri: &str) -> bool {
        uri.len() <= MAX_URI_BYTES
            && parts(&self.uri_template).is_some_and(|parts| matches_parts(&parts, uri))
    }

    /// Whether two families may have an address in common, as far as the text before their first values tells.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (one, two) = (self.prefix(), other.prefix());
        match (self.has_no_values(), other.has_no_values()) {
            (true, _) => other.matches(one),
            (_, true) => self.matches(two),
            _ => one.starts_with(two) || two.starts_with(one),
        }
    }

    /// Whether it has no value: the family of one address.
    pub fn has_no_values(&self) -> bool {
        !self.uri_template.contains('{')
    }

    /// The names in its braces.
    pub fn value_names(&self) -> Vec<&str> {
        let ends = self.uri_template.split('{').skip(1);
        let names = ends.filter_map(|part| Some(part.split_once('}')?.0));
        names.map(|name| name.strip_prefix('+').unwrap_or(name)).collect()
    }

    fn prefix(&self) -> &str {
        self.uri_template.split('{').next().unwrap_or_default()
    }
}

fn parts(template: &str) -> Option<Vec<UriTemplatePart<'_>>> {
    let (mut parts, mut rest) = (Vec::new(), template);
    while let Some((literal, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        let plain = name.strip_prefix('+');
        let word = plain.unwrap_or(name);
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if word.is_empty() || !word.chars().all(letters) || !is_plain(literal) {
            return None;
        }
        if !literal.is_empty() {
            parts.push(UriTemplatePart::Literal(literal));
        }
        parts.push(UriTemplatePart::Value { reserved: plain.is_some() });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(UriTemplatePart::Literal(rest));
    }
    is_plain(rest).then_some(parts)
}

/// Text of an address: printable ASCII without braces.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_graphic() && !"{}<>\"\\^`|".contains(c))
}

/// Whether a text is these parts, each value as short as it can be. Linear in the text for each value, and a template that
/// was checked has few.
fn matches_parts(parts: &[UriTemplatePart<'_>], text: &str) -> bool {
    match parts {
        [] => text.is_empty(),
        [UriTemplatePart::Literal(literal), rest @ ..] => {
            text.strip_prefix(literal).is_some_and(|text| matches_parts(rest, text))
        }
        [UriTemplatePart::Value { reserved }, rest @ ..] => {
            let may_be = |c: char| c.is_ascii_graphic() && (*reserved || !"/?#".contains(c));
            let longest = text.find(|c: char| !may_be(c)).unwrap_or(text.len());
            match rest {
                [] => longest == text.len() && longest > 0,
                // The text after the last value ends the address.
                [UriTemplatePart::Literal(literal)] => text
                    .strip_suffix(literal)
                    .is_some_and(|value| !value.is_empty() && value.len() <= longest),
                [UriTemplatePart::Literal(literal), ..] => {
                    let found = text.match_indices(literal).map(|(at, _)| at);
                    found
                        .skip_while(|at| *at == 0)
                        .take_while(|at| *at <= longest)
                        .next()
                        .is_some_and(|at| matches_parts(rest, &text[at..]))
                }
                [UriTemplatePart::Value { .. }, ..] => false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(uri_template: &str) -> UriTemplate {
        UriTemplate {
            uri_template: uri_template.into(),
            name: "x".into(),
            title: None,
            description: None,
            mime_type: None,
        }
    }

    #[test]
    fn an_address_belongs_to_a_family_or_not() {
        for (family, address, fits) in [
            ("a://page/{id}", "a://page/x", true),
            ("a://page/{id}", "a://page/Principle%2FX", true),
            ("a://page/{id}", "a://page/Principle/X", false),
            ("a://page/{+id}", "a://page/Principle/X?y#z", true),
            ("a://page/{id}", "a://page/", false),
            ("a://page/{id}", "a://pages/x", false),
            ("a://page/{id}", "a://page/x y", false),
            ("a://page/{id}", "a://page/x\n", false),
            ("a://page/{+id}", "a://page/x\u{202e}", false),
            ("a://{id}/data", "a://7/data", true),
            ("a://{id}/data", "a://7/data/more", false),
            ("a://{+id}/data", "a://7/data/data", true),
            ("a://{kind}/{id}", "a://k/i", true),
            ("a://{kind}/{id}", "a://k", false),
            ("a://{kind}/{id}.md", "a://k/i.md", true),
            ("a://one", "a://one", true),
            ("a://one", "a://one/two", false),
        ] {
            assert_eq!(template(family).matches(address), fits, "{family} {address}");
        }
        assert!(!template("a://{+id}").matches(&format!("a://{}", "x".repeat(MAX_URI_BYTES))));
    }

    #[test]
    fn what_is_no_template_is_told() {
        for good in ["a://p/{id}", "gate-house+x.1://p/{+id}/x/{y}", "a://one"] {
            assert_eq!(template(good).check(), Ok(()), "{good}");
        }
        for bad in [
            "",
            "{id}",
            "a:{id}",
            "a://{id}",
            "1a://x/{id}",
            "a://x/{id",
            "a://x/{}",
            "a://x/{a b}",
            "a://x/{a}{b}",
            "a://x/{?q}",
            "a://x/ {id}",
            "a://x/{id}}",
            "a://\u{e4}/{id}",
        ] {
            assert!(template(bad).check().is_err(), "{bad}");
        }
    }

    #[test]
    fn families_that_may_share_an_address_meet() {
        for (one, two, meet) in [
            ("a://p/{id}", "a://p/{x}", true),
            ("a://p/{id}", "a://page/{x}", false),
            ("a://p{id}", "a://page/{x}", true),
            ("a://p/{id}", "b://p/{id}", false),
            ("a://p/one", "a://p/{id}", true),
            ("a://p/one/two", "a://p/{id}", false),
            ("a://p/one", "a://p/one", true),
            ("a://p/one", "a://p/two", false),
        ] {
            assert_eq!(template(one).overlaps(&template(two)), meet, "{one} {two}");
            assert_eq!(template(two).overlaps(&template(one)), meet, "{two} {one}");
        }
    }
}
