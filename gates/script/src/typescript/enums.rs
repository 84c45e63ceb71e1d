//! Rewrites enums as objects on the same lines: `enum A { X, Y = "y" }` has `A.X === 0` and `A[0] === "X"`.
//! A second declaration of a name adds to the first.

use oxc_ast::ast::{TSEnumDeclaration, TSEnumMember, TSEnumMemberName};
use oxc_span::GetSpan;

use super::visit::TypeStripper;

impl TypeStripper<'_> {
    pub(super) fn write_enum(&mut self, declaration: &TSEnumDeclaration<'_>) {
        let name = declaration.id.name.as_str();
        let (start, body) = (declaration.span.start, declaration.body.span);
        self.edits.blank(start, body.start + 1);
        self.edits.insert(
            start,
            format!(
                "var {name} = (({name}, $last = -1) => {{ const $member = (key, value) => {{ {name}[key] = value; \
                 if (typeof value === \"number\") {name}[value] = key; return $last = value; }};"
            ),
        );
        let ends = declaration.body.members.iter().skip(1).map(|next| next.span.start);
        let ends = ends.chain([body.end - 1]);
        for (member, end) in declaration.body.members.iter().zip(ends) {
            self.write_member(member, end, name);
        }
        self.edits.blank(body.end - 1, body.end);
        self.edits.insert(body.end, format!(" return {name}; }})({name} ?? {{}});"));
    }

    fn write_member(&mut self, member: &TSEnumMember<'_>, end: u32, name: &str) {
        let (key, bound) = match &member.id {
            TSEnumMemberName::Identifier(id) => (id.name.as_str(), is_free(id.name.as_str(), name)),
            TSEnumMemberName::String(text) | TSEnumMemberName::ComputedString(text) => (&*text.value, false),
            TSEnumMemberName::ComputedTemplateString(text) => {
                (text.quasis.first().map_or("", |part| part.value.raw.as_str()), false)
            }
        };
        let key = serde_json::Value::from(key);
        let declare =
            if bound { format!("const {} = ", key.as_str().unwrap_or_default()) } else { String::new() };
        let names_end = member.id.span().end;
        match &member.initializer {
            Some(value) => {
                let value = value.span();
                self.edits.blank(member.span.start, value.start);
                self.edits.insert(member.span.start, format!("{declare}$member({key}, "));
                self.edits.insert(value.end, ");");
                self.blank_comma(value.end, end);
            }
            None => {
                self.edits.blank(member.span.start, names_end.max(member.span.end));
                self.edits.insert(member.span.start, format!("{declare}$member({key}, $last + 1);"));
                self.blank_comma(member.span.end, end);
            }
        }
    }

    fn blank_comma(&mut self, from: u32, to: u32) {
        if let Some(comma) = self.find(b',', from, to) {
            self.edits.blank(comma, comma + 1);
        }
    }
}

/// Words that cannot name a variable.
const RESERVED: &str = "\
    await break case catch class const continue debugger default delete do else enum eval arguments export \
    extends false finally for function if implements import in instanceof interface let new null package \
    private protected public return static super switch this throw true try typeof undefined var void while \
    with yield NaN Infinity";

/// Returns whether initializers of later members can refer to this member by its bare name.
fn is_free(member: &str, declaration: &str) -> bool {
    member != declaration && !RESERVED.split_whitespace().any(|word| word == member)
}
