//! Terms of a parsed filter.

use jaq_core::{
    load::{lex::StrPart, parse::Term},
    path::Part,
};

/// Returns the number of terms in a term.
pub(crate) fn size(term: &mut Term<&str>) -> usize {
    let mut terms = 1;
    for_each_child(term, &mut |child| terms += size(child));
    terms
}

/// Returns whether a term is a number or a text without filters.
pub(crate) fn is_literal(term: &Term<&str>) -> bool {
    match term {
        Term::Num(_) => true,
        Term::Str(None, parts) => parts.iter().all(|part| !matches!(part, StrPart::Term(_))),
        _ => false,
    }
}

/// Calls `visit` with the terms directly below a term, without those of patterns.
pub(crate) fn for_each_child(term: &mut Term<&str>, visit: &mut dyn FnMut(&mut Term<&str>)) {
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) | Term::Arr(None) => {}
        Term::Str(_, parts) => parts.iter_mut().for_each(|part| {
            if let StrPart::Term(term) = part {
                visit(term);
            }
        }),
        Term::Arr(Some(inner)) | Term::Neg(inner) | Term::Label(_, inner) => visit(inner),
        Term::Obj(pairs) => pairs.iter_mut().for_each(|(key, value)| {
            visit(key);
            value.iter_mut().for_each(&mut *visit);
        }),
        Term::BinOp(left, _, right) => {
            visit(left);
            visit(right);
        }
        Term::Fold(_, source, _, steps) => {
            visit(source);
            steps.iter_mut().for_each(visit);
        }
        Term::TryCatch(tried, caught) => {
            visit(tried);
            caught.iter_mut().for_each(|caught| visit(caught));
        }
        Term::IfThenElse(cases, otherwise) => {
            for (condition, then) in cases {
                visit(condition);
                visit(then);
            }
            otherwise.iter_mut().for_each(|otherwise| visit(otherwise));
        }
        Term::Def(defs, inner) => {
            defs.iter_mut().for_each(|def| visit(&mut def.body));
            visit(inner);
        }
        Term::Call(_, arguments) => arguments.iter_mut().for_each(visit),
        Term::Path(inner, path) => {
            visit(inner);
            for (part, _) in &mut path.0 {
                match part {
                    Part::Index(index) => visit(index),
                    Part::Range(from, to) => from.iter_mut().chain(to).for_each(&mut *visit),
                }
            }
        }
    }
}
