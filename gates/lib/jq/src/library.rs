//! Functions available to filters: those of jq, except functions that need tables, end the program or access the
//! machine.

use gatehouse_sdk::Fault;
use jaq_core::{
    Cv, DataT, Error, Native, ValXs, data,
    load::parse::Def,
    native::{Filter, bome, run, v},
};
use jaq_json::Val;
use regex_bites::bytes::RegexBuilder;

/// Data of a run: only the compiled filter.
pub(crate) type JqData = data::JustLut<Val>;

/// Excluded functions of jaq's library, each as `name` for any number of arguments or as `name/arity`.
const EXCLUDED_FUNCTIONS: &str = "stderr debug halt halt_error logb significand pow10 drem nexttoward scalb gamma test scan_ match \
                        capture split/2 splits sub gsub scan todate fromdate @html @htmld @uri @urid @base64 @base64d";

pub(crate) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let own =
        jaq_core::load::parse("def test(re): test(re; \"\");", |parser| parser.defs()).unwrap_or_default();
    let included = |def: &Def<&'static str>| {
        let with_arguments = format!("{}/{}", def.name, def.args.len());
        !EXCLUDED_FUNCTIONS.split_whitespace().any(|name| name == def.name || name == with_arguments)
    };
    jaq_core::defs().chain(jaq_std::defs().filter(included)).chain(jaq_json::defs()).chain(own)
}

pub(crate) fn functions() -> impl Iterator<Item = Filter<Native<JqData>>> {
    let base = jaq_std::base_funs::<JqData>().filter(|(name, ..)| *name != "halt");
    let test = run::<JqData>(("test", v(2), |call| test(call)));
    jaq_core::funs().chain(base).chain(jaq_json::funs()).chain([test])
}

/// `test(re; flags)`: returns whether a regular expression matches anywhere in a string.
fn test<'a>((mut context, value): Cv<'a, JqData>) -> ValXs<'a, <JqData as DataT>::V<'a>> {
    let (flags, expression) = (context.pop_var(), context.pop_var());
    bome(matches(&value, &expression, &flags).map_err(|fault| Error::str(fault.message)))
}

fn matches(value: &Val, expression: &Val, flags: &Val) -> Result<Val, Fault> {
    let as_text = |value: &Val| match value {
        Val::TStr(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => Err(Fault::invalid(format!("cannot match {other}: expected a string"))),
    };
    let flags = match flags {
        Val::Null => String::new(),
        flags => as_text(flags)?,
    };
    if let Some(flag) = flags.chars().find(|flag| !"gimsx".contains(*flag)) {
        return Err(Fault::invalid(format!("unknown flag '{flag}'")));
    }
    let expression = RegexBuilder::new(&as_text(expression)?)
        .case_insensitive(flags.contains('i'))
        .multi_line(flags.contains('m'))
        .dot_matches_new_line(flags.contains('s'))
        .ignore_whitespace(flags.contains('x'))
        .build()
        .map_err(|error| Fault::invalid(format!("invalid regular expression: {error}")))?;
    Ok(Val::Bool(expression.is_match(as_text(value)?.as_bytes())))
}
