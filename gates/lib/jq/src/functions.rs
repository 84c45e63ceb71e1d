//! Functions of jq over libraries: regular expressions, formats and dates. `jaq-std` has them only together
//! with data for time zones, which are larger than the rest of a gate.

use std::{
    borrow::Cow,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use jaq_core::{
    Cv, DataT, Error, Native, RunPtr, ValR, ValT as _, ValXs,
    native::{Filter, bome, run, unary, v},
};
use jaq_json::Val;
use jaq_std::ValT as _;
use jiff::{Timestamp, civil::DateTime, fmt::strtime, tz::TimeZone};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use regex_bites::{Regex, RegexBuilder};

use crate::{library::JqData, math};

pub(crate) type Value<'a> = <JqData as DataT>::V<'a>;

pub(crate) fn all() -> impl Iterator<Item = Filter<Native<JqData>>> {
    let functions: [Filter<RunPtr<JqData>>; 18] = [
        ("matches", v(2), |cv| with_pattern(cv, true, false)),
        ("split_matches", v(2), |cv| with_pattern(cv, true, true)),
        ("split_", v(2), |cv| with_pattern(cv, false, true)),
        ("escape_html", v(0), |cv| text_to_text(&cv.1, |text| Ok(escaped_html(text)))),
        ("unescape_html", v(0), |cv| text_to_text(&cv.1, |text| Ok(unescaped_html(text)))),
        ("encode_uri", v(0), |cv| text_to_text(&cv.1, |text| Ok(encoded_uri(text)))),
        ("decode_uri", v(0), |cv| text_to_text(&cv.1, decoded_uri)),
        ("encode_base64", v(0), |cv| text_to_text(&cv.1, |text| Ok(BASE64.encode(text)))),
        ("decode_base64", v(0), |cv| text_to_text(&cv.1, decoded_base64)),
        ("now", v(0), |_| bome(Ok(Val::from(now())))),
        ("fromdateiso8601", v(0), |cv| bome(text_of(&cv.1).and_then(|text| from_iso8601(&text)))),
        ("todateiso8601", v(0), |cv| bome(timestamp(&cv.1).map(|time| Val::utf8_str(time.to_string())))),
        ("strftime", v(1), |cv| unary(cv, |time, format| formatted(&time, &format))),
        ("strflocaltime", v(1), |cv| unary(cv, |time, format| formatted(&time, &format))),
        ("strptime", v(1), |cv| unary(cv, |text, format| parsed(&text, &format))),
        ("gmtime", v(0), |cv| bome(timestamp(&cv.1).map(|time| parts_of(civil(time))))),
        ("localtime", v(0), |cv| bome(timestamp(&cv.1).map(|time| parts_of(civil(time))))),
        ("mktime", v(0), |cv| bome(mktime(&cv.1))),
    ];
    functions.into_iter().chain(math::all()).map(run::<JqData>)
}

fn text_of(value: &Val) -> Result<String, Error<Val>> {
    match value {
        Val::TStr(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => Err(Error::str(format!("{other} is not a string"))),
    }
}

fn text_to_text<'a>(value: &Val, convert: impl Fn(&str) -> Result<String, String>) -> ValXs<'a, Value<'a>> {
    bome(text_of(value).and_then(|text| convert(&text).map(Val::utf8_str).map_err(Error::str)))
}

pub(crate) fn number(value: &Val) -> Result<f64, Error<Val>> {
    value.as_f64().ok_or_else(|| Error::str(format!("{value} is not a number")))
}

/// Applies a regular expression with flags. Returns the matches, each as a list of the whole and its groups, and the
/// texts between them.
fn with_pattern<'a>(
    (mut context, value): Cv<'a, JqData>,
    matches: bool,
    between: bool,
) -> ValXs<'a, Value<'a>> {
    let (flags, pattern) = (context.pop_var(), context.pop_var());
    bome(apply_pattern(&value, &pattern, &flags, matches, between))
}

fn apply_pattern(value: &Val, pattern: &Val, flags: &Val, matches: bool, between: bool) -> ValR<Val> {
    let (text, pattern) = (text_of(value)?, text_of(pattern)?);
    let flags = if matches!(flags, Val::Null) { String::new() } else { text_of(flags)? };
    if let Some(unknown) = flags.chars().find(|flag| !"gnimslxp".contains(*flag)) {
        return Err(Error::str(format!("{unknown} is not a flag of a regular expression")));
    }
    let has = |flag| flags.contains(flag);
    let pattern: Regex = RegexBuilder::new(&pattern)
        .case_insensitive(has('i'))
        .dot_matches_new_line(has('s') || has('p'))
        .multi_line(has('m') || has('p'))
        .swap_greed(has('l'))
        .ignore_whitespace(has('x'))
        .build()
        .map_err(|error| Error::str(format!("invalid regular expression: {error}")))?;
    let names: Vec<Option<&str>> = pattern.capture_names().collect();
    let (mut found, mut end) = (Vec::new(), 0);
    // Offsets count characters.
    let (mut seen_bytes, mut seen_chars) = (0, 0);
    for captures in pattern.captures_iter(&text) {
        let Some(whole) = captures.get(0) else { continue };
        if has('n') && whole.range().is_empty() {
            continue;
        }
        seen_chars += text[seen_bytes..whole.start()].chars().count();
        seen_bytes = whole.start();
        let group = |(index, name): (usize, &Option<&str>)| {
            let group = captures.get(index);
            let offset = group.as_ref().map_or(-1, |group| match group.start().checked_sub(seen_bytes) {
                Some(_) => (seen_chars + text[seen_bytes..group.start()].chars().count()) as isize,
                None => text[..group.start()].chars().count() as isize,
            });
            let string = group.as_ref().map_or(Val::Null, |group| Val::utf8_str(group.as_str().to_owned()));
            let length = group.as_ref().map_or(0, |group| group.as_str().chars().count() as isize);
            let name = name.map(|name| ("name", Val::utf8_str(name.to_owned())));
            let members = [("offset", offset.into()), ("length", length.into()), ("string", string)];
            let members = members.into_iter().chain(name);
            Val::obj(members.map(|(key, value)| (Val::utf8_str(key), value)).collect())
        };
        if between {
            found.push(Val::utf8_str(text[end..whole.start()].to_owned()));
            end = whole.end();
        }
        if matches {
            found.push(names.iter().enumerate().map(group).collect());
        }
        if !has('g') {
            break;
        }
    }
    if between {
        found.push(Val::utf8_str(text[end..].to_owned()));
    }
    Ok(found.into_iter().collect())
}

/// Characters of HTML and their references.
const HTML: [(&str, &str); 5] =
    [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&#39;"), ("\"", "&quot;")];

fn escaped_html(text: &str) -> String {
    HTML.iter().fold(text.to_owned(), |text, (plain, reference)| text.replace(plain, reference))
}

fn unescaped_html(text: &str) -> String {
    HTML.iter().rev().fold(text.to_owned(), |text, (plain, reference)| text.replace(reference, plain))
}

/// All characters but the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

fn encoded_uri(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

fn decoded_uri(text: &str) -> Result<String, String> {
    let invalid = || format!("{text:?} is not a valid uri encoding");
    let is_hex = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    match text.split('%').skip(1).all(is_hex) {
        true => percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(|_| invalid()),
        false => Err(invalid()),
    }
}

/// Reads Base64 with or without padding, as many APIs leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

fn decoded_base64(text: &str) -> Result<String, String> {
    let decoded = BASE64
        .decode(text.trim_end_matches('='))
        .map_err(|_| format!("{text:?} is not valid base64 data"))?;
    Ok(String::from_utf8_lossy(&decoded).into_owned())
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

fn time_error(error: impl std::fmt::Display) -> Error<Val> {
    Error::str(error.to_string())
}

fn seconds(time: Timestamp) -> Val {
    match time.subsec_nanosecond() {
        0 => from_seconds(time.as_second()),
        _ => Val::from(time.as_microsecond() as f64 / 1e6),
    }
}

/// Returns whole seconds, which need more than 32 bits.
fn from_seconds(seconds: i64) -> Val {
    isize::try_from(seconds)
        .map_or_else(|_| Val::from_num(&seconds.to_string()).unwrap_or_default(), Val::from)
}

/// Returns the time of a number of seconds since 1970, or of the parts of a time.
fn timestamp(value: &Val) -> Result<Timestamp, Error<Val>> {
    match value {
        Val::Arr(parts) => TimeZone::UTC.to_timestamp(civil_of(parts)?).map_err(time_error),
        number => {
            let seconds = self::number(number)?;
            Timestamp::from_microsecond((seconds * 1e6) as i64).map_err(time_error)
        }
    }
}

fn civil(time: Timestamp) -> DateTime {
    TimeZone::UTC.to_datetime(time)
}

fn from_iso8601(text: &str) -> ValR<Val> {
    text.parse::<Timestamp>().map(seconds).map_err(time_error)
}

fn mktime(value: &Val) -> ValR<Val> {
    match value {
        Val::Arr(_) => timestamp(value).map(|time| from_seconds(time.as_second())),
        _ => Err(Error::str("mktime requires array of 6 numbers")),
    }
}

/// Returns the date and time of [`parts_of`]. Missing parts are zero.
fn civil_of(parts: &[Val]) -> Result<DateTime, Error<Val>> {
    let invalid =
        || Error::str("a time is a list of numbers: year, month from 0, day, hours, minutes, seconds");
    let part = |at: usize| match parts.get(at) {
        Some(part) => part.as_f64().ok_or_else(invalid),
        None => Ok(0.0),
    };
    let (second, day) = (part(5)?, part(2)?.max(1.0));
    let nanoseconds = (second.fract() * 1e9) as i32;
    // The casts saturate, and jiff refuses what is out of range.
    DateTime::new(
        part(0)? as i16,
        (part(1)? + 1.0) as i8,
        day as i8,
        part(3)? as i8,
        part(4)? as i8,
        second as i8,
        nanoseconds,
    )
    .map_err(time_error)
}

/// Returns the parts of a time: year, month from 0, day, hours, minutes, seconds, weekday from Sunday, day of the year.
fn parts_of(time: DateTime) -> Val {
    let second = f64::from(time.second()) + f64::from(time.subsec_nanosecond()) / 1e9;
    let whole = [
        isize::from(time.year()),
        isize::from(time.month()) - 1,
        isize::from(time.day()),
        isize::from(time.hour()),
        isize::from(time.minute()),
    ];
    let days = [isize::from(time.weekday().to_sunday_zero_offset()), isize::from(time.day_of_year()) - 1];
    let whole = whole.into_iter().map(Val::from).chain([math::from_f64(second)]);
    whole.chain(days.into_iter().map(Val::from)).collect()
}

fn formatted(time: &Val, format: &Val) -> ValR<Val> {
    strtime::format(text_of(format)?, timestamp(time)?).map(Val::utf8_str).map_err(time_error)
}

fn parsed(text: &Val, format: &Val) -> ValR<Val> {
    let text = text_of(text)?;
    let time = strtime::parse(text_of(format)?, &text).map_err(time_error)?;
    let time = time.to_datetime().or_else(|_| time.to_date().map(DateTime::from)).map_err(time_error)?;
    Ok(parts_of(time))
}
