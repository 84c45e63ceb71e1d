//! Detection of literal credentials in named values, program arguments and URLs.

use std::ops::Range;

use gatehouse_core::http::{
    header,
    secret::{is_secret_name, is_token},
};

/// Minimum length of a credential that is recognized only by its name. Shorter values are switches.
const MIN_LENGTH: usize = 8;

/// Minimum length of a password in a URL. Redacting a shorter one would hit other words by chance.
const MIN_PASSWORD: usize = 4;

const SCHEMES: [&str; 3] = ["Bearer ", "Basic ", "Token "];

/// Options whose value is a header.
const HEADER_OPTIONS: [&str; 3] = ["-H", "--header", "--headers"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CredentialSpan {
    /// Bytes of the credential, without a scheme such as `Bearer`.
    pub(crate) range: Range<usize>,
    /// Name of the header, variable, option or parameter. `None` if only the form of the value gives it away.
    pub(crate) name: Option<String>,
}

impl CredentialSpan {
    fn shifted(mut self, by: usize) -> Self {
        self.range = self.range.start + by..self.range.end + by;
        self
    }
}

/// Returns the value of a header without its scheme, such as `Bearer`.
pub(crate) fn without_scheme(text: &str) -> &str {
    text.get(scheme(text).map_or(0, str::len)..).unwrap_or_default()
}

/// Finds the credential in the value of a header or variable.
pub(crate) fn in_value(name: &str, text: &str) -> Option<CredentialSpan> {
    let start = scheme(text).map_or(0, str::len);
    let value = text.get(start..)?;
    let named = is_secret_name(name) && value.len() >= MIN_LENGTH;
    let is_credential = (named || is_token(value)) && is_literal(value);
    let name = (!name.is_empty()).then(|| name.to_owned());
    is_credential.then_some(CredentialSpan { range: start..text.len(), name })
}

/// Finds credentials in the query parameters and path segments of a URL.
pub(crate) fn in_url(url: &str) -> Vec<CredentialSpan> {
    let mut spans = Vec::new();
    let mut start = 0;
    for part in url.split_inclusive(['?', '&', '#', ';', '/']) {
        let value = part.trim_end_matches(['?', '&', '#', ';', '/']);
        let (name, at) = value.split_once('=').map_or(("", 0), |(name, _)| (name, name.len() + 1));
        let value = value.get(at..).unwrap_or_default();
        spans.extend(in_value(name, value).map(|span| span.shifted(start + at)));
        start += part.len();
    }
    spans
}

pub(crate) fn in_args(args: &[&str]) -> Vec<Vec<CredentialSpan>> {
    let mut option = "";
    let spans_by_arg = args.iter().map(|arg| {
        let spans = in_arg(option, arg);
        let takes_next = arg.starts_with('-') && !arg.contains('=');
        option = if takes_next { arg } else { "" };
        spans
    });
    spans_by_arg.collect()
}

/// Finds credentials in one argument that follows `option`.
fn in_arg(option: &str, arg: &str) -> Vec<CredentialSpan> {
    if let (Some((option, value)), true) = (arg.split_once('='), arg.starts_with('-')) {
        let start = option.len() + 1;
        return in_option(option, value).into_iter().map(|span| span.shifted(start)).collect();
    }
    if arg.starts_with('-') && !option.is_empty() {
        // `option` has no value; this argument is the next option.
        return in_option("", arg);
    }
    in_option(option, arg)
}

fn in_option(option: &str, value: &str) -> Vec<CredentialSpan> {
    if let Some((address, rest)) = value.split_once("://") {
        let start = address.len() + "://".len();
        let password = password(rest).into_iter();
        let spans: Vec<_> = password.chain(in_url(rest)).map(|span| span.shifted(start)).collect();
        if !spans.is_empty() {
            return spans;
        }
    }
    // `-e NAME=VALUE`, as in docker.
    if let Some((name, value)) = value.split_once('=').filter(|(name, _)| is_variable(name)) {
        return in_value(name, value).map(|span| span.shifted(name.len() + 1)).into_iter().collect();
    }
    if let Some((name, span)) = in_header(value)
        && (HEADER_OPTIONS.contains(&option)
            || scheme(value.get(name.len() + 1..).unwrap_or("").trim()).is_some())
    {
        return span.into_iter().collect();
    }
    in_value(option, value).into_iter().collect()
}

/// Splits a header `Name: value`, and finds the credential in its value.
fn in_header(text: &str) -> Option<(&str, Option<CredentialSpan>)> {
    let (name, value) = text.split_once(':').filter(|(name, _)| header::is_name(name))?;
    let start = text.len() - value.trim_start().len();
    Some((name, in_value(name, value.trim_start()).map(|span| span.shifted(start))))
}

/// Finds the password in `user:password@host/…`, or a token in place of the user name.
fn password(rest: &str) -> Option<CredentialSpan> {
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    let start = user.split_once(':').map_or(0, |(name, _)| name.len() + 1);
    let value = user.get(start..)?;
    let is_credential = (start > 0 && value.len() >= MIN_PASSWORD || is_token(value)) && is_literal(value);
    is_credential.then(|| CredentialSpan { range: start..user.len(), name: Some("password".into()) })
}

/// Returns the authorization scheme that a value starts with, including the space.
fn scheme(text: &str) -> Option<&str> {
    let begins = |scheme: &&str| text.get(..scheme.len()).filter(|begin| begin.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().find_map(begins)
}

/// Returns whether a value contains no environment placeholder.
fn is_literal(value: &str) -> bool {
    !value.contains("${")
}

pub(crate) fn is_variable(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(letter)
}

#[cfg(test)]
mod tests;
