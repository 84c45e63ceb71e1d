//! Functions available to filters: those of jq 1.8, except functions that end the program or access the machine.
//!
//! Definitions that jaq lacks, or with which it gives other results than jq, are in `library.jq`.

use jaq_core::{
    Error, Native, RunPtr, data,
    load::{
        self,
        parse::{BinaryOp, Def, Pattern, Term},
    },
    native::{Filter, bome, run, unary, v},
    ops,
    path::{Opt, Part, Path},
};
use jaq_json::Val;
use jaq_std::ValT as _;

use crate::{
    functions,
    terms::{for_each_child, is_literal, size},
};

/// Data of a run: only the compiled filter.
pub(crate) type JqData = data::JustLut<Val>;

/// Excluded functions of jaq's library, each with any number of arguments: those that end the program or access the
/// machine, and rare ones of mathematics.
const EXCLUDED: &str =
    "halt halt_error stderr debug env debug_empty stderr_empty input inputs drem nexttoward gamma";

/// Own definitions, which replace those of jaq with the same name and number of arguments.
const OWN: &str = include_str!("library.jq");

pub(crate) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let own_definitions = load::parse(OWN, |parser| parser.defs()).unwrap_or_default();
    let of_jaq = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    of_jaq.filter(|def| !is_excluded(def.name)).chain(own_definitions)
}

fn is_excluded(name: &str) -> bool {
    EXCLUDED.split(' ').any(|excluded| excluded == name)
}

pub(crate) fn functions() -> impl Iterator<Item = Filter<Native<JqData>>> {
    let library_functions = jaq_core::funs().chain(jaq_std::base_funs::<JqData>()).chain(jaq_json::funs());
    library_functions.filter(|(name, ..)| !is_excluded(name)).chain(own_functions()).chain(functions::all())
}

/// Returns a program whose operators work as in jq: assignments create missing values and use the first value of an
/// update, and nothing is divided by zero.
pub(crate) fn with_operators_of_jq(program: &str) -> Option<Term<&str>> {
    let mut term = load::parse(program, |parser| parser.term())?;
    rewrite(&mut term);
    Some(term)
}

/// Rewrites the operators that differ, innermost first.
fn rewrite<'s>(term: &mut Term<&'s str>) {
    for_each_child(term, &mut |term| rewrite(term));
    let Term::BinOp(left, op, right) = term else { return };
    let mut take = || (std::mem::take(&mut **left), std::mem::take(&mut **right));
    let value = || Term::Var(VALUE);
    let with_value = |right: Term<&'s str>, then: Term<&'s str>| {
        Term::BinOp(right.into(), BinaryOp::Pipe(Some(Pattern::Var(VALUE))), then.into())
    };
    *term = match op {
        BinaryOp::Math(ops::Math::Div) => {
            let (left, right) = take();
            Term::Call("_div", vec![left, right])
        }
        BinaryOp::Update => {
            let (paths, new) = take();
            update(paths, new)
        }
        BinaryOp::Assign => {
            let (paths, right) = take();
            with_value(right, update(paths, value()))
        }
        BinaryOp::UpdateMath(math) => {
            let math = BinaryOp::Math(*math);
            let (paths, right) = take();
            let mut new = Term::BinOp(Term::Id.into(), math, value().into());
            rewrite(&mut new);
            with_value(right, update(paths, new))
        }
        BinaryOp::UpdateAlt => {
            let (paths, right) = take();
            let new = Term::BinOp(Term::Id.into(), BinaryOp::Alt, value().into());
            with_value(right, update(paths, new))
        }
        _ => return,
    };
}

/// Returns a term that replaces the values at `paths` by `new`, and creates the objects and lists that are missing:
/// `.a.b |= f` becomes `_container("a") | .a |= (_container("b") | .b |= first(f))`.
///
/// It has no call in the paths of an update, because jaq would copy the whole value for each.
fn update<'s>(paths: Term<&'s str>, mut new: Term<&'s str>) -> Term<&'s str> {
    match paths {
        Term::Path(inner, path) => {
            let mut keys = Vec::new();
            let mut steps = Vec::new();
            for (part, opt) in path.0 {
                let (place, part) = match part {
                    Part::Index(key) if is_literal(&key) => (Some(key.clone()), Part::Index(key)),
                    Part::Index(key) if keys.len() < KEYS.len() => {
                        // Keys are values of the input of the whole path.
                        let name = KEYS[keys.len()];
                        keys.push((name, key));
                        (Some(Term::Var(name)), Part::Index(Term::Var(name)))
                    }
                    part => (None, part),
                };
                let place = place.filter(|_| matches!(opt, Opt::Essential));
                steps.push((place, Term::Path(Term::Id.into(), Path(vec![(part, opt)]))));
            }
            let nested = steps.into_iter().rfold(new, |new, (place, step)| {
                let changed = native_update(step, new);
                match place {
                    Some(key) => pipe(Term::Call(CONTAINER, vec![key]), changed),
                    None => changed,
                }
            });
            let nested = if matches!(*inner, Term::Id) { nested } else { update(*inner, nested) };
            keys.into_iter().rfold(nested, |nested, (name, key)| {
                Term::BinOp(key.into(), BinaryOp::Pipe(Some(Pattern::Var(name))), nested.into())
            })
        }
        Term::BinOp(left, BinaryOp::Pipe(None), right) => update(*left, update(*right, new)),
        // Each side gets a copy, so a large one would grow with every comma.
        Term::BinOp(left, BinaryOp::Comma, right) if size(&mut new) <= MAX_COPIED_TERMS => {
            pipe(update(*left, new.clone()), update(*right, new))
        }
        paths => native_update(paths, new),
    }
}

/// Maximum size of an update that is copied.
const MAX_COPIED_TERMS: usize = 16;

fn native_update<'s>(paths: Term<&'s str>, new: Term<&'s str>) -> Term<&'s str> {
    let first = Term::Call("first", vec![new]);
    Term::BinOp(paths.into(), BinaryOp::Update, first.into())
}

/// Variables of rewritten assignments. Programs cannot contain them.
const VALUE: &str = "$!value";
const KEYS: [&str; 8] = ["$!0", "$!1", "$!2", "$!3", "$!4", "$!5", "$!6", "$!7"];

fn pipe<'s>(left: Term<&'s str>, right: Term<&'s str>) -> Term<&'s str> {
    Term::BinOp(left.into(), BinaryOp::Pipe(None), right.into())
}

/// Name of the function with [`with_place_for`].
const CONTAINER: &str = "_container";

/// Maximum number of values that an assignment adds to a list.
const MAX_ADDED_VALUES: usize = 1_000_000;

fn own_functions() -> impl Iterator<Item = Filter<Native<JqData>>> {
    let container: RunPtr<JqData> =
        |cv| unary(cv, |value, key| with_place_for(value, &key).map_err(Error::str));
    let joined: RunPtr<JqData> =
        |cv| unary(cv, |list, separator| joined(&list, &separator).map_err(Error::str));
    let csv: RunPtr<JqData> = |cv| {
        bome(row(&cv.1, "csv", ",", |text| format!("\"{}\"", text.replace('"', "\"\""))).map_err(Error::str))
    };
    let tsv: RunPtr<JqData> = |cv| {
        let escaped = |text: &str| {
            let text = text.replace('\\', "\\\\").replace('\t', "\\t");
            text.replace('\n', "\\n").replace('\r', "\\r")
        };
        bome(row(&cv.1, "tsv", "\t", escaped).map_err(Error::str))
    };
    let functions: [Filter<RunPtr<JqData>>; 4] =
        [(CONTAINER, v(1), container), ("_joined", v(1), joined), ("_csv", v(0), csv), ("_tsv", v(0), tsv)];
    functions.into_iter().map(run::<JqData>)
}

fn values(list: &Val) -> Result<&[Val], String> {
    match list {
        Val::Arr(list) => Ok(list),
        other => Err(format!("{other} is not an array")),
    }
}

/// Returns the text of null, a boolean or a number.
fn plain_text(value: &Val) -> Option<String> {
    match value {
        Val::Null => Some(String::new()),
        Val::Bool(_) | Val::Num(_) => Some(value.to_string()),
        _ => None,
    }
}

fn joined(list: &Val, separator: &Val) -> Result<Val, String> {
    let text = |value: &Val| match value {
        Val::TStr(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        other => plain_text(other),
    };
    let separator = text(separator).ok_or_else(|| format!("{separator} is not a string"))?;
    let texts = values(list)?
        .iter()
        .map(|value| text(value).ok_or_else(|| format!("string and {value} cannot be added")));
    Ok(Val::utf8_str(texts.collect::<Result<Vec<_>, _>>()?.join(&separator)))
}

/// Returns a row of `@csv` or `@tsv`. `quoted` is the form of a text.
fn row(list: &Val, format: &str, separator: &str, quoted: impl Fn(&str) -> String) -> Result<Val, String> {
    let cells = values(list)?.iter().map(|value| match value {
        Val::TStr(bytes) => Ok(quoted(&String::from_utf8_lossy(bytes))),
        other => plain_text(other).ok_or_else(|| format!("{other} is not valid in a {format} row")),
    });
    Ok(Val::utf8_str(cells.collect::<Result<Vec<_>, _>>()?.join(separator)))
}

/// Returns a value that is ready for an assignment at `key`. Null becomes an object or a list, and a list gets the values
/// that are missing before `key`.
fn with_place_for(value: Val, key: &Val) -> Result<Val, String> {
    let index = key.as_isize().and_then(|index| usize::try_from(index).ok());
    match (value, index) {
        (Val::Null, None) if matches!(key, Val::TStr(_)) => Ok(Val::obj(Default::default())),
        (Val::Obj(_), _) if key.as_f64().is_some() => Err(format!("Cannot index object with number ({key})")),
        (value @ (Val::Null | Val::Arr(_)), Some(index)) => {
            let mut list: Vec<Val> = match value {
                Val::Arr(list) if list.len() > index => return Ok(Val::Arr(list)),
                Val::Arr(list) => std::rc::Rc::unwrap_or_clone(list),
                _ => Vec::new(),
            };
            if index - list.len() > MAX_ADDED_VALUES {
                return Err("Array index too large".into());
            }
            list.resize(index + 1, Val::Null);
            Ok(list.into_iter().collect())
        }
        (value, _) => Ok(value),
    }
}
