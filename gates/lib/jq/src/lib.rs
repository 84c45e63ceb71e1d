//! jq filters that select parts of a large result. The filter runs in the gate, so the sandbox limits its time and
//! memory.

mod functions;
mod library;
mod math;
mod terms;

use gatehouse_sdk::{Fault, replies::ReplyView};
use jaq_core::{
    Compiler, Ctx, Vars,
    load::{self, Arena, File, Loader, parse::Def},
    unwrap_valr,
};
use jaq_json::{Val, read};

const MAX_VALUES: usize = 10_000;
const MAX_BYTES: usize = 4 << 20;

/// Maximum nesting depth. The parser recurses once per level.
const MAX_DEPTH: usize = 256;

/// Maximum bytes of a filter, and operators in it. The parser and the compiler recurse once per operator, too.
const MAX_FILTER_BYTES: usize = 16 << 10;
const MAX_OPERATORS: usize = 500;

pub struct JqOutputs {
    /// Output values, each as JSON on one line.
    pub values: Vec<String>,
    /// For the reader, for example that the output is incomplete.
    pub note: Option<&'static str>,
}

/// Applies a filter to the data of a reply. A filter that fails on data that is part of other JSON is applied to that:
/// callers know either shape.
pub fn run_on(view: &ReplyView, program: &str) -> Result<JqOutputs, Fault> {
    let Some(data) = &view.data else { return run(&view.text, program) };
    let outputs = run(&data.json, program);
    let (Err(_), Some(whole)) = (&outputs, &view.whole) else { return outputs };
    let Ok(of_whole) = run(whole, program) else { return outputs };
    let note =
        of_whole.note.or(Some("The filter was applied to the whole JSON, with the data as a part of it."));
    Ok(JqOutputs { note, ..of_whole })
}

/// Applies a filter to JSON text. For JSON Lines, the input is an array of all lines.
pub fn run(text: &str, program: &str) -> Result<JqOutputs, Fault> {
    if json_nests_too_deep(text) {
        return Err(Fault::invalid(format!("the value is nested deeper than {MAX_DEPTH} levels"))
            .hint("Select a part with json_pointer first."));
    }
    let text = text.trim_start_matches('\u{feff}');
    let values: Result<Vec<Val>, _> = read::parse_many(text.as_bytes()).collect();
    let not_json = |e: String| {
        Fault::invalid(format!("jq needs JSON: {e}")).hint("Read this result by lines or offset.")
    };
    let mut values = values.map_err(|e| not_json(e.to_string()))?;
    let (input, lines) = match values.len() {
        0 => return Err(not_json("the text is empty".into())),
        1 => (values.remove(0), None),
        _ => (
            values.into_iter().collect(),
            Some("The result is JSON Lines; the filter's input is an array of all lines."),
        ),
    };
    let filter = compile(program)?;
    let context = Ctx::<library::JqData>::new(&filter.lut, Vars::new([]));
    let mut outputs = JqOutputs { values: Vec::new(), note: lines };
    let mut bytes = 0;
    for output in filter.id.run((context, input)).map(unwrap_valr) {
        let value = output
            .map_err(|error| Fault::invalid(format!("jq: {}", truncate(&error.to_string()))))?
            .to_string();
        let value = with_finite_numbers(value);
        bytes += value.len();
        if outputs.values.len() == MAX_VALUES || bytes > MAX_BYTES {
            outputs.note = Some("The filter returned more values; these are the first ones.");
            break;
        }
        if serde_json::from_str::<serde::de::IgnoredAny>(&value).is_err() {
            return Err(Fault::invalid(format!("jq: '{}' is not JSON", truncate(&value))));
        }
        outputs.values.push(value);
    }
    Ok(outputs)
}

/// Replaces the numbers that JSON does not have as jq does: NaN by null, an infinity by the largest number.
fn with_finite_numbers(text: String) -> String {
    const NOT_FINITE: [(&str, &str); 2] = [("NaN", "null"), ("Infinity", "1.7976931348623157e+308")];
    if !NOT_FINITE.iter().any(|(word, _)| text.contains(word)) {
        return text;
    }
    let (mut finite, mut rest, mut in_string) = (String::with_capacity(text.len()), text.as_str(), false);
    while let Some(c) = rest.chars().next() {
        let word = NOT_FINITE.iter().find(|(word, _)| !in_string && rest.starts_with(word));
        let length = match (word, c) {
            (Some((word, number)), _) => {
                finite.push_str(number);
                word.len()
            }
            (None, '\\') => {
                let end = rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end);
                finite.push_str(&rest[..end]);
                end
            }
            (None, c) => {
                in_string ^= c == '"';
                finite.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    finite
}

/// Checks that a filter is valid.
pub fn check(program: &str) -> Result<(), Fault> {
    compile(program).map(drop)
}

/// Name of the definition that has the filter.
const MAIN: &str = "_main";

type CompiledFilter = jaq_core::Filter<library::JqData>;

fn compile(program: &str) -> Result<CompiledFilter, Fault> {
    // Brackets in strings count too, because strings can contain filters.
    if nests_too_deep(program.bytes()) {
        return Err(Fault::invalid(format!("the filter is nested deeper than {MAX_DEPTH} levels"))
            .hint("Use fewer nested brackets."));
    }
    let operators = program.bytes().filter(|byte| b",|+-*/%;<>=?".contains(byte)).count();
    let words = program.split_whitespace().filter(|word| ["and", "or", "as"].contains(word)).count();
    if program.len() > MAX_FILTER_BYTES || operators + words > MAX_OPERATORS {
        let limit = format!("at most {} KiB and {MAX_OPERATORS} operators", MAX_FILTER_BYTES >> 10);
        return Err(Fault::invalid(format!("the filter is too long: it may have {limit}"))
            .hint("Select a part first, and filter that."));
    }
    let arena = Arena::default();
    let load = |definitions: Vec<_>, code| Loader::new(definitions).load(&arena, File { code, path: () });
    // The loader explains errors, and does not give out what it parsed.
    load(Vec::new(), program).map_err(|errors| {
        invalid_filter(errors.into_iter().map(|(_, error)| syntax_error(error)).collect())
    })?;
    let body = library::with_operators_of_jq(program)
        .ok_or_else(|| invalid_filter(vec!["invalid syntax".into()]))?;
    let mut definitions: Vec<Def<&str>> = library::definitions().collect();
    definitions.push(Def { name: MAIN, args: Vec::new(), body });
    let modules = load(definitions, MAIN).map_err(|_| Fault::internal("jq: the library is invalid"))?;
    Compiler::default().with_funs(library::functions()).compile(modules).map_err(|errors| {
        invalid_filter(errors.into_iter().flat_map(|(_, undefined)| undefined).map(undefined_name).collect())
    })
}

fn invalid_filter(mut errors: Vec<String>) -> Fault {
    errors.truncate(3);
    let fault = Fault::invalid(format!("jq: {}", errors.join("; ")));
    fault.hint("Filters use jq 1.8 without modules, `input`, `?//`, `$__loc__`, and look-around in regular expressions.")
}

fn syntax_error(error: load::Error<&str>) -> String {
    let first = match &error {
        load::Error::Io(_) => return "modules cannot be loaded".into(),
        load::Error::Lex(errors) => errors.first().map(|(expected, at)| (expected.as_str(), *at)),
        load::Error::Parse(errors) => errors.first().map(|(expected, at)| (expected.as_str(), *at)),
    };
    match first {
        Some((expected, "")) => format!("expected {expected} at the end"),
        Some((expected, at)) => format!("expected {expected} at '{}'", truncate(at)),
        None => "invalid syntax".into(),
    }
}

fn undefined_name((name, undefined): (&str, jaq_core::compile::Undefined)) -> String {
    format!("unknown {} '{name}'", undefined.as_str())
}

/// An error may contain a whole value.
fn truncate(text: &str) -> String {
    let mut head: String = text.chars().take(200).collect();
    if head.len() < text.len() {
        head.push('…');
    }
    head
}

/// Returns true if JSON is nested too deeply to parse.
///
/// Skips comments as the parser does (`#` to the end of the line): a bracket or a quote in one is not read.
fn json_nests_too_deep(text: &str) -> bool {
    let (mut in_string, mut escaped, mut in_comment) = (false, false, false);
    let outside_strings = text.bytes().filter(|byte| {
        if in_comment {
            in_comment = *byte != b'\n';
            return false;
        }
        if in_string {
            (in_string, escaped) = (escaped || *byte != b'"', !escaped && *byte == b'\\');
            return false;
        }
        in_string = *byte == b'"';
        in_comment = *byte == b'#';
        true
    });
    nests_too_deep(outside_strings)
}

fn nests_too_deep(mut bytes: impl Iterator<Item = u8>) -> bool {
    let mut depth = 0_usize;
    bytes.any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

#[cfg(test)]
mod tests;
