//! Converts TypeScript to JavaScript without moving code. Types become whitespace of the same length, so error
//! positions match the source. Rewritten code, such as enums and parameter properties, stays on its line.
//!
//! Types are not checked.

mod classes;
mod edits;
mod enums;
mod nesting;
mod tool_uses;
mod unsupported;
mod visit;
mod written_forms;

#[cfg(test)]
mod tests;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Program, Statement};
use oxc_ast_visit::Visit;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_span::{GetSpan, SourceType};

use edits::TextEdits;
pub(crate) use tool_uses::uses;

pub(crate) const MAX_BYTES: usize = 256 << 10;

/// JavaScript with the script as the body of an async function that returns its result.
#[derive(Debug)]
pub(crate) struct CompiledScript {
    pub(crate) javascript: String,
    /// Line of the JavaScript, from 1, that was inserted before the last expression.
    split: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompileError {
    pub(crate) message: String,
    /// Line and column in characters, from 1.
    pub(crate) position: Option<(usize, usize)>,
}

impl CompileError {
    fn at(source: &str, byte: u32, message: impl Into<String>) -> Self {
        Self { message: message.into(), position: Some(position(source, byte as usize)) }
    }
}

/// Returns the line and column, from 1, of a byte.
fn position(source: &str, byte: usize) -> (usize, usize) {
    let before = source.get(..byte.min(source.len())).unwrap_or(source);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

const HEAD: &str = "(async () => {\"use strict\";\n";
const TAIL: &str = "\n})()";

impl CompiledScript {
    pub(crate) fn read(source: &str) -> Result<Self, CompileError> {
        if source.len() > MAX_BYTES {
            let message = format!("the script has {} bytes; the limit is {MAX_BYTES}", source.len());
            return Err(CompileError { message, position: None });
        }
        nesting::check(source)?;
        let allocator = Allocator::default();
        let as_written = written_forms::script(source, |text| parses(&allocator, text));
        let source = &*as_written;
        let parsed = parsed(&allocator, source);
        if let Some(error) = parsed.diagnostics.errors().next() {
            let byte = error.labels.first().map(|label| label.offset());
            let mut message = format!("SyntaxError: {}", error.message);
            if let Some(help) = &error.help {
                message = format!("{message} ({help})");
            }
            let position = byte.map(|byte| position(source, byte as usize));
            return Err(CompileError { message: unsupported::explain(message), position });
        }
        let mut visitor = visit::TypeStripper::new(source);
        visitor.visit_program(&parsed.program);
        let mut edits = visitor.finish()?;
        if let Some(hashbang) = &parsed.program.hashbang {
            edits.blank(hashbang.span.start, hashbang.span.end);
        }
        let split = return_last(&parsed.program, source, &mut edits);
        let body = edits.apply(source);
        Ok(Self { javascript: format!("{HEAD}{body}{TAIL}"), split })
    }

    /// Maps a position in the JavaScript to the TypeScript. Both count from 1; columns are bytes in the JavaScript and
    /// characters in the TypeScript.
    pub(crate) fn position(&self, source: &str, line: usize, column: usize) -> (usize, usize) {
        let mut source_line = line.saturating_sub(1);
        if self.split.is_some_and(|split| source_line > split) {
            source_line -= 1;
        }
        let text = source.lines().nth(source_line.saturating_sub(1)).unwrap_or_default();
        let before = text.get(..column.saturating_sub(1)).map_or(column, |before| before.chars().count() + 1);
        (source_line.max(1), before)
    }
}

fn parsed<'a>(allocator: &'a Allocator, source: &'a str) -> ParserReturn<'a> {
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    Parser::new(allocator, source, SourceType::ts().with_module(true)).with_options(options).parse()
}

fn parses(allocator: &Allocator, source: &str) -> bool {
    parsed(allocator, source).diagnostics.errors().next().is_none()
}

/// Makes the script return its last statement if that is an expression. It moves to its own line, padded to keep its
/// columns. A function that is the whole script is called. Returns the line before the statement.
fn return_last(program: &Program<'_>, source: &str, edits: &mut TextEdits) -> Option<usize> {
    let is_whole = program.body.len() == 1;
    let (start, end, is_function) = match program.body.last() {
        Some(Statement::ExpressionStatement(last)) => {
            let called = last.expression.without_parentheses();
            let is_function =
                matches!(called, Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_));
            (last.span.start, last.expression.span().end, is_whole && is_function)
        }
        Some(Statement::FunctionDeclaration(only)) if is_whole && !only.declare => {
            let name = only.id.as_ref()?.name.as_str();
            edits.insert(only.span.end, format!("; return {name}();"));
            return None;
        }
        None => {
            let last = program.directives.last()?;
            (last.span.start, last.expression.span.end, false)
        }
        _ => return None,
    };
    let (line, _) = position(source, start as usize);
    let column = source[..start as usize].rsplit('\n').next().unwrap_or_default().len();
    edits.insert(start, format!("return (\n{}", " ".repeat(column)));
    edits.insert(end, if is_function { ")()" } else { ")" });
    Some(line)
}
