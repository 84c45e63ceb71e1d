//! Script files. Leading comments describe the script. They stay in the code, so that line numbers match the file.
//!
//! ```text
//! // script: weekly_report
//! // description: Sums the errors of a week.
//! // params: {"type":"object","properties":{"week":{"type":"integer"}}}
//! return …
//! ```

use serde_json::{Map, Value};

const NAME: &str = "script";
const DESCRIPTION: &str = "description";
const PARAMS: &str = "params";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptFile {
    pub(crate) name: String,
    pub(crate) description: String,
    /// JSON Schema of `input`.
    pub(crate) params: Option<Map<String, Value>>,
    pub(crate) code: String,
}

pub(crate) fn is_name(name: &str) -> bool {
    let letters = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(letters)
}

impl ScriptFile {
    /// Parses a file. The error is a message about it, with the line if known.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let (mut name, mut description, mut params) = (None, None, None);
        for (at, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { break };
            let Some((key, value)) = comment.split_once(':') else { continue };
            let value = value.trim();
            match key.trim() {
                NAME if name.is_none() => name = Some(value.to_owned()),
                DESCRIPTION if description.is_none() => description = Some(value.to_owned()),
                PARAMS if params.is_none() => {
                    let schema = serde_json::from_str::<Map<String, Value>>(value);
                    let schema = schema.map_err(|reason| {
                        format!("line {}: params must be a JSON Schema object on one line: {reason}", at + 1)
                    })?;
                    params = Some(schema);
                }
                _ => {}
            }
        }
        let missing = |key: &str| format!("missing line `// {key}: …` at the beginning");
        let name = name.ok_or_else(|| missing(NAME))?;
        if !is_name(&name) {
            return Err(format!(
                "invalid script name '{}': expected 1 to 64 of a-z, 0-9 and _",
                crate::cut(&name)
            ));
        }
        let description =
            description.filter(|about| !about.is_empty()).ok_or_else(|| missing(DESCRIPTION))?;
        Ok(Self { name, description, params, code: text.to_owned() })
    }

    pub(crate) fn render(
        name: &str,
        description: &str,
        params: Option<&Map<String, Value>>,
        code: &str,
    ) -> String {
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = format!("// {NAME}: {name}\n// {DESCRIPTION}: {description}\n");
        if let Some(params) = params {
            text += &format!("// {PARAMS}: {}\n", Value::Object(params.clone()));
        }
        text + code.trim_end() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_file_can_be_read() {
        let params = serde_json::json!({"type": "object", "properties": {"n": {"type": "number"}}});
        let params = params.as_object().cloned();
        let text = ScriptFile::render(
            "twice",
            "Doubles\n a  number.",
            params.as_ref(),
            "// own\nreturn input.n * 2\n",
        );
        let file = ScriptFile::read(&text).expect("a file");
        assert_eq!((file.name.as_str(), file.description.as_str()), ("twice", "Doubles a number."));
        assert_eq!(file.params, params);
        assert!(file.code.ends_with("// own\nreturn input.n * 2\n"), "{}", file.code);
        // If the code already has such comments, the first ones count.
        let again = ScriptFile::read(&ScriptFile::render("other", "Other.", None, &text)).expect("a file");
        assert_eq!((again.name.as_str(), again.params), ("other", params));
    }

    #[test]
    fn errors_name_the_fault() {
        for (text, reason) in [
            ("return 1", "`// script: …`"),
            ("// script: Not a name\n", "1 to 64 of a-z"),
            ("// script: a\n// description:\nreturn 1", "`// description: …`"),
            ("// script: a\n// description: b\n// params: [1]\n", "line 3: params must be a JSON Schema"),
        ] {
            let error = ScriptFile::read(text).expect_err(text);
            assert!(error.contains(reason), "{error}");
        }
    }
}
