//! Integers that JavaScript numbers cannot hold. They pass between JSON and the script as marked strings, which the prelude
//! turns into BigInts and back.

/// Begins a string that stands for an integer. No tool has a reason to send it.
pub(super) const MARK: &str = "\u{0}gatehouse-integer:";

/// The mark as JSON writes it.
const MARK_IN_JSON: &str = "\\u0000gatehouse-integer:";

/// The largest integer below which each is a number of its own.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Replaces integers beyond 2^53 by marked strings. `None` if there are none.
pub(super) fn marked(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"-+.eE".contains(byte);
                let end = at + bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                if is_large_integer(&json[at..end]) {
                    out.push_str(&json[copied..at]);
                    out.push_str(&format!("\"{MARK_IN_JSON}{}\"", &json[at..end]));
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    (copied > 0).then(|| out + &json[copied..])
}

/// Replaces the marked strings that the prelude wrote by integers. Only whole strings that are values count.
pub(super) fn unmarked(json: String) -> String {
    let mark = format!("\"{MARK_IN_JSON}");
    if !json.contains(&mark) {
        return json;
    }
    let bytes = json.as_bytes();
    let (mut out, mut copied, mut at) = (String::with_capacity(json.len()), 0, 0);
    while at < bytes.len() {
        if bytes[at] != b'"' {
            at += 1;
            continue;
        }
        let end = string_end(bytes, at).min(bytes.len());
        let digits = json.get(at..end).and_then(|literal| literal.strip_prefix(&mark)?.strip_suffix('"'));
        let is_key = json[end..].trim_start().starts_with(':');
        if let Some(digits) = digits.filter(|digits| !is_key && is_integer(digits)) {
            out.push_str(&json[copied..at]);
            out.push_str(digits);
            copied = end;
        }
        at = end;
    }
    out + &json[copied..]
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !has_leading_zero && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_large_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    is_integer(number) && digits.parse::<u64>().map_or(true, |value| value > MAX_SAFE)
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_are_marked_and_come_back() {
        let json = r#"{"id":418502930602131457,"n":-9007199254740992,"safe":9007199254740991,"f":1e300,"s":"\"418502930602131457","u":[1157920892373161954235709850086879078532699846656405640]}"#;
        let marked = marked(json).expect("marked");
        assert_eq!(marked.matches(MARK_IN_JSON).count(), 3, "{marked}");
        assert_eq!(unmarked(marked), json);
        assert_eq!(super::marked(r#"[1, 2.5, "418502930602131457", 12345678901234567890.5, 1E400]"#), None);
        let odd = format!(
            "[\"{MARK_IN_JSON}x\",\"{MARK_IN_JSON}\",\"{MARK_IN_JSON}007\",{{\"{MARK_IN_JSON}5\":1}},\"x\\\"{MARK_IN_JSON}5\"]"
        );
        assert_eq!(unmarked(odd.clone()), odd, "only digits are integers");
    }
}
