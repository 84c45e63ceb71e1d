//! Data of the fake: collections and objects, validated like a real server does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) list: bool,
    pub(super) tokenization: String,
    pub(super) filterable: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Collection {
    pub(super) class: Value,
    pub(super) properties: BTreeMap<String, Property>,
    pub(super) objects: BTreeMap<String, Object>,
    /// Set by the first vector, permanently, as in a real index.
    pub(super) dimension: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) properties: BTreeMap<String, Value>,
    pub(super) vector: Option<Vec<f32>>,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    /// Rejects objects of pages whose key contains this text.
    pub(super) refuses: Option<&'static str>,
    pub(super) collections: BTreeMap<String, Collection>,
}

pub(super) fn error(message: impl Into<String>) -> Value {
    json!({"error": [{"message": message.into()}]})
}

impl Store {
    pub(super) fn make(&mut self, class: Value) -> Result<Value, Value> {
        let name = class["class"].as_str().unwrap_or_default().to_owned();
        if !name.starts_with(|c: char| c.is_ascii_uppercase())
            || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            return Err(error(format!("'{name}' is not a valid class name")));
        }
        if self.collections.contains_key(&name) {
            return Err(error(format!("class name {name:?} already exists")));
        }
        if class["vectorizer"] != "none" {
            return Err(error("this server has no vectorizer modules"));
        }
        if class["vectorIndexConfig"]["distance"] != "cosine" {
            return Err(error("the fake knows cosine only"));
        }
        let mut properties = BTreeMap::new();
        for property in class["properties"].as_array().into_iter().flatten() {
            let kind = property["dataType"][0].as_str().unwrap_or_default();
            let (list, text) = (kind.ends_with("[]"), kind.trim_end_matches("[]") == "text");
            let tokenization = property["tokenization"].as_str().unwrap_or("word");
            let on = |name: &str| property.get(name).is_none_or(|value| value == true);
            let known = ["word", "lowercase", "whitespace", "field"].contains(&tokenization);
            let name = property["name"].as_str().unwrap_or_default();
            if !text || !known || name.is_empty() || name == "id" || name == "vector" {
                return Err(error(format!("property {name:?}: invalid name, data type or tokenization")));
            }
            let made =
                Property { list, tokenization: tokenization.into(), filterable: on("indexFilterable") };
            if properties.insert(name.to_owned(), made).is_some() {
                return Err(error(format!("duplicate property {name:?}")));
            }
        }
        let made = Collection { class: class.clone(), properties, objects: BTreeMap::new(), dimension: None };
        self.collections.insert(name, made);
        Ok(class)
    }

    pub(super) fn put(&mut self, object: &Value) -> Result<(), String> {
        let name = object["class"].as_str().unwrap_or_default();
        let collection =
            self.collections.get_mut(name).ok_or(format!("class {name:?} not found in schema"))?;
        let id = object["id"].as_str().filter(|id| is_uuid(id)).ok_or("invalid UUID length or format")?;
        let page = object["properties"]["key"].as_str().unwrap_or_default();
        if self.refuses.is_some_and(|refused| page.contains(refused)) {
            return Err("store is read-only".into());
        }
        let mut properties = BTreeMap::new();
        for (name, value) in object["properties"].as_object().into_iter().flatten() {
            let property =
                collection.properties.get(name).ok_or(format!("no such prop with name {name:?} found"))?;
            let fits = match value {
                Value::String(_) => !property.list,
                Value::Array(values) => property.list && values.iter().all(Value::is_string),
                _ => false,
            };
            if !fits {
                return Err(format!("invalid text property {name:?}: not a string, or not a list of them"));
            }
            properties.insert(name.clone(), value.clone());
        }
        let vector = match object.get("vector") {
            None | Some(Value::Null) => None,
            Some(vector) => Some(
                vector
                    .as_array()
                    .and_then(|vector| {
                        vector.iter().map(|x| x.as_f64().map(|x| x as f32)).collect::<Option<Vec<f32>>>()
                    })
                    .ok_or("vector: not a list of numbers")?,
            ),
        };
        if let Some(vector) = &vector {
            match collection.dimension {
                Some(known) if known != vector.len() => {
                    return Err(format!(
                        "insert to vector index: new node has a vector with length {}. Existing nodes have vectors with length {known}",
                        vector.len()
                    ));
                }
                _ => collection.dimension = Some(vector.len()),
            }
        }
        collection.objects.insert(id.to_owned(), Object { properties, vector });
        Ok(())
    }
}

fn is_uuid(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.chars().all(|c| c.is_ascii_hexdigit()))
}

impl Property {
    pub(super) fn words(&self, value: &Value) -> Vec<String> {
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        texts.into_iter().flat_map(|text| self.words_of(text)).collect()
    }

    pub(super) fn words_of(&self, text: &str) -> Vec<String> {
        let own =
            |words: Vec<&str>| words.into_iter().filter(|word| !word.is_empty()).map(str::to_owned).collect();
        match self.tokenization.as_str() {
            "field" => own(vec![text.trim()]),
            "whitespace" => own(text.split_whitespace().collect()),
            "lowercase" => own(text.to_lowercase().split_whitespace().collect()),
            _ => own(text.to_lowercase().split(|c: char| !c.is_alphanumeric()).collect()),
        }
    }
}
