//! Strips types from classes: modifiers, members without a body, and parameter properties.

use oxc_ast::ast::{
    Class, ClassElement, Expression, FormalParameter, Function, MethodDefinition, MethodDefinitionKind,
    MethodDefinitionType, PropertyDefinition, PropertyDefinitionType, Statement,
};
use oxc_span::GetSpan;

use super::{unsupported, visit::TypeStripper};

const MODIFIERS: &[&str] = &["public", "private", "protected", "readonly", "override", "abstract", "declare"];

impl TypeStripper<'_> {
    pub(super) fn blank_class(&mut self, class: &Class<'_>) {
        if class.r#abstract {
            self.blank_words(class.span.start, class.body.span.start, &["abstract"], 1);
        }
        if let (Some(first), Some(last)) = (class.implements.first(), class.implements.last()) {
            let before = &self.source[..first.span.start as usize];
            let start = before.rfind("implements").map_or(first.span.start, |at| at as u32);
            self.edits.blank(start, last.span.end);
        }
        for element in &class.body.body {
            if let ClassElement::MethodDefinition(method) = element
                && method.kind == MethodDefinitionKind::Constructor
            {
                self.write_parameter_properties(&method.value, class.heritage.is_some());
            }
        }
    }

    /// Returns whether the whole member was blanked.
    pub(super) fn blank_method(&mut self, method: &MethodDefinition<'_>) -> bool {
        if method.value.body.is_none() || method.r#type == MethodDefinitionType::TSAbstractMethodDefinition {
            self.statement(method.span);
            return true;
        }
        self.modifiers(method.span.start, method.key.span().start);
        if method.optional {
            self.blank_byte(b'?', method.key.span().end, method.value.span.end);
        }
        false
    }

    /// Returns whether the whole member was blanked.
    pub(super) fn blank_property(&mut self, property: &PropertyDefinition<'_>) -> bool {
        if property.declare || property.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition {
            self.statement(property.span);
            return true;
        }
        self.modifiers(property.span.start, property.key.span().start);
        let end = property
            .type_annotation
            .as_ref()
            .map_or(property.span.end, |annotation| annotation.span.start + 1);
        let key = property.key.span().end;
        if property.optional {
            self.blank_byte(b'?', key, end);
        }
        if property.definite {
            self.blank_byte(b'!', key, end);
        }
        false
    }

    /// Blanks modifiers before a member. The first becomes a semicolon, because the member could otherwise continue the
    /// previous one.
    fn modifiers(&mut self, start: u32, end: u32) {
        let text = &self.source[start as usize..end as usize];
        if MODIFIERS.iter().any(|word| text.starts_with(word)) {
            self.edits.mark(start, b';');
        }
        self.blank_words(start, end, MODIFIERS, usize::MAX);
    }

    pub(super) fn blank_words(&mut self, start: u32, end: u32, words: &[&str], limit: usize) {
        let text = &self.source[start as usize..end as usize];
        let mut count = 0;
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$') {
            if words.contains(&word) && count < limit {
                let from = start + (word.as_ptr().addr() - text.as_ptr().addr()) as u32;
                self.edits.blank(from, from + word.len() as u32);
                count += 1;
            }
        }
    }

    /// Rewrites `constructor(private x: T) {` to `constructor(x) { this.x = x;`, after `super()` if present.
    fn write_parameter_properties(&mut self, constructor: &Function<'_>, derived: bool) {
        let Some(body) = &constructor.body else { return };
        let mut assignments = String::new();
        for parameter in &constructor.params.items {
            if !is_property(parameter) {
                continue;
            }
            self.blank_words(parameter.span.start, parameter.pattern.span().start, MODIFIERS, usize::MAX);
            let name = parameter.pattern.get_identifier_name();
            if let Some(name) = name {
                assignments += &format!(" this.{name} = {name};");
            }
        }
        if assignments.is_empty() {
            return;
        }
        let place = if derived {
            body.statements.iter().find(|statement| is_super(statement)).map(|statement| statement.span().end)
        } else {
            Some(body.span.start + 1)
        };
        match place {
            Some(place) => self.edits.insert(place, format!(";{assignments}")),
            None => self.refuse(constructor.span.start, unsupported::SUPER),
        }
    }
}

fn is_property(parameter: &FormalParameter<'_>) -> bool {
    parameter.accessibility.is_some() || parameter.readonly || parameter.r#override
}

fn is_super(statement: &Statement<'_>) -> bool {
    let Statement::ExpressionStatement(statement) = statement else { return false };
    matches!(&statement.expression, Expression::CallExpression(call) if matches!(call.callee, Expression::Super(_)))
}
