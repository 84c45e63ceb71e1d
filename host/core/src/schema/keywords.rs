//! The keywords that hold schemas, read into what is evaluated. A keyword that is neither here nor among
//! the assertions is an annotation.

use serde_json::{Map, Value};

use super::{
    assertions::{array, count, plain, text, texts, unlike},
    node::{Contains, Id, If, Items, Keyword, Members},
    pointer::{self, Below},
    read::Reader,
};

impl<'a> Reader<'a> {
    /// The keywords of an object; `below` learns what else is read with it and evaluated.
    pub(super) fn keywords(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Vec<Keyword>, String> {
        let mut keywords = Vec::new();
        for (keyword, value) in object {
            self.path.push(keyword.clone());
            keywords.extend(plain(keyword, value)?);
            match keyword.as_str() {
                "pattern" => keywords.push(Keyword::Pattern(self.pattern(text(value)?)?)),
                "dependencies" => self.dependencies(value, depth, below, &mut keywords)?,
                "properties"
                | "patternProperties"
                | "additionalProperties"
                | "items"
                | "prefixItems"
                | "additionalItems"
                | "if"
                | "then"
                | "else"
                | "contains" => {}
                _ => keywords.extend(self.applicator(keyword, value, depth, below)?),
            }
            self.path.pop();
        }
        keywords.extend(self.members(object, depth, below)?);
        keywords.extend(self.items(object, depth, below)?);
        keywords.extend(self.contains(object, depth, below)?);
        keywords.extend(self.condition(object, depth, below)?);
        Ok(keywords)
    }

    /// A keyword that stands alone and holds schemas.
    fn applicator(
        &mut self,
        keyword: &str,
        value: &'a Value,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Keyword>, String> {
        Ok(match pointer::below(keyword) {
            Below::Schema => {
                let id = self.schema(value, depth + 1)?;
                below.push(id);
                match keyword {
                    "not" => Some(Keyword::Not(id)),
                    "propertyNames" => Some(Keyword::PropertyNames(id)),
                    "unevaluatedItems" => Some(Keyword::UnevaluatedItems(id)),
                    "unevaluatedProperties" => Some(Keyword::UnevaluatedProperties(id)),
                    _ => None,
                }
            }
            Below::List => {
                let list = self.list(value, depth)?;
                below.extend(&list);
                match keyword {
                    "allOf" => Some(Keyword::AllOf(list)),
                    "anyOf" => Some(Keyword::AnyOf(list)),
                    "oneOf" => Some(Keyword::OneOf(list)),
                    _ => None,
                }
            }
            Below::Map => {
                let map = self.map(value, depth)?;
                // Definitions are read, and counted where they are referred to.
                (keyword == "dependentSchemas").then(|| {
                    below.extend(map.iter().map(|(_, id)| *id));
                    Keyword::DependentSchemas(map)
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
    ) -> Result<Option<Keyword>, String> {
        let mut members = Members::default();
        if let Some(value) = object.get("properties") {
            self.path.push("properties".into());
            members.named = self.map(value, depth)?.into_iter().collect();
            self.path.pop();
        }
        if let Some(value) = object.get("patternProperties") {
            self.path.push("patternProperties".into());
            for ((_, id), source) in
                self.map(value, depth)?.iter().zip(value.as_object().into_iter().flatten())
            {
                members.matching.push((self.pattern(source.0)?, *id));
            }
            self.path.pop();
        }
        below.extend(members.named.values());
        below.extend(members.matching.iter().map(|(_, id)| *id));
        members.others = self.under(object, "additionalProperties", depth, below)?;
        let said = members.others.is_some() || !members.named.is_empty() || !members.matching.is_empty();
        Ok(said.then_some(Keyword::Members(members)))
    }

    /// `prefixItems` and `items`, which earlier drafts call `items` and `additionalItems`.
    fn items(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Keyword>, String> {
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
        Ok((rest.is_some() || !ids.is_empty()).then_some(Keyword::Items(Items { first: ids, rest })))
    }

    fn contains(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Keyword>, String> {
        let bound = |keyword: &str| object.get(keyword).map(count).transpose();
        let (least, most) = (bound("minContains")?.unwrap_or(1), bound("maxContains")?);
        let what = self.under(object, "contains", depth, below)?;
        Ok(what.map(|what| Keyword::Contains(Contains { what, least, most })))
    }

    fn condition(
        &mut self,
        object: &'a Map<String, Value>,
        depth: u32,
        below: &mut Vec<Id>,
    ) -> Result<Option<Keyword>, String> {
        let condition = self.under(object, "if", depth, below)?;
        let then = self.under(object, "then", depth, below)?;
        let otherwise = self.under(object, "else", depth, below)?;
        Ok(condition.map(|condition| Keyword::If(Box::new(If { condition, then, otherwise }))))
    }

    /// What `dependentRequired` and `dependentSchemas` were called before they were two.
    fn dependencies(
        &mut self,
        value: &'a Value,
        depth: u32,
        below: &mut Vec<Id>,
        keywords: &mut Vec<Keyword>,
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
        keywords.push(Keyword::DependentRequired(required));
        keywords.push(Keyword::DependentSchemas(schemas));
        Ok(())
    }
}
