//! Friendly TOML parse errors: the key, the allowed values and a correction.

use std::ops::Range;

use gatehouse_core::{http::secret::is_secret_name, names};
use toml_parser::{Source, lexer::TokenKind};

use super::{ConfigError, ConfigText, keys, keys::dotted, schema};

/// Quotes that word processors and web pages substitute for `"` and `'`.
const TYPOGRAPHIC: [char; 14] = ['“', '”', '„', '‟', '«', '»', '‘', '’', '‚', '‛', '′', '″', '＂', '＇'];

/// Common keys from other gateways, and their replacements.
const MISPLACED_KEYS: [(&str, &str); 2] = [
    (
        "mcp_client_proxy",
        " Write [proxy], with connection_timeout, max_connection_retries, preconnect_servers and idle_timeout; each server has a block \
     [servers.NAME].",
    ),
    (
        "recommend_tools",
        " search_mode, include_metrics and max_fallbacks are parameters of the gate proxy: set them in a preset, as \
        in gates.proxy = { search_mode = \"hybrid\" }; the embedding model is `embedding` under [models].",
    ),
];

/// Prefixes of the parser's messages, and their plain rewording.
const SYNTAX: [(&str, &str); 21] = [
    ("unclosed array table", "this block name is not closed: write ]] after it"),
    ("unclosed array", "this list is not closed: write ] after its last entry"),
    ("unclosed inline table", "this { is not closed: write } after the last key"),
    ("unclosed table", "this block name is not closed: write ] after it"),
    ("key with no value", "a key without a value: write key = value, with = and no colon"),
    ("missing assignment", "a key without a value: write key = value, with = and no colon"),
    ("missing value", "the value is missing: write one after ="),
    ("missing comma", "a comma is missing before this"),
    ("extra comma", "extra comma: remove it"),
    ("extra `=`", "extra =: remove it"),
    ("extra assignment", "extra =: remove it"),
    ("missing escaped value", BACKSLASH),
    ("too few unicode value digits", BACKSLASH),
    ("invalid key-value pair", "neither a key nor a block: write key = value, or [block]"),
    ("invalid unquoted key", QUOTED_KEY),
    ("unquoted keys cannot be empty", QUOTED_KEY),
    ("unexpected key or value", "unexpected text: start each key on its own line"),
    ("unexpected content", "unexpected text: start each key on its own line"),
    ("invalid inline table element", "expected key = value pairs between { and }, separated by commas"),
    ("invalid array", "expected values between [ and ], separated by commas"),
    ("unexpected leading zero", "a number must not start with 0"),
];

/// Maximum open brackets. Real configurations need fewer than ten.
const MAX_OPEN_BRACKETS: usize = 64;

const BACKSLASH: &str =
    "a backslash in \"…\" starts an escape: write '…' around a string with backslashes, or \\\\ for each";

const QUOTED_KEY: &str =
    "a key with characters other than A-Z a-z 0-9 _ - needs quotes: write \"…\" around it";

impl ConfigText {
    /// Converts a parser error to a message with the key, the allowed values and a correction.
    pub(crate) fn parse_error(&self, error: &toml::de::Error) -> ConfigError {
        let message = error.message().trim();
        let Some(span) = error.span() else { return self.error(names::quoted(message, 300)) };
        if message.starts_with("unknown field") {
            return self.error_at(span.clone(), self.unknown_key(message, &span));
        }
        if message.starts_with("unknown variant") {
            let (wrong, known) = quoted_names(message);
            return self.error_at(span, not_allowed(wrong, &known));
        }
        if message == "duplicate key" {
            return self.error_at(span.clone(), self.duplicate_key(&span));
        }
        if ["invalid type:", "invalid value:", "wanted "].iter().any(|begin| message.starts_with(begin)) {
            let words = self.wrong_type(&span).unwrap_or_else(|| names::quoted(message, 300));
            return self.error_at(span, words);
        }
        self.syntax(message, span)
    }

    /// Refuses a text that is nested too deeply for the parser.
    pub(super) fn check_nesting(&self) -> Result<(), ConfigError> {
        check_nesting(&self.content).map_err(|(place, reason)| self.error_at(place, reason))
    }

    fn unknown_key(&self, message: &str, span: &Range<usize>) -> String {
        let (wrong, valid_keys) = quoted_names(message);
        let display_key = names::quoted(wrong, 64);
        if let Some((_, instead)) = MISPLACED_KEYS.iter().find(|(name, _)| *name == wrong) {
            return format!("unknown key '{display_key}'.{instead}");
        }
        let block = keys::locate_value(&self.content, span).map(|spot| spot.path).unwrap_or_default();
        let block = block.split_last().map(|(_, block)| dotted(block)).unwrap_or_default();
        let mut suggestion = names::did_you_mean(wrong, valid_keys.iter().copied());
        let homes = schema::blocks_with(wrong);
        if suggestion.is_empty() && (1..=3).contains(&homes.len()) {
            suggestion = format!(" It belongs under {}.", homes.join(" or "));
        }
        let valid_keys = valid_keys.join(", ");
        if block.is_empty() {
            return format!("unknown key '{display_key}'.{suggestion} There are: {valid_keys}.");
        }
        format!("unknown key '{display_key}'.{suggestion} Under [{block}] there are: {valid_keys}.")
    }

    fn duplicate_key(&self, second: &Range<usize>) -> String {
        let name = names::quoted(self.content.get(second.clone()).unwrap_or_default(), 64);
        let Some((path, first)) = keys::first_duplicate(&self.content, second) else {
            return format!("'{name}' is defined twice, as a block and as a key; remove one of them");
        };
        let (line, _) = self.line_and_column(first.start);
        format!("{} is defined twice, first in line {line}; remove one of them", dotted(&path))
    }

    /// Describes a value of the wrong type with the help of the schema. `None` if the schema has no such key.
    fn wrong_type(&self, span: &Range<usize>) -> Option<String> {
        let spot = keys::locate_value(&self.content, span)?;
        let property = schema::property(&spot.path, spot.in_list)?;
        let secret = spot.path.last().is_some_and(|key| is_secret_name(key));
        let typed = if secret { "…".to_owned() } else { spot.source_text(&self.content) };
        let plain = typed.trim_matches(['"', '\'']);
        let actual_value = match spot.kind {
            "string" => format!("the string {typed}"),
            "boolean" => typed.clone(),
            "array" => "a list".into(),
            "table" => "a block".into(),
            "datetime" => format!("the date {typed}"),
            _ => format!("the number {typed}"),
        };
        let name = spot.path.last().map(|key| keys::toml_key(key)).unwrap_or_default();
        let fix = match (property.kind, spot.kind) {
            ("array", "string" | "integer" | "float" | "boolean") => format!(": write {name} = [{typed}]"),
            ("string", "integer" | "float" | "boolean" | "datetime") => match property.example_amount() {
                Some(amount) => format!(": write it with a unit, in quotes, for example \"{amount}\""),
                None => format!(": write \"{typed}\", in quotes"),
            },
            ("integer", "string") if plain.parse::<u64>().is_ok() => {
                format!(": write {plain}, without quotes")
            }
            ("boolean", "string") if matches!(plain, "true" | "false") => {
                format!(": write {plain}, without quotes")
            }
            ("object", "string" | "integer" | "float" | "boolean" | "datetime") => {
                format!(": write {name} = {{}}, or a block [{}]", dotted(&spot.path))
            }
            _ => String::new(),
        };
        let subject = if spot.in_list { "an entry of " } else { "" };
        let dotted = dotted(&spot.path);
        let about = property.about.map(|about| format!(". {name} is: {about}")).unwrap_or_default();
        Some(format!("{subject}{dotted} must be {}, not {actual_value}{fix}{about}", property.words))
    }

    fn syntax(&self, message: &str, span: Range<usize>) -> ConfigError {
        if let Some(list) = self.unclosed_list(span.start) {
            return self.error_at(list, "this list is not closed: write ] after its last entry");
        }
        let rest = self.content.get(span.start..).unwrap_or_default();
        if let Some(quote) = rest.chars().next().filter(|c| TYPOGRAPHIC.contains(c)) {
            return self.error_at(span, typographic(quote));
        }
        let ends = message.starts_with("invalid") && message.contains("string");
        let before = self.content.get(..span.start).unwrap_or_default();
        let line = before.trim_end_matches(['\r', '\n']).rfind('\n').map_or(0, |end| end + 1);
        if let Some((at, quote)) = before
            .get(line..)
            .filter(|_| ends)
            .and_then(|line| line.char_indices().rfind(|(_, c)| TYPOGRAPHIC.contains(c)))
        {
            return self.error_at(line + at..line + at + quote.len_utf8(), typographic(quote));
        }
        if ends {
            return self.error_at(span, "this string is not closed: its final quote is missing");
        }
        let word: String = rest.chars().take_while(|c| !c.is_whitespace() && !",]}#".contains(*c)).collect();
        if message.starts_with("string values must be quoted") {
            let key = before.get(line..).and_then(|line| line.rsplit(['{', ',']).next()).unwrap_or_default();
            let display_word = if is_secret_name(key) { "…".to_owned() } else { names::quoted(&word, 64) };
            return self.error_at(
                span,
                format!("'{display_word}' is not a value: write \"{display_word}\" for a string; only true, false and \
                numbers have no quotes"),
            );
        }
        match SYNTAX.iter().find(|(begins, _)| message.starts_with(begins)) {
            Some((_, words)) => self.error_at(span, *words),
            None => {
                self.error_at(span, format!("this cannot be read as TOML: {}", names::quoted(message, 300)))
            }
        }
    }
}

impl ConfigText {
    /// Returns the list that is open at the beginning of the line of `error`, if that line is a key or a block.
    fn unclosed_list(&self, error: usize) -> Option<Range<usize>> {
        let (before, rest) = self.content.split_at_checked(error)?;
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let text = self.content.get(line..)?.lines().next()?.trim();
        let is_key = |key: &str| {
            let plain = |c: char| c.is_alphanumeric() || "_-. \"'".contains(c);
            key.starts_with(char::is_alphabetic) && key.chars().all(plain)
        };
        let block = text.trim_start_matches('[').trim_end_matches(']');
        let begins_block = block.len() + 1 < text.len() && is_key(block);
        let begins_key = text.split_once('=').is_some_and(|(key, _)| is_key(key.trim()));
        if !begins_block && !begins_key && !rest.trim().is_empty() {
            return None;
        }
        let mut open: Vec<Range<usize>> = Vec::new();
        for token in Source::new(&self.content).lex().take_while(|token| token.span().start() < line) {
            match token.kind() {
                TokenKind::LeftSquareBracket => open.push(token.span().start()..token.span().end()),
                TokenKind::RightSquareBracket => drop(open.pop()),
                _ => {}
            }
        }
        open.pop()
    }
}

fn typographic(quote: char) -> String {
    let plain = if "‘’‚‛′＇".contains(quote) { '\'' } else { '"' };
    format!("{quote} is a typographic quote: write {plain} instead")
}

/// Names the allowed values, and the one that is most similar to `wrong`.
pub(super) fn not_allowed(wrong: &str, candidates: &[&str]) -> String {
    let suggestion = names::did_you_mean(wrong, candidates.iter().copied());
    format!(
        "'{}' is not allowed here.{suggestion} There are: {}.",
        names::quoted(wrong, 64),
        candidates.join(", ")
    )
}

/// Parses the names in serde's message: unknown field `x`, expected one of `a`, `b`.
fn quoted_names(message: &str) -> (&str, Vec<&str>) {
    let mut quoted = message.split('`').skip(1).step_by(2);
    (quoted.next().unwrap_or_default(), quoted.collect())
}

/// Refuses a TOML text that is nested too deeply. The error is the byte range and the reason.
///
/// The parser recovers from errors and recurses for each opening bracket without a limit, so a crafted text could overflow
/// the stack.
///
/// Uses the parser's own lexer, so that both see the same brackets.
pub(crate) fn check_nesting(text: &str) -> Result<(), (Range<usize>, String)> {
    let mut open: Vec<TokenKind> = Vec::new();
    // After a stray closing bracket it is unclear what the parser closes, so count all opening ones.
    let mut stray = None;
    for token in Source::new(text).lex() {
        let span = token.span().start()..token.span().end();
        match token.kind() {
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => open.push(kind),
            kind @ (TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) if stray.is_none() => {
                let fits = match kind {
                    TokenKind::RightSquareBracket => TokenKind::LeftSquareBracket,
                    _ => TokenKind::LeftCurlyBracket,
                };
                if open.last() == Some(&fits) {
                    open.pop();
                } else {
                    stray = Some(span.clone());
                }
            }
            _ => {}
        }
        if open.len() > MAX_OPEN_BRACKETS {
            let reason = match &stray {
                Some(_) => "this bracket closes nothing that is open here".to_owned(),
                None => {
                    format!("more than {MAX_OPEN_BRACKETS} brackets are open here; one of them is not closed")
                }
            };
            return Err((stray.unwrap_or(span), reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
