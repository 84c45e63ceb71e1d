//! The keywords that hold no schema, read into what is evaluated. One whose value is not what it has to be
//! refuses the schema.

use serde_json::{Number, Value};

use super::{
    kind_of,
    node::{Bound, Keyword, Part, Size, Types},
};
use crate::names::quoted;

/// A keyword that holds no schema and no pattern.
pub(super) fn plain(keyword: &str, value: &Value) -> Result<Option<Keyword>, String> {
    Ok(Some(match keyword {
        "type" => Keyword::Type(types(value)?),
        "const" => Keyword::Const(value.clone()),
        "enum" => Keyword::Enum(array(value)?.clone()),
        "minimum" => Keyword::Number(Bound::AtLeast, number(value)?),
        "maximum" => Keyword::Number(Bound::AtMost, number(value)?),
        "exclusiveMinimum" => Keyword::Number(Bound::MoreThan, number(value)?),
        "exclusiveMaximum" => Keyword::Number(Bound::LessThan, number(value)?),
        "multipleOf" => match number(value)? {
            step if super::number::float(&step) > 0.0 => Keyword::Number(Bound::MultipleOf, step),
            _ => return Err("has a multipleOf that is not above 0".into()),
        },
        "minLength" => size(Bound::AtLeast, Part::Character, value)?,
        "maxLength" => size(Bound::AtMost, Part::Character, value)?,
        "minItems" => size(Bound::AtLeast, Part::Item, value)?,
        "maxItems" => size(Bound::AtMost, Part::Item, value)?,
        "minProperties" => size(Bound::AtLeast, Part::Member, value)?,
        "maxProperties" => size(Bound::AtMost, Part::Member, value)?,
        "required" => Keyword::Required(texts(value)?),
        "dependentRequired" => {
            let map = value.as_object().ok_or_else(|| unlike(value, "an object"))?;
            let read = map.iter().map(|(name, needs)| Ok((name.clone(), texts(needs)?)));
            Keyword::DependentRequired(read.collect::<Result<_, String>>()?)
        }
        "uniqueItems" => match value.as_bool().ok_or_else(|| unlike(value, "true or false"))? {
            true => Keyword::UniqueItems,
            false => return Ok(None),
        },
        "title" | "description" | "$comment" | "$id" => return text(value).map(|_| None),
        _ => return Ok(None),
    }))
}

/// The types of JSON Schema, for messages.
const TYPES: &str = "array, boolean, integer, null, number, object and string";

fn types(value: &Value) -> Result<Types, String> {
    let named = |value: &Value| {
        let unknown = || match value.as_str() {
            Some(name) => format!("has the type '{}'; the types are {TYPES}", quoted(name, 64)),
            None => unlike(value, "a type of JSON Schema"),
        };
        value.as_str().and_then(Types::named).ok_or_else(unknown)
    };
    match value {
        Value::Array(many) => {
            let (first, rest) = many.split_first().ok_or("has an empty list where a type belongs")?;
            rest.iter().try_fold(named(first)?, |all, one| Ok(all.with(named(one)?)))
        }
        one => named(one),
    }
}

fn size(bound: Bound, part: Part, value: &Value) -> Result<Keyword, String> {
    Ok(Keyword::Size(Size { bound, part, limit: count(value)? }))
}

fn number(value: &Value) -> Result<Number, String> {
    value.as_number().cloned().ok_or_else(|| unlike(value, "a number"))
}

pub(super) fn count(value: &Value) -> Result<u64, String> {
    let whole = |float: f64| (float >= 0.0 && float.fract() == 0.0).then_some(float as u64);
    let count = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    count.ok_or_else(|| unlike(value, "a whole number from 0"))
}

pub(super) fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| unlike(value, "a string"))
}

pub(super) fn texts(value: &Value) -> Result<Vec<String>, String> {
    array(value)?.iter().map(|item| text(item).map(str::to_owned)).collect()
}

pub(super) fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| unlike(value, "an array"))
}

pub(super) fn unlike(value: &Value, expected: &str) -> String {
    format!("has {} where {expected} belongs", kind_of(value))
}
