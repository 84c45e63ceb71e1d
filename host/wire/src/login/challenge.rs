//! `WWW-Authenticate` challenges of servers (RFC 6750 section 3, RFC 9728 section 5.1).

const MAX_HEADER: usize = 8 << 10;

/// Parameters of `Bearer` challenges; the first value of each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BearerChallenge {
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    /// Error code, such as `invalid_token` or `insufficient_scope`.
    pub error: Option<String>,
}

impl BearerChallenge {
    /// Parses `WWW-Authenticate` values. Each may contain several challenges of several schemes.
    pub fn from_headers<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut challenge = Self::default();
        for value in values.into_iter().filter(|value| value.len() <= MAX_HEADER) {
            let bearer = auth_challenges(value).into_iter().filter(|challenge| challenge.is("bearer"));
            for (name, value) in bearer.flat_map(|challenge| challenge.parameters) {
                let field = match name.as_str() {
                    "resource_metadata" => &mut challenge.resource_metadata,
                    "scope" => &mut challenge.scope,
                    "error" => &mut challenge.error,
                    _ => continue,
                };
                field.get_or_insert(value);
            }
        }
        challenge
    }

    pub(super) fn scopes(&self) -> Vec<String> {
        self.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect()
    }
}

/// One challenge of any scheme.
pub(crate) struct AuthChallenge<'a> {
    scheme: &'a str,
    /// Names in lower case, and values.
    parameters: Vec<(String, String)>,
}

impl AuthChallenge<'_> {
    pub(crate) fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Parses the challenges of one `WWW-Authenticate` value.
pub(crate) fn auth_challenges(text: &str) -> Vec<AuthChallenge<'_>> {
    let (mut challenges, mut rest) = (Vec::<AuthChallenge<'_>>::new(), text);
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = rest.split_at(rest.find([' ', '\t', ',', '=', '"']).unwrap_or(rest.len()));
        let spaced = after.trim_start();
        match spaced.strip_prefix('=') {
            Some(value) if !word.is_empty() => {
                let (value, next) = value_of(value.trim_start());
                if let Some(challenge) = challenges.last_mut() {
                    challenge.parameters.push((word.to_ascii_lowercase(), value));
                }
                rest = next;
            }
            _ if !word.is_empty() => {
                challenges.push(AuthChallenge { scheme: word, parameters: Vec::new() });
                rest = after;
            }
            _ => match rest.chars().next() {
                Some(odd) => rest = &rest[odd.len_utf8()..],
                None => return challenges,
            },
        }
    }
}

/// Splits off a value. In quotes, a backslash escapes the next character.
fn value_of(text: &str) -> (String, &str) {
    let Some(inner) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find([' ', '\t', ',']).unwrap_or(text.len()));
        return (value.to_owned(), rest);
    };
    let (mut value, mut letters) = (String::new(), inner.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &inner[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            _ => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> (String, String, String) {
        let BearerChallenge { resource_metadata, scope, error } =
            BearerChallenge::from_headers(values.iter().copied());
        (resource_metadata.unwrap_or_default(), scope.unwrap_or_default(), error.unwrap_or_default())
    }

    #[test]
    fn challenges_of_servers_are_parsed() {
        for (value, metadata, scope, error) in [
            (
                r#"Bearer resource_metadata="https://a/x", scope="a b", error="invalid_token""#,
                "https://a/x",
                "a b",
                "invalid_token",
            ),
            ("bearer Resource_Metadata=https://a/x", "https://a/x", "", ""),
            (r#"Basic realm="x, scope=no", Bearer scope = "a\"b""#, "", "a\"b", ""),
            (r#"DPoP scope="no", bearer scope="yes""#, "", "yes", ""),
            ("Bearer", "", "", ""),
            ("", "", "", ""),
            (r#"Bearer scope="open"#, "", "open", ""),
            (r#"= "" ,,= Bearer scope="x\"#, "", "x", ""),
        ] {
            assert_eq!(read(&[value]), (metadata.into(), scope.into(), error.into()), "{value}");
        }
        assert_eq!(read(&["Basic x=y", "Bearer scope=a", "Bearer scope=b"]).1, "a");
        assert_eq!(read(&[&format!("Bearer scope=\"{}\"", "x".repeat(MAX_HEADER))]).1, "");
    }
}
