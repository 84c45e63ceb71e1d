//! The keywords of a schema, each read into its rule. A keyword whose value is not what it has to be refuses
//! the schema; a keyword that is not here is an annotation.

use serde_json::{Map, Number, Value};

use super::{
    kind_of,
    node::{Contains, Id, If, Items, Members, Rule, Types},
    pointer::{self, Below},
    read::Reader,
};

impl<'a> Reader<'a> {
    /// The rules of an object; `below` learns what else is read with it and evaluated.
    pub(super) fn rules(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Vec<Rule>, String> {
        let mut rules = Vec::new();
        for (keyword, value) in object {
            self.path.push(keyword.clone());
            rules.extend(plain(keyword, value)?);
            match keyword.as_str() {
                "pattern" => rules.push(Rule::Pattern(self.pattern(text(value)?)?)),
                "dependencies" => self.dependencies(value, depth, below, &mut rules)?,
                "properties" | "patternProperties" | "additionalProperties" | "items" | "prefixItems"
                | "additionalItems" | "if" | "then" | "else" | "contains" => {}
                _ => rules.extend(self.applicator(keyword, value, depth, below)?),
            }
            self.path.pop();
        }
        rules.extend(self.members(object, depth, below)?);
        rules.extend(self.items(object, depth, below)?);
        rules.extend(self.contains(object, depth, below)?);
        rules.extend(self.condition(object, depth, below)?);
        Ok(rules)
    }

    /// A keyword that stands alone and holds schemas.
    fn applicator(
        &mut self,
        keyword: &str,
        value: &'a Value,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Rule>, String> {
        Ok(match pointer::below(keyword) {
            Below::Schema => {
                let id = self.schema(value, depth + 1)?;
                below.push(id);
                match keyword {
                    "not" => Some(Rule::Not(id)),
                    "propertyNames" => Some(Rule::PropertyNames(id)),
                    "unevaluatedItems" => Some(Rule::UnevaluatedItems(id)),
                    "unevaluatedProperties" => Some(Rule::UnevaluatedProperties(id)),
                    _ => None,
                }
            }
            Below::List => {
                let list = self.list(value, depth)?;
                below.extend(&list);
                match keyword {
                    "allOf" => Some(Rule::AllOf(list)),
                    "anyOf" => Some(Rule::AnyOf(list)),
                    "oneOf" => Some(Rule::OneOf(list)),
                    _ => None,
                }
            }
            Below::Map => {
                let map = self.map(value, depth)?;
                // Definitions are read, and counted where they are referred to.
                (keyword == "dependentSchemas").then(|| {
                    below.extend(map.iter().map(|(_, id)| *id));
                    Rule::DependentSchemas(map)
                })
            }
            Below::Either | Below::Other => None,
        })
    }

    /// The schema under a keyword, if it is there.
    fn under(
        &mut self,
        object: &'a Map<String, Value>,
        keyword: &str,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Id>, String> {
        let Some(value) = object.get(keyword) else { return Ok(None) };
        self.path.push(keyword.to_owned());
        let id = self.schema(value, depth + 1)?;
        self.path.pop();
        below.push(id);
        Ok(Some(id))
    }

    fn list(&mut self, value: &'a Value, depth: u32) -> Result<Vec<Id>, String> {
        let mut ids = Vec::new();
        for (at, item) in array(value)?.iter().enumerate() {
            self.path.push(at.to_string());
            ids.push(self.schema(item, depth + 1)?);
            self.path.pop();
        }
        Ok(ids)
    }

    fn map(&mut self, value: &'a Value, depth: u32) -> Result<Vec<(String, Id)>, String> {
        let map = value.as_object().ok_or_else(|| unlike(value, "an object"))?;
        let mut read = Vec::new();
        for (name, item) in map {
            self.path.push(name.clone());
            read.push((name.clone(), self.schema(item, depth + 1)?));
            self.path.pop();
        }
        Ok(read)
    }

    fn members(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Rule>, String> {
        let mut members = Members::default();
        if let Some(value) = object.get("properties") {
            self.path.push("properties".into());
            members.named = self.map(value, depth)?.into_iter().collect();
            self.path.pop();
        }
        if let Some(value) = object.get("patternProperties") {
            self.path.push("patternProperties".into());
            for ((_, id), source) in self.map(value, depth)?.iter().zip(value.as_object().into_iter().flatten())
            {
                members.matching.push((self.pattern(source.0)?, *id));
            }
            self.path.pop();
        }
        below.extend(members.named.values());
        below.extend(members.matching.iter().map(|(_, id)| *id));
        members.others = self.under(object, "additionalProperties", depth, below)?;
        let said = members.others.is_some() || !members.named.is_empty() || !members.matching.is_empty();
        Ok(said.then_some(Rule::Members(members)))
    }

    /// `prefixItems` and `items`, which earlier drafts call `items` and `additionalItems`.
    fn items(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Rule>, String> {
        let tuple = object.get("items").is_some_and(Value::is_array);
        if tuple && object.contains_key("prefixItems") {
            return Err("has both prefixItems and a list of items, which are one thing in two drafts".into());
        }
        let (first, rest) = if tuple { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let mut ids = Vec::new();
        if let Some(value) = object.get(first) {
            self.path.push(first.into());
            ids = self.list(value, depth)?;
            self.path.pop();
        }
        below.extend(&ids);
        let rest = self.under(object, rest, depth, below)?;
        Ok((rest.is_some() || !ids.is_empty()).then_some(Rule::Items(Items { first: ids, rest })))
    }

    fn contains(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Rule>, String> {
        let bound = |keyword: &str| object.get(keyword).map(count).transpose();
        let (least, most) = (bound("minContains")?.unwrap_or(1), bound("maxContains")?);
        let what = self.under(object, "contains", depth, below)?;
        Ok(what.map(|what| Rule::Contains(Contains { what, least, most })))
    }

    fn condition(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Rule>, String> {
        let condition = self.under(object, "if", depth, below)?;
        let then = self.under(object, "then", depth, below)?;
        let otherwise = self.under(object, "else", depth, below)?;
        Ok(condition.map(|condition| Rule::If(Box::new(If { condition, then, otherwise }))))
    }

    /// What `dependentRequired` and `dependentSchemas` were called before they were two.
    fn dependencies(
        &mut self,
        value: &'a Value,
        depth: u32,
        below: &mut Vec<Id>,
        rules: &mut Vec<Rule>,
    ) -> Result<(), String> {
        let (mut required, mut schemas) = (Vec::new(), Vec::new());
        for (name, needs) in value.as_object().ok_or_else(|| unlike(value, "an object"))? {
            self.path.push(name.clone());
            if needs.is_array() {
                required.push((name.clone(), texts(needs)?));
            } else {
                let id = self.schema(needs, depth + 1)?;
                below.push(id);
                schemas.push((name.clone(), id));
            }
            self.path.pop();
        }
        rules.push(Rule::DependentRequired(required));
        rules.push(Rule::DependentSchemas(schemas));
        Ok(())
    }
}

/// A keyword that holds no schema and no pattern.
fn plain(keyword: &str, value: &Value) -> Result<Option<Rule>, String> {
    Ok(Some(match keyword {
        "type" => Rule::Type(types(value)?),
        "const" => Rule::Const(value.clone()),
        "enum" => Rule::Enum(array(value)?.clone()),
        "minimum" => Rule::Minimum(number(value)?),
        "maximum" => Rule::Maximum(number(value)?),
        "exclusiveMinimum" => Rule::ExclusiveMinimum(number(value)?),
        "exclusiveMaximum" => Rule::ExclusiveMaximum(number(value)?),
        "multipleOf" => match number(value)? {
            step if super::number::float(&step) > 0.0 => Rule::MultipleOf(step),
            _ => return Err("has a multipleOf that is not above 0".into()),
        },
        "minLength" => Rule::MinLength(count(value)?),
        "maxLength" => Rule::MaxLength(count(value)?),
        "minItems" => Rule::MinItems(count(value)?),
        "maxItems" => Rule::MaxItems(count(value)?),
        "minProperties" => Rule::MinProperties(count(value)?),
        "maxProperties" => Rule::MaxProperties(count(value)?),
        "required" => Rule::Required(texts(value)?),
        "dependentRequired" => {
            let map = value.as_object().ok_or_else(|| unlike(value, "an object"))?;
            let read = map.iter().map(|(name, needs)| Ok((name.clone(), texts(needs)?)));
            Rule::DependentRequired(read.collect::<Result<_, String>>()?)
        }
        "uniqueItems" => match value.as_bool().ok_or_else(|| unlike(value, "true or false"))? {
            true => Rule::UniqueItems,
            false => return Ok(None),
        },
        "title" | "description" | "$comment" | "$id" => return text(value).map(|_| None),
        _ => return Ok(None),
    }))
}

fn types(value: &Value) -> Result<Types, String> {
    let named = |value: &Value| {
        let unknown = || unlike(value, "a type of JSON Schema");
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

fn number(value: &Value) -> Result<Number, String> {
    value.as_number().cloned().ok_or_else(|| unlike(value, "a number"))
}

fn count(value: &Value) -> Result<u64, String> {
    let whole = |float: f64| (float >= 0.0 && float.fract() == 0.0).then_some(float as u64);
    let count = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    count.ok_or_else(|| unlike(value, "a whole number from 0"))
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| unlike(value, "a string"))
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    array(value)?.iter().map(|item| text(item).map(str::to_owned)).collect()
}

fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| unlike(value, "an array"))
}

fn unlike(value: &Value, expected: &str) -> String {
    format!("has {} where {expected} belongs", kind_of(value))
}
