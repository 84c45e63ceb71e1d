//! Parses keywords with subschemas. Keywords that are unknown here and in [`super::assertions`] are annotations.

use serde_json::{Map, Value};

use super::{
    assertions::{array, count, plain, text, texts, type_mismatch},
    node::{ContainsKeyword, IfKeyword, ItemsKeyword, Keyword, MembersKeyword, SchemaNodeId},
    read::{SchemaReader, SubschemaShape, subschema_shape},
};
use crate::invalid::InvalidValue;

const GROUPED_KEYWORDS: [&str; 10] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "if",
    "then",
    "else",
    "contains",
];

impl<'a> SchemaReader<'a> {
    pub(super) fn keywords(&mut self, object: &'a Map<String, Value>) -> Result<Vec<Keyword>, InvalidValue> {
        let mut keywords = Vec::new();
        for (keyword, value) in object {
            self.with_path(keyword, |reader| {
                keywords.extend(plain(keyword, value)?);
                match keyword.as_str() {
                    "pattern" => keywords.push(Keyword::Pattern(reader.pattern(text(value)?)?)),
                    "dependencies" => keywords.extend(reader.dependencies(value)?),
                    known if GROUPED_KEYWORDS.contains(&known) => {}
                    _ => keywords.extend(reader.applicator(keyword, value)?),
                }
                Ok(())
            })?;
        }
        keywords.extend(self.members(object)?);
        keywords.extend(self.items(object)?);
        keywords.extend(self.contains(object)?);
        keywords.extend(self.condition(object)?);
        Ok(keywords)
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

    /// Parses a keyword with subschemas that does not depend on other keywords.
    fn applicator(&mut self, keyword: &str, value: &'a Value) -> Result<Option<Keyword>, InvalidValue> {
        Ok(match subschema_shape(keyword) {
            SubschemaShape::Schema => {
                let id = self.schema(value)?;
                match keyword {
                    "not" => Some(Keyword::Not(id)),
                    "propertyNames" => Some(Keyword::PropertyNames(id)),
                    "unevaluatedItems" => Some(Keyword::UnevaluatedItems(id)),
                    "unevaluatedProperties" => Some(Keyword::UnevaluatedProperties(id)),
                    _ => None,
                }
            }
            SubschemaShape::List => {
                let list = self.list(value)?;
                match keyword {
                    "allOf" => Some(Keyword::AllOf(list)),
                    "anyOf" => Some(Keyword::AnyOf(list)),
                    "oneOf" => Some(Keyword::OneOf(list)),
                    _ => None,
                }
            }
            SubschemaShape::Map => {
                let map = self.map(value)?;
                // Definitions are parsed here, and counted at each reference.
                (keyword == "dependentSchemas").then_some(Keyword::DependentSchemas(map))
            }
            SubschemaShape::Either | SubschemaShape::Other => None,
        })
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
        let mut members = MembersKeyword::default();
        if let Some(value) = object.get("properties") {
            members.named = self.with_path("properties", |reader| reader.map(value))?.into_iter().collect();
        }
        if let Some(value) = object.get("patternProperties") {
            members.matching = self.with_path("patternProperties", |reader| {
                let schemas = reader.map(value)?.into_iter().map(|(_, id)| id);
                let sources = value.as_object().into_iter().flat_map(Map::keys);
                sources.zip(schemas).map(|(source, id)| Ok((reader.pattern(source)?, id))).collect()
            })?;
        }
        members.others = self.read_keyword(object, "additionalProperties")?;
        let is_set = members.others.is_some() || !members.named.is_empty() || !members.matching.is_empty();
        Ok(is_set.then_some(Keyword::Members(members)))
    }

    /// Parses `prefixItems` and `items`, called `items` and `additionalItems` in earlier drafts.
    fn items(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, InvalidValue> {
        let tuple = object.get("items").is_some_and(Value::is_array);
        if tuple && object.contains_key("prefixItems") {
            return Err(
                "has both prefixItems and a list of items, which mean the same in different drafts".into()
            );
        }
        let (first, rest) = if tuple { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let ids = match object.get(first) {
            Some(value) => self.with_path(first, |reader| reader.list(value))?,
            None => Vec::new(),
        };
        let rest = self.read_keyword(object, rest)?;
        Ok((rest.is_some() || !ids.is_empty()).then_some(Keyword::Items(ItemsKeyword { first: ids, rest })))
    }

    fn contains(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, InvalidValue> {
        let bound = |keyword: &str| object.get(keyword).map(count).transpose();
        let (min, max) = (bound("minContains")?.unwrap_or(1), bound("maxContains")?);
        let schema = self.read_keyword(object, "contains")?;
        Ok(schema.map(|schema| Keyword::Contains(ContainsKeyword { schema, min, max })))
    }

    fn condition(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, InvalidValue> {
        let condition = self.read_keyword(object, "if")?;
        let then = self.read_keyword(object, "then")?;
        let otherwise = self.read_keyword(object, "else")?;
        Ok(condition.map(|condition| Keyword::If(Box::new(IfKeyword { condition, then, otherwise }))))
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
