//! Parses keywords. Unknown ones are annotations; an invalid one makes the schema invalid.

use serde_json::{Map, Number, Value};

use super::{
    kind_of,
    node::{BoundKind, CountedPart, Keyword, MembersKeyword, SchemaNodeId, TypeSet},
    read::SchemaReader,
};
use crate::{InvalidValue, invalid::ensure, names::quoted, util::decimal::Decimal};

impl<'a> SchemaReader<'a> {
    pub(super) fn keywords(&mut self, object: &'a Map<String, Value>) -> Result<Vec<Keyword>, InvalidValue> {
        let mut keywords = Vec::new();
        for (keyword, value) in object {
            self.unless_skipped(|reader| {
                reader.with_path(keyword, |reader| {
                    keywords.extend(plain(keyword, value)?);
                    let parsed = match keyword.as_str() {
                        "pattern" => Keyword::Pattern(reader.pattern(text(value)?)?),
                        "not" => Keyword::Not(reader.schema(value)?),
                        "propertyNames" => Keyword::PropertyNames(reader.schema(value)?),
                        "unevaluatedItems" => Keyword::UnevaluatedItems(reader.schema(value)?),
                        "unevaluatedProperties" => Keyword::UnevaluatedProperties(reader.schema(value)?),
                        "allOf" => Keyword::AllOf(reader.list(value)?),
                        "anyOf" => Keyword::AnyOf(reader.list(value)?),
                        "oneOf" => Keyword::OneOf(reader.list(value)?),
                        "dependentSchemas" => Keyword::DependentSchemas(reader.map(value)?),
                        "dependencies" => {
                            keywords.extend(reader.dependencies(value)?);
                            return Ok(());
                        }
                        // Definitions are parsed here, and counted at each reference.
                        "$defs" | "definitions" => return reader.map(value).map(drop),
                        // Parsed below, or an annotation.
                        _ => return Ok(()),
                    };
                    keywords.push(parsed);
                    Ok(())
                })
            })?;
        }
        keywords.extend(self.unless_skipped(|reader| reader.members(object))?.flatten());
        keywords.extend(self.unless_skipped(|reader| reader.items(object))?.flatten());
        keywords.extend(self.unless_skipped(|reader| reader.contains(object))?.flatten());
        keywords.extend(self.unless_skipped(|reader| reader.condition(object))?.flatten());
        if self.is_lenient {
            self.drop_defaults(object, &mut keywords);
        }
        Ok(keywords)
    }

    /// Makes members with a default optional: zod 4 lists them as required, and servers accept calls without them.
    fn drop_defaults(&mut self, object: &Map<String, Value>, keywords: &mut [Keyword]) {
        let properties = object.get("properties").and_then(Value::as_object);
        let has_default = |name: &String| {
            properties
                .and_then(|members| members.get(name))
                .is_some_and(|schema| schema.get("default").is_some())
        };
        for keyword in keywords {
            if let Keyword::Required(names) = keyword {
                self.is_partial |= names.iter().any(has_default);
                names.retain(|name| !has_default(name));
            }
        }
    }

    /// Parses a value one step deeper in the path. On failure, the path still leads to it.
    fn with_path<T>(
        &mut self,
        step: impl Into<String>,
        read: impl FnOnce(&mut Self) -> Result<T, InvalidValue>,
    ) -> Result<T, InvalidValue> {
        self.path.push(step.into());
        let value = read(self)?;
        self.path.pop();
        Ok(value)
    }

    fn read_keyword(
        &mut self,
        object: &'a Map<String, Value>,
        keyword: &str,
    ) -> Result<Option<SchemaNodeId>, InvalidValue> {
        let read = |value| self.with_path(keyword, |reader| reader.schema(value));
        object.get(keyword).map(read).transpose()
    }

    fn list(&mut self, value: &'a Value) -> Result<Vec<SchemaNodeId>, InvalidValue> {
        let items = array(value)?.iter().enumerate();
        items.map(|(at, item)| self.with_path(at.to_string(), |reader| reader.schema(item))).collect()
    }

    fn map(&mut self, value: &'a Value) -> Result<Vec<(String, SchemaNodeId)>, InvalidValue> {
        let map = value.as_object().ok_or_else(|| type_mismatch(value, "an object"))?;
        map.iter()
            .map(|(name, item)| Ok((name.clone(), self.with_path(name, |reader| reader.schema(item))?)))
            .collect()
    }

    fn members(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, InvalidValue> {
        let (mut members, mut has_all_patterns) = (MembersKeyword::default(), true);
        if let Some(value) = object.get("properties") {
            members.named = self.with_path("properties", |reader| reader.map(value))?.into_iter().collect();
        }
        if let Some(value) = object.get("patternProperties") {
            members.matching = self.with_path("patternProperties", |reader| {
                let schemas = reader.map(value)?.into_iter().map(|(_, id)| id);
                let sources = value.as_object().into_iter().flat_map(Map::keys);
                let mut matching = Vec::new();
                for (source, id) in sources.zip(schemas) {
                    match reader.unless_skipped(|reader| reader.pattern(source))? {
                        Some(pattern) => matching.push((pattern, id)),
                        None => has_all_patterns = false,
                    }
                }
                Ok(matching)
            })?;
        }
        // Members that a skipped pattern matches are not additional.
        members.others = self.read_keyword(object, "additionalProperties")?.filter(|_| has_all_patterns);
        let is_set = members.others.is_some() || !members.named.is_empty() || !members.matching.is_empty();
        Ok(is_set.then_some(Keyword::Members(members)))
    }

    /// Parses `prefixItems` and `items`, called `items` and `additionalItems` in earlier drafts.
    fn items(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, InvalidValue> {
        let tuple = object.get("items").is_some_and(Value::is_array);
        let has_both = tuple && object.contains_key("prefixItems");
        ensure!(
            !has_both,
            "has both prefixItems and a list of items, which mean the same in different drafts"
        );
        let (tuple, others) = if tuple { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let first = match object.get(tuple) {
            Some(value) => self.with_path(tuple, |reader| reader.list(value))?,
            None => Vec::new(),
        };
        let rest = self.read_keyword(object, others)?;
        Ok((rest.is_some() || !first.is_empty()).then_some(Keyword::Items { first, rest }))
    }

    fn contains(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, InvalidValue> {
        let bound = |keyword: &str| object.get(keyword).map(count).transpose();
        let (min, max) = (bound("minContains")?.unwrap_or(1), bound("maxContains")?);
        let schema = self.read_keyword(object, "contains")?;
        Ok(schema.map(|schema| Keyword::Contains { schema, min, max }))
    }

    fn condition(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, InvalidValue> {
        let condition = self.read_keyword(object, "if")?;
        let then = self.read_keyword(object, "then")?;
        let otherwise = self.read_keyword(object, "else")?;
        Ok(condition.map(|condition| Keyword::If { condition, then, otherwise }))
    }

    /// Parses `dependencies`, now split into `dependentRequired` and `dependentSchemas`.
    fn dependencies(&mut self, value: &'a Value) -> Result<[Keyword; 2], InvalidValue> {
        let (mut required, mut schemas) = (Vec::new(), Vec::new());
        for (name, needs) in value.as_object().ok_or_else(|| type_mismatch(value, "an object"))? {
            self.with_path(name, |reader| {
                if needs.is_array() {
                    required.push((name.clone(), texts(needs)?));
                } else {
                    schemas.push((name.clone(), reader.schema(needs)?));
                }
                Ok(())
            })?;
        }
        Ok([Keyword::DependentRequired(required), Keyword::DependentSchemas(schemas)])
    }
}

/// Parses a keyword without subschemas or patterns. `None` for annotations and unknown keywords.
fn plain(keyword: &str, value: &Value) -> Result<Option<Keyword>, InvalidValue> {
    Ok(Some(match keyword {
        "type" => Keyword::Type(types(value)?),
        "const" => Keyword::Const(value.clone()),
        "enum" => Keyword::Enum(array(value)?.clone()),
        "minimum" => Keyword::Number(BoundKind::AtLeast, number(value)?),
        "maximum" => Keyword::Number(BoundKind::AtMost, number(value)?),
        "exclusiveMinimum" => Keyword::Number(BoundKind::MoreThan, number(value)?),
        "exclusiveMaximum" => Keyword::Number(BoundKind::LessThan, number(value)?),
        "multipleOf" => match number(value)? {
            step if !Decimal::new(&step).is_step() => {
                return Err("has a multipleOf that is not greater than 0, or has more than 19 digits".into());
            }
            step => Keyword::Number(BoundKind::MultipleOf, step),
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
            rest.iter().try_fold(named(first)?, |type_set, item| Ok(type_set.union(named(item)?)))
        }
        _ => named(value),
    }
}

fn size(bound: BoundKind, part: CountedPart, value: &Value) -> Result<Keyword, InvalidValue> {
    Ok(Keyword::Size { bound, part, limit: count(value)? })
}

fn number(value: &Value) -> Result<Number, InvalidValue> {
    value.as_number().cloned().ok_or_else(|| type_mismatch(value, "a number"))
}

fn count(value: &Value) -> Result<u64, InvalidValue> {
    let whole = |float: f64| (float >= 0.0 && float.fract() == 0.0).then_some(float as u64);
    let count = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    count.ok_or_else(|| type_mismatch(value, "a non-negative integer"))
}

fn text(value: &Value) -> Result<&str, InvalidValue> {
    value.as_str().ok_or_else(|| type_mismatch(value, "a string"))
}

fn texts(value: &Value) -> Result<Vec<String>, InvalidValue> {
    array(value)?.iter().map(|item| text(item).map(str::to_owned)).collect()
}

fn array(value: &Value) -> Result<&Vec<Value>, InvalidValue> {
    value.as_array().ok_or_else(|| type_mismatch(value, "an array"))
}

fn type_mismatch(value: &Value, expected: &str) -> InvalidValue {
    format!("has {} instead of {expected}", kind_of(value)).into()
}
