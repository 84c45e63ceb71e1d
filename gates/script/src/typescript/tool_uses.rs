//! Finds tools that a script names literally: `tools.git.log(…)` and `callMCPTool("git", "log", …)`.

use oxc_allocator::Allocator;
use oxc_ast::ast::{Argument, CallExpression, Expression, StaticMemberExpression};
use oxc_ast_visit::{Visit, walk};

use super::nesting;

/// Returns distinct pairs of source and tool, in order. Empty if the script cannot be parsed.
pub(crate) fn uses(source: &str) -> Vec<(String, String)> {
    if nesting::check(source).is_err() {
        return Vec::new();
    }
    let allocator = Allocator::default();
    let parsed = super::parsed(&allocator, source);
    let mut visitor = ToolUseVisitor(Vec::new());
    visitor.visit_program(&parsed.program);
    visitor.0
}

struct ToolUseVisitor(Vec<(String, String)>);

impl ToolUseVisitor {
    fn add(&mut self, source: &str, tool: &str) {
        let pair = (source.to_owned(), tool.to_owned());
        if !self.0.contains(&pair) {
            self.0.push(pair);
        }
    }
}

impl<'a> Visit<'a> for ToolUseVisitor {
    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if let Expression::StaticMemberExpression(source) = &member.object
            && matches!(&source.object, Expression::Identifier(name) if name.name == "tools")
        {
            self.add(&source.property.name, &member.property.name);
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if matches!(&call.callee, Expression::Identifier(name) if name.name == "callMCPTool")
            && let [Argument::StringLiteral(source), Argument::StringLiteral(tool), ..] = &call.arguments[..]
        {
            self.add(&source.value, &tool.value);
        }
        walk::walk_call_expression(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_wherever_they_are_named() {
        let source = "const log = await tools.git.log({});\nfor (const f of log) callMCPTool('fs', 'read', { f });\n\
            const again = () => tools.git.log(); const own = other.git.show(); callMCPTool(name, 'x');";
        let pair = |source: &str, tool: &str| (source.to_owned(), tool.to_owned());
        assert_eq!(uses(source), [pair("git", "log"), pair("fs", "read")]);
        assert_eq!(uses("let let = ("), []);
        assert_eq!(uses(&"(".repeat(100_000)), []);
    }
}
