//! Walks the syntax tree and records the parts to blank.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::{CompileError, edits::TextEdits, unsupported};

/// Maximum depth of the walk; chained operators also add levels.
const MAX_TREE_DEPTH: usize = 1_200;

/// The largest integer that a script gets as a number.
const MAX_SAFE_INTEGER: u128 = (1 << 53) - 1;

pub(super) struct TypeStripper<'s> {
    pub(super) source: &'s str,
    pub(super) edits: TextEdits,
    error: Option<CompileError>,
    depth: usize,
}

impl<'s> TypeStripper<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, edits: TextEdits::default(), error: None, depth: 0 }
    }

    pub(super) fn finish(self) -> Result<TextEdits, CompileError> {
        self.error.map_or(Ok(self.edits), Err)
    }

    pub(super) fn refuse(&mut self, at: u32, reason: &str) {
        if self.error.is_none() {
            self.error = Some(CompileError::at(self.source, at, reason));
        }
    }

    /// Blanks a statement or member. A semicolon replaces its first byte, so that its neighbors stay separate.
    pub(super) fn statement(&mut self, span: Span) {
        self.edits.blank(span.start, span.end);
        self.edits.mark(span.start, b';');
    }

    pub(super) fn find(&self, byte: u8, from: u32, to: u32) -> Option<u32> {
        let range = self.source.as_bytes().get(from as usize..to as usize)?;
        range.iter().position(|candidate| *candidate == byte).map(|at| from + at as u32)
    }

    pub(super) fn blank_byte(&mut self, byte: u8, from: u32, to: u32) {
        if let Some(at) = self.find(byte, from, to) {
            self.edits.blank(at, at + 1);
        }
    }

    /// Blanks a type at the end of a construct. If the next line could now continue it, a semicolon ends it.
    fn blank_type_tail(&mut self, start: u32, end: u32) {
        self.edits.blank(start, end);
        let rest = &self.source[end as usize..];
        let next = rest.trim_start_matches([' ', '\t', '\r']);
        let apart = next.starts_with('\n') || next.starts_with("//");
        let next = skip_blank(next);
        if apart && next.starts_with(['(', '[', '`']) {
            self.edits.mark(end - 1, b';');
        }
    }

    /// Moves a bracket if the types of an arrow function span lines, because a line break before the arrow is a syntax
    /// error.
    fn arrow_types(&mut self, arrow: &ArrowFunctionExpression<'_>) {
        if let Some(types) = &arrow.return_type
            && self.source[types.span.start as usize..types.span.end as usize].contains('\n')
        {
            // A later bracket could be in a comment.
            let end = arrow.params.span.end;
            if let Some(close) = end.checked_sub(1).and_then(|at| self.find(b')', at, end)) {
                self.edits.blank(close, close + 1);
                self.edits.mark(types.span.end - 1, b')');
            }
        }
        if let Some(types) = &arrow.type_parameters
            && arrow.r#async
            && self.source[types.span.start as usize..types.span.end as usize].contains('\n')
            && let Some(open) = self.find(b'(', types.span.end, arrow.params.span.end)
        {
            self.edits.blank(open, open + 1);
            self.edits.mark(types.span.start, b'(');
        }
    }
}

fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if text.starts_with("//") {
            text = text.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(comment) = text.strip_prefix("/*") {
            text = comment.split_once("*/").map_or("", |(_, rest)| rest);
        } else {
            return text;
        }
    }
}

impl<'a> Visit<'a> for TypeStripper<'_> {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        if self.depth >= MAX_TREE_DEPTH {
            return self.refuse(it.span().start, "the script nests expressions too deeply; split them");
        }
        self.depth += 1;
        walk::walk_expression(self, it);
        self.depth -= 1;
    }

    fn visit_numeric_literal(&mut self, it: &NumericLiteral<'a>) {
        let digits = self.source[it.span.start as usize..it.span.end as usize].replace('_', "");
        // Exact ones too: an id from a tool is a BigInt, which equals no number.
        let is_large = digits.parse::<u128>().is_ok_and(|integer| integer > MAX_SAFE_INTEGER);
        if is_large && !digits.starts_with('0') {
            self.refuse(it.span.start, unsupported::LARGE_INTEGER);
        }
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if self.depth >= MAX_TREE_DEPTH {
            return self.refuse(it.span().start, "the script nests statements too deeply; split them");
        }
        self.depth += 1;
        match it {
            Statement::TSTypeAliasDeclaration(it) => self.statement(it.span),
            Statement::TSInterfaceDeclaration(it) => self.statement(it.span),
            Statement::VariableDeclaration(it) if it.declare => self.statement(it.span),
            Statement::FunctionDeclaration(it) if it.declare || it.body.is_none() => self.statement(it.span),
            Statement::ClassDeclaration(it) if it.declare => self.statement(it.span),
            Statement::TSEnumDeclaration(it) if it.declare => self.statement(it.span),
            Statement::ImportDeclaration(it) if it.import_kind == ImportOrExportKind::Type => {
                self.statement(it.span)
            }
            Statement::ImportDeclaration(it) => self.refuse(it.span.start, unsupported::IMPORT),
            Statement::TSImportEqualsDeclaration(it) => self.refuse(it.span.start, unsupported::REQUIRE),
            Statement::TSExternalModuleDeclaration(it) if it.declare => self.statement(it.span),
            Statement::TSNamespaceDeclaration(it) if it.declare => self.statement(it.span),
            Statement::TSExternalModuleDeclaration(it) => self.refuse(it.span.start, unsupported::NAMESPACE),
            Statement::TSNamespaceDeclaration(it) => self.refuse(it.span.start, unsupported::NAMESPACE),
            Statement::TSGlobalDeclaration(it) => self.statement(it.span),
            Statement::ExportAllDeclaration(_)
            | Statement::ExportDefaultDeclaration(_)
            | Statement::TSExportAssignment(_)
            | Statement::TSNamespaceExportDeclaration(_) => self.refuse(it.span().start, unsupported::EXPORT),
            Statement::ExportNamedDeclaration(it) if it.specifiers.is_empty() => self.statement(it.span),
            other => walk::walk_statement(self, other),
        }
        self.depth -= 1;
    }

    fn visit_export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        self.refuse(it.span.start, unsupported::EXPORT);
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        self.refuse(it.span.start, unsupported::EXPORT);
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        self.refuse(it.span.start, unsupported::EXPORT);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.refuse(it.span.start, unsupported::IMPORT);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span.start, unsupported::DECORATOR);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.refuse(it.span.start, unsupported::ACCESSOR);
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.write_enum(it);
        it.body.members.iter().filter_map(|member| member.initializer.as_ref()).for_each(|value| {
            self.visit_expression(value);
        });
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank_type_tail(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.edits.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.edits.blank(it.span.start, it.span.end);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.edits.blank(it.span.start, it.span.end);
        if skip_blank(&self.source[it.span.end as usize..]).starts_with(',') {
            self.blank_byte(b',', it.span.end, self.source.len() as u32);
        }
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_type_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_type_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.span.end - 1, it.span.end);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        let (start, end) = (it.span.start, it.expression.span().start);
        if self.source[start as usize..end as usize].contains('\n') {
            self.refuse(start, unsupported::ASSERTION);
        }
        self.edits.blank(start, end);
        self.visit_expression(&it.expression);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            let end = it.type_annotation.as_ref().map_or(it.span.end, |types| types.span.start + 1);
            self.blank_byte(b'!', it.id.span().end, end);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.optional {
            let end = it.type_annotation.as_ref().map_or(it.span.end, |types| types.span.start + 1);
            let from = it.pattern.span().end;
            // Without a type, the mark can follow the parameter's span.
            self.blank_byte(b'?', from, end.max(from + 1));
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        self.arrow_types(it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.blank_class(it);
        it.decorators.iter().for_each(|decorator| self.visit_decorator(decorator));
        if let Some(types) = &it.type_parameters {
            self.visit_ts_type_parameter_declaration(types);
        }
        if let Some(heritage) = &it.heritage {
            self.visit_class_heritage(heritage);
        }
        self.visit_class_body(&it.body);
    }

    fn visit_ts_index_signature(&mut self, it: &TSIndexSignature<'a>) {
        self.statement(it.span);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        if !self.blank_method(it) {
            walk::walk_method_definition(self, it);
        }
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        if !self.blank_property(it) {
            walk::walk_property_definition(self, it);
        }
    }
}
