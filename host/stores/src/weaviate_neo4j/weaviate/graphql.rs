//! GraphQL queries from JSON values. Only this module writes query text, and quotes every string, so that callers cannot
//! inject syntax.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};

/// A value in the syntax of GraphQL. The field `operator` of an object is a constant enum value, without quotes.
pub(super) struct GraphqlValue<'a>(pub(super) &'a Value);

impl fmt::Display for GraphqlValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // A vector component that is NaN or infinite.
            Value::Null => f.write_char('0'),
            Value::Bool(value) => write!(f, "{value}"),
            // Rust prints floats without an exponent.
            Value::Number(number) => write!(f, "{}", number.as_f64().unwrap_or_default()),
            Value::String(text) => quote(text, f),
            Value::Array(values) => {
                f.write_char('[')?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{}", comma(index), Self(value))?;
                }
                f.write_char(']')
            }
            Value::Object(fields) => {
                f.write_char('{')?;
                write_fields(fields, f)?;
                f.write_char('}')
            }
        }
    }
}

fn write_fields(fields: &Map<String, Value>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, (name, value)) in fields.iter().enumerate() {
        write!(f, "{}{name}:", comma(index))?;
        match value {
            Value::String(constant) if name == "operator" => f.write_str(constant)?,
            _ => write!(f, "{}", GraphqlValue(value))?,
        }
    }
    Ok(())
}

fn comma(index: usize) -> &'static str {
    if index > 0 { "," } else { "" }
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

pub(super) struct GetQuery<'a> {
    pub(super) collection: &'a str,
    pub(super) arguments: Map<String, Value>,
    pub(super) fields: &'static str,
}

impl fmt::Display for GetQuery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{Get{{{}(", self.collection)?;
        write_fields(&self.arguments, f)?;
        write!(f, "){{{}}}}}}}", self.fields)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

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
        let arguments = [
            ("bm25".to_owned(), json!({"query": "a \"b\""})),
            ("limit".to_owned(), json!(5)),
            ("nearVector".to_owned(), json!({"vector": [0.5, -1e-9]})),
        ];
        let get = GetQuery {
            collection: "KGWikiPages",
            arguments: Map::from_iter(arguments),
            fields: "key _additional{score}",
        };
        assert_eq!(
            get.to_string(),
            r#"{Get{KGWikiPages(bm25:{query:"a \"b\""},limit:5,nearVector:{vector:[0.5,-0.000000001]}){key _additional{score}}}}"#
        );
    }

    #[test]
    fn control_characters_are_escaped_and_odd_numbers_are_zero() {
        let written = |value: Value| GraphqlValue(&value).to_string();
        assert_eq!(written(json!("a\n\0\u{7f}\u{feff}é🙂")), r#""a\u000a\u0000\u007f\ufeffé🙂""#);
        assert_eq!(written(json!([f32::NAN, f32::INFINITY, f32::NEG_INFINITY])), "[0,0,0]");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_text_comes_back_and_ends_where_it_ends(
            text in prop_oneof![".*", "\\PC*", "[\"\\\\{}():,\\n\\r\\t\\x00-\\x1f u0-9a-f]*"],
        ) {
            let written = format!("{}){{", GraphqlValue(&json!(text)));
            prop_assert_eq!(read(&written), Some((text, "){")));
        }

        #[test]
        fn every_finite_number_comes_back(number in any::<f32>().prop_filter("finite", |n| n.is_finite())) {
            let written = GraphqlValue(&json!(number)).to_string();
            prop_assert!(!written.contains(['e', 'E', 'i', 'N']));
            prop_assert_eq!(written.parse::<f32>(), Ok(number));
        }
    }
}
