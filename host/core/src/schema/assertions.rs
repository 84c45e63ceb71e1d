//! Parses keywords without subschemas. An invalid keyword makes the schema invalid.

use serde_json::{Number, Value};

use super::{
    kind_of,
    node::{BoundKind, CountedPart, Keyword, SizeLimit, TypeSet},
};
use crate::{invalid::InvalidValue, names::quoted};

/// Parses a keyword without subschemas or patterns. `None` for annotations and unknown keywords.
pub(super) fn plain(keyword: &str, value: &Value) -> Result<Option<Keyword>, InvalidValue> {
    Ok(Some(match keyword {
        "type" => Keyword::Type(types(value)?),
        "const" => Keyword::Const(value.clone()),
        "enum" => Keyword::Enum(array(value)?.clone()),
        "minimum" => Keyword::Number(BoundKind::AtLeast, number(value)?),
        "maximum" => Keyword::Number(BoundKind::AtMost, number(value)?),
        "exclusiveMinimum" => Keyword::Number(BoundKind::MoreThan, number(value)?),
        "exclusiveMaximum" => Keyword::Number(BoundKind::LessThan, number(value)?),
        "multipleOf" => match number(value)? {
            step if super::number::float(&step) > 0.0 => Keyword::Number(BoundKind::MultipleOf, step),
            _ => return Err("has a multipleOf that is not greater than 0".into()),
        },
        "minLength" => size(BoundKind::AtLeast, CountedPart::Character, value)?,
        "maxLength" => size(BoundKind::AtMost, CountedPart::Character, value)?,
        "minItems" => size(BoundKind::AtLeast, CountedPart::Item, value)?,
        "maxItems" => size(BoundKind::AtMost, CountedPart::Item, value)?,
        "minProperties" => size(BoundKind::AtLeast, CountedPart::Member, value)?,
        "maxProperties" => size(BoundKind::AtMost, CountedPart::Member, value)?,
        "required" => Keyword::Required(texts(value)?),
        "dependentRequired" => {
            let map = value.as_object().ok_or_else(|| type_mismatch(value, "an object"))?;
            let read = map.iter().map(|(name, needs)| Ok((name.clone(), texts(needs)?)));
            Keyword::DependentRequired(read.collect::<Result<_, InvalidValue>>()?)
        }
        "uniqueItems" => match value.as_bool().ok_or_else(|| type_mismatch(value, "true or false"))? {
            true => Keyword::UniqueItems,
            false => return Ok(None),
        },
        "title" | "description" | "$comment" | "$id" => return text(value).map(|_| None),
        _ => return Ok(None),
    }))
}

const TYPE_LIST: &str = "array, boolean, integer, null, number, object and string";

fn types(value: &Value) -> Result<TypeSet, InvalidValue> {
    let named = |value: &Value| {
        let unknown = || match value.as_str() {
            Some(name) => {
                format!("has the unknown type '{}'; the types are {TYPE_LIST}", quoted(name, 64)).into()
            }
            None => type_mismatch(value, "a JSON Schema type"),
        };
        value.as_str().and_then(TypeSet::from_name).ok_or_else(unknown)
    };
    match value {
        Value::Array(many) => {
            let (first, rest) = many.split_first().ok_or("has an empty list of types")?;
            rest.iter().try_fold(named(first)?, |all, one| Ok(all.union(named(one)?)))
        }
        one => named(one),
    }
}

fn size(bound: BoundKind, part: CountedPart, value: &Value) -> Result<Keyword, InvalidValue> {
    Ok(Keyword::Size(SizeLimit { bound, part, limit: count(value)? }))
}

fn number(value: &Value) -> Result<Number, InvalidValue> {
    value.as_number().cloned().ok_or_else(|| type_mismatch(value, "a number"))
}

pub(super) fn count(value: &Value) -> Result<u64, InvalidValue> {
    let whole = |float: f64| (float >= 0.0 && float.fract() == 0.0).then_some(float as u64);
    let count = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    count.ok_or_else(|| type_mismatch(value, "a non-negative integer"))
}

pub(super) fn text(value: &Value) -> Result<&str, InvalidValue> {
    value.as_str().ok_or_else(|| type_mismatch(value, "a string"))
}

pub(super) fn texts(value: &Value) -> Result<Vec<String>, InvalidValue> {
    array(value)?.iter().map(|item| text(item).map(str::to_owned)).collect()
}

pub(super) fn array(value: &Value) -> Result<&Vec<Value>, InvalidValue> {
    value.as_array().ok_or_else(|| type_mismatch(value, "an array"))
}

pub(super) fn type_mismatch(value: &Value, expected: &str) -> InvalidValue {
    format!("has {} instead of {expected}", kind_of(value)).into()
}
