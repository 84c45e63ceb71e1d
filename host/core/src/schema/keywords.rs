//! The keywords that hold schemas, read into what is evaluated. A keyword that is neither here nor among
//! the assertions is an annotation.

use serde_json::{Map, Value};

use super::{
    assertions::{array, count, plain, text, texts, unlike},
    node::{Contains, Id, If, Items, Keyword, Members},
    pointer::{self, Below},
    read::Reader,
};

/// Keywords that are read together with others.
const READ_TOGETHER: [&str; 10] = [
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

impl<'a> Reader<'a> {
    pub(super) fn keywords(&mut self, object: &'a Map<String, Value>) -> Result<Vec<Keyword>, String> {
        let mut keywords = Vec::new();
        for (keyword, value) in object {
            self.at(keyword, |reader| {
                keywords.extend(plain(keyword, value)?);
                match keyword.as_str() {
                    "pattern" => keywords.push(Keyword::Pattern(reader.pattern(text(value)?)?)),
                    "dependencies" => keywords.extend(reader.dependencies(value)?),
                    known if READ_TOGETHER.contains(&known) => {}
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

    /// Reads what stands one step further; where that fails, the path still leads there.
    fn at<T>(
        &mut self,
        step: impl Into<String>,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        self.path.push(step.into());
        let value = read(self)?;
        self.path.pop();
        Ok(value)
    }

    /// A keyword that stands alone and holds schemas.
    fn applicator(&mut self, keyword: &str, value: &'a Value) -> Result<Option<Keyword>, String> {
        Ok(match pointer::below(keyword) {
            Below::Schema => {
                let id = self.schema(value)?;
                match keyword {
                    "not" => Some(Keyword::Not(id)),
                    "propertyNames" => Some(Keyword::PropertyNames(id)),
                    "unevaluatedItems" => Some(Keyword::UnevaluatedItems(id)),
                    "unevaluatedProperties" => Some(Keyword::UnevaluatedProperties(id)),
                    _ => None,
                }
            }
            Below::List => {
                let list = self.list(value)?;
                match keyword {
                    "allOf" => Some(Keyword::AllOf(list)),
                    "anyOf" => Some(Keyword::AnyOf(list)),
                    "oneOf" => Some(Keyword::OneOf(list)),
                    _ => None,
                }
            }
            Below::Map => {
                let map = self.map(value)?;
                // Definitions are read, and counted where they are referred to.
                (keyword == "dependentSchemas").then_some(Keyword::DependentSchemas(map))
            }
            Below::Either | Below::Other => None,
        })
    }

    fn under(&mut self, object: &'a Map<String, Value>, keyword: &str) -> Result<Option<Id>, String> {
        let read = |value| self.at(keyword, |reader| reader.schema(value));
        object.get(keyword).map(read).transpose()
    }

    fn list(&mut self, value: &'a Value) -> Result<Vec<Id>, String> {
        let items = array(value)?.iter().enumerate();
        items.map(|(at, item)| self.at(at.to_string(), |reader| reader.schema(item))).collect()
    }

    fn map(&mut self, value: &'a Value) -> Result<Vec<(String, Id)>, String> {
        let map = value.as_object().ok_or_else(|| unlike(value, "an object"))?;
        map.iter()
            .map(|(name, item)| Ok((name.clone(), self.at(name, |reader| reader.schema(item))?)))
            .collect()
    }

    fn members(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, String> {
        let mut members = Members::default();
        if let Some(value) = object.get("properties") {
            members.named = self.at("properties", |reader| reader.map(value))?.into_iter().collect();
        }
        if let Some(value) = object.get("patternProperties") {
            members.matching = self.at("patternProperties", |reader| {
                let schemas = reader.map(value)?.into_iter().map(|(_, id)| id);
                let sources = value.as_object().into_iter().flat_map(Map::keys);
                sources.zip(schemas).map(|(source, id)| Ok((reader.pattern(source)?, id))).collect()
            })?;
        }
        members.others = self.under(object, "additionalProperties")?;
        let said = members.others.is_some() || !members.named.is_empty() || !members.matching.is_empty();
        Ok(said.then_some(Keyword::Members(members)))
    }

    /// `prefixItems` and `items`, which earlier drafts call `items` and `additionalItems`.
    fn items(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, String> {
        let tuple = object.get("items").is_some_and(Value::is_array);
        if tuple && object.contains_key("prefixItems") {
            return Err("has both prefixItems and a list of items, which are one thing in two drafts".into());
        }
        let (first, rest) = if tuple { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let ids = match object.get(first) {
            Some(value) => self.at(first, |reader| reader.list(value))?,
            None => Vec::new(),
        };
        let rest = self.under(object, rest)?;
        Ok((rest.is_some() || !ids.is_empty()).then_some(Keyword::Items(Items { first: ids, rest })))
    }

    fn contains(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, String> {
        let bound = |keyword: &str| object.get(keyword).map(count).transpose();
        let (least, most) = (bound("minContains")?.unwrap_or(1), bound("maxContains")?);
        let what = self.under(object, "contains")?;
        Ok(what.map(|what| Keyword::Contains(Contains { what, least, most })))
    }

    fn condition(&mut self, object: &'a Map<String, Value>) -> Result<Option<Keyword>, String> {
        let condition = self.under(object, "if")?;
        let then = self.under(object, "then")?;
        let otherwise = self.under(object, "else")?;
        Ok(condition.map(|condition| Keyword::If(Box::new(If { condition, then, otherwise }))))
    }

    /// What `dependentRequired` and `dependentSchemas` were called before they were two.
    fn dependencies(&mut self, value: &'a Value) -> Result<[Keyword; 2], String> {
        let (mut required, mut schemas) = (Vec::new(), Vec::new());
        for (name, needs) in value.as_object().ok_or_else(|| unlike(value, "an object"))? {
            self.at(name, |reader| {
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
