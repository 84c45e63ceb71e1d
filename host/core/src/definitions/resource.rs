//! Resources, which clients read by URI. A source declares URI templates, and gets requests only for URIs that match
//! one.

use serde::{Deserialize, Serialize};

use crate::{InvalidValue, invalid::ensure, outcome::ResourceLink};

pub const MAX_TEMPLATES: usize = 64;

/// Maximum bytes of a URI or template.
pub const MAX_URI_BYTES: usize = 8 * 1024;

/// An RFC 6570 template: of a gate with `{name}` (level 1) and `{+name}` (level 2, may contain slashes), of a server with
/// any expressions, because the server itself decides which URIs it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UriTemplate {
    /// Such as `gatehouse://page/{+id}`.
    pub uri_template: String,
    /// Name for programs.
    pub name: String,
    /// Name for users.
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
}

/// A page of a source's resource list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourcePage {
    pub resources: Vec<ResourceLink>,
    /// The source's cursor for the next page, if there is one.
    pub next: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum UriTemplatePart<'a> {
    Literal(&'a str),
    /// One or more characters; with `reserved`, URI delimiters too.
    Value {
        reserved: bool,
    },
}

impl UriTemplate {
    /// Checks the template. The error continues a sentence about it.
    ///
    /// Requires a scheme and at least one character before the first value, so that no gate covers all URIs.
    pub fn check(&self) -> Result<(), InvalidValue> {
        let template = &self.uri_template;
        ensure!(template.len() <= MAX_URI_BYTES, "is longer than {MAX_URI_BYTES} bytes");
        let parts = parts(template).ok_or("is not a template of plain text, {name} and {+name}")?;
        let is_value = |part: &UriTemplatePart<'_>| matches!(part, UriTemplatePart::Value { .. });
        let are_apart = !parts.windows(2).any(|pair| pair.iter().all(is_value));
        ensure!(are_apart, "has two values with nothing between them");
        let (scheme, rest) = self.prefix().split_once("://").ok_or("does not begin with a scheme and ://")?;
        let letters = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(letters);
        ensure!(is_scheme && !rest.is_empty(), "does not begin with a scheme, :// and a name");
        Ok(())
    }

    /// Checks the template of a server, which clients see under a prefix. The error continues a sentence about it.
    pub fn check_server(&self) -> Result<(), InvalidValue> {
        let template = &self.uri_template;
        ensure!(template.len() <= MAX_URI_BYTES, "is longer than {MAX_URI_BYTES} bytes");
        let mut literals = template.split('{').enumerate().map(|(place, part)| match place {
            0 => Some(part),
            _ => {
                let (expression, literal) = part.split_once('}')?;
                variables(expression).all(is_variable).then_some(literal)
            }
        });
        let is_template = literals.all(|literal| literal.is_some_and(is_plain));
        ensure!(is_template, "is not a template of RFC 6570");
        Ok(())
    }

    /// Whether a gate's template matches a URI.
    pub fn matches(&self, uri: &str) -> bool {
        uri.len() <= MAX_URI_BYTES
            && parts(&self.uri_template).is_some_and(|parts| matches_parts(&parts, uri))
    }

    /// Returns true if two templates may match the same URI, judging by the text before their first values.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (one, two) = (self.prefix(), other.prefix());
        match (self.has_no_values(), other.has_no_values()) {
            (true, _) => other.matches(one),
            (_, true) => self.matches(two),
            _ => one.starts_with(two) || two.starts_with(one),
        }
    }

    pub fn has_no_values(&self) -> bool {
        !self.uri_template.contains('{')
    }

    pub fn value_names(&self) -> Vec<&str> {
        let ends = self.uri_template.split('{').skip(1);
        let expressions = ends.filter_map(|part| Some(part.split_once('}')?.0));
        expressions.flat_map(variables).map(|(name, _)| name).collect()
    }

    pub(crate) fn prefix(&self) -> &str {
        self.uri_template.split('{').next().unwrap_or_default()
    }
}

/// Returns the variables of an expression, each with its modifier (RFC 6570, section 2.3).
fn variables(expression: &str) -> impl Iterator<Item = (&str, &str)> {
    let list = expression.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(expression);
    list.split(',').map(|variable| variable.split_at(variable.find(['*', ':']).unwrap_or(variable.len())))
}

fn is_variable((name, modifier): (&str, &str)) -> bool {
    let is_modifier = match modifier.strip_prefix(':') {
        Some(length) => (1..=4).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit()),
        None => modifier.is_empty() || modifier == "*",
    };
    let letters = |c: char| c.is_ascii_alphanumeric() || "_.%-".contains(c);
    is_modifier && !name.is_empty() && name.chars().all(letters)
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

/// Returns true for printable ASCII that URIs allow, without braces.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_graphic() && !"{}<>\"\\^`|".contains(c))
}

/// Matches text against parts, each value as short as possible. Takes linear time per value.
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
                // The last literal must end the URI.
                [UriTemplatePart::Literal(literal)] => text
                    .strip_suffix(literal)
                    .is_some_and(|value| !value.is_empty() && value.len() <= longest),
                [UriTemplatePart::Literal(literal), ..] => {
                    let positions = text.match_indices(literal).map(|(at, _)| at);
                    positions
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
    fn invalid_templates_are_reported() {
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
    fn templates_of_servers_may_have_any_expressions() {
        for (good, names) in [
            ("search://{?q,limit}", vec!["q", "limit"]),
            ("judgment://{slug*}", vec!["slug"]),
            ("users://{id}{/rest*}{#part:3}", vec!["id", "rest", "part"]),
            ("x://{a,b}{;c}{.d}{&e}", vec!["a", "b", "c", "d", "e"]),
            ("{+uri}", vec!["uri"]),
            ("plain://text", vec![]),
        ] {
            assert_eq!(template(good).check_server(), Ok(()), "{good}");
            assert_eq!(template(good).value_names(), names, "{good}");
        }
        for bad in [
            "x://{",
            "x://{}",
            "x://{a",
            "x://a}",
            "x://{a b}",
            "x://{a:}",
            "x://{a:99999}",
            "x://{a**}",
            "x:// {a}",
            "x://{{a}}",
        ] {
            assert!(template(bad).check_server().is_err(), "{bad}");
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
