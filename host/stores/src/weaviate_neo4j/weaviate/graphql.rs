//! GraphQL queries as data. Only this module writes query text, and quotes every string, so that callers cannot inject
//! syntax.

use std::fmt::{self, Write as _};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum GraphqlValue {
    Text(String),
    Number(usize),
    /// A vector component. NaN and infinity are written as 0.
    Real(f32),
    /// A constant enum value.
    Word(&'static str),
    List(Vec<GraphqlValue>),
    /// Constant field names with values.
    Object(Vec<(&'static str, GraphqlValue)>),
}

impl GraphqlValue {
    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::Text(text.into())).collect())
    }
}

impl fmt::Display for GraphqlValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => quote(text, f),
            Self::Number(number) => write!(f, "{number}"),
            // Rust prints finite floats without an exponent.
            Self::Real(real) => write!(f, "{}", if real.is_finite() { *real } else { 0.0 }),
            Self::Word(word) => f.write_str(word),
            Self::List(values) => {
                f.write_char('[')?;
                separated(values, f, |value, f| write!(f, "{value}"))?;
                f.write_char(']')
            }
            Self::Object(fields) => {
                f.write_char('{')?;
                separated(fields, f, |(name, value), f| write!(f, "{name}:{value}"))?;
                f.write_char('}')
            }
        }
    }
}

fn separated<T>(
    items: &[T],
    f: &mut fmt::Formatter<'_>,
    write: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        write(item, f)?;
    }
    Ok(())
}

/// Writes a quoted string (GraphQL, October 2021, section 2.9.4). Escapes control characters and the byte order mark.
/// Characters outside the basic plane stay, because an escape has only four digits.
fn quote(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            ' '..='~' => f.write_char(c)?,
            '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' => f.write_char(c)?,
            '\u{10000}'.. => f.write_char(c)?,
            other => write!(f, "\\u{:04x}", u32::from(other))?,
        }
    }
    f.write_char('"')
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct GetQuery {
    pub(super) collection: &'static str,
    pub(super) arguments: Vec<(&'static str, GraphqlValue)>,
    pub(super) fields: &'static str,
}

impl fmt::Display for GetQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{Get{{{}(", self.collection)?;
        separated(&self.arguments, f, |(name, value), f| write!(f, "{name}:{value}"))?;
        write!(f, "){{{}}}}}}}", self.fields)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses one quoted string as the specification defines it. Returns its value and the rest.
    fn read(written: &str) -> Option<(String, &str)> {
        let mut value = Vec::new();
        let body = written.strip_prefix('"')?;
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return Some((String::from_utf16(&value).ok()?, &body[at + 1..])),
                '\\' => match chars.next()?.1 {
                    'u' => {
                        let digits: String = (0..4).filter_map(|_| chars.next().map(|(_, c)| c)).collect();
                        value.push(u16::from_str_radix(&digits, 16).ok()?);
                    }
                    c @ ('"' | '\\' | '/') => value.push(c as u16),
                    _ => return None,
                },
                c if c < ' ' => return None,
                c => value.extend(c.encode_utf16(&mut [0; 2]).iter()),
            }
        }
        None
    }

    #[test]
    fn a_question_is_written_as_weaviate_reads_it() {
        let get = GetQuery {
            collection: "KGWikiPages",
            arguments: vec![
                ("bm25", GraphqlValue::Object(vec![("query", GraphqlValue::Text("a \"b\"".into()))])),
                (
                    "nearVector",
                    GraphqlValue::Object(vec![(
                        "vector",
                        GraphqlValue::List(vec![GraphqlValue::Real(0.5), GraphqlValue::Real(-1e-9)]),
                    )]),
                ),
                ("limit", GraphqlValue::Number(5)),
            ],
            fields: "key _additional{score}",
        };
        assert_eq!(
            get.to_string(),
            r#"{Get{KGWikiPages(bm25:{query:"a \"b\""},nearVector:{vector:[0.5,-0.000000001]},limit:5){key _additional{score}}}}"#
        );
    }

    #[test]
    fn control_characters_are_escaped_and_odd_numbers_are_zero() {
        assert_eq!(
            GraphqlValue::Text("a\n\0\u{7f}\u{feff}é🙂".into()).to_string(),
            r#""a\u000a\u0000\u007f\ufeffé🙂""#
        );
        let odd =
            GraphqlValue::List([f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(GraphqlValue::Real).to_vec());
        assert_eq!(odd.to_string(), "[0,0,0]");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_text_comes_back_and_ends_where_it_ends(
            text in prop_oneof![".*", "\\PC*", "[\"\\\\{}():,\\n\\r\\t\\x00-\\x1f u0-9a-f]*"],
        ) {
            let written = format!("{}){{", GraphqlValue::Text(text.clone()));
            prop_assert_eq!(read(&written), Some((text, "){")));
        }

        #[test]
        fn every_finite_number_comes_back(number in any::<f32>().prop_filter("finite", |n| n.is_finite())) {
            let written = GraphqlValue::Real(number).to_string();
            prop_assert!(!written.contains(['e', 'E', 'i', 'N']));
            prop_assert_eq!(written.parse::<f32>(), Ok(number));
        }
    }
}
