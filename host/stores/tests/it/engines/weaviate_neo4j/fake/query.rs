//! Executes queries: `Get` with `nearVector`, `where` and `limit`, and `Aggregate` with a count. Errors
//! resemble those of a real server.

use serde_json::{Map, Value as Json, json};

use super::{
    graphql::{Field, Value, parse},
    store::{Collection, Object, Store},
};

const LIMIT: usize = 100;
const MAXIMUM: usize = 10_000;

/// Returns the response, `data` or `errors`. The status is 200 in both cases.
pub(super) fn answer(store: &Store, question: &Json) -> Json {
    let text = question["query"].as_str().unwrap_or_default();
    match parse(text)
        .and_then(|fields| fields.iter().map(|field| root(store, field)).collect::<Result<Map<_, _>, _>>())
    {
        Ok(data) => json!({"data": data}),
        Err(message) => {
            json!({"data": null, "errors": [{"message": message, "locations": [], "path": null}]})
        }
    }
}

fn root(store: &Store, field: &Field) -> Result<(String, Json), String> {
    let one = |class: &Field| -> Result<(String, Json), String> {
        let unknown = || format!("Cannot query field {:?} on type \"{}ObjectsObj\".", class.name, field.name);
        let collection = store.collections.get(&class.name).ok_or_else(unknown)?;
        let answer = match field.name.as_str() {
            "Get" => get(collection, class)?,
            "Aggregate" => aggregate(collection, class)?,
            other => return Err(format!("Cannot query field {other:?} on type \"WeaviateObj\".")),
        };
        Ok((class.name.clone(), answer))
    };
    Ok((field.name.clone(), Json::Object(field.fields.iter().map(one).collect::<Result<_, _>>()?)))
}

fn aggregate(collection: &Collection, class: &Field) -> Result<Json, String> {
    let [meta] = class.fields.as_slice() else { return Err("the fake counts only".into()) };
    if meta.name != "meta"
        || meta.fields.len() != 1
        || meta.fields[0].name != "count"
        || !class.arguments.is_empty()
    {
        return Err("the fake counts only".into());
    }
    Ok(json!([{"meta": {"count": collection.objects.len()}}]))
}

fn get(collection: &Collection, class: &Field) -> Result<Json, String> {
    let known = ["where", "nearVector", "limit"];
    if let Some(unknown) = class.arguments.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("Unknown argument {unknown:?} on field {:?}.", class.name));
    }
    let limit = match class.arguments.get("limit") {
        None => LIMIT,
        Some(Value::Number(limit)) if limit.fract() == 0.0 && *limit >= 0.0 => *limit as usize,
        Some(other) => return Err(format!("Argument \"limit\" has invalid value {other:?}.")),
    };
    if limit > MAXIMUM {
        return Err("query maximum results exceeded".into());
    }
    let condition = class.arguments.get("where").map(|value| Condition::of(collection, value)).transpose()?;
    let passing = collection
        .objects
        .iter()
        .filter(|(_, object)| condition.as_ref().is_none_or(|one| one.holds(object)));
    let mut scored: Vec<(f64, &String, &Object)> = match class.arguments.get("nearVector") {
        Some(near) => by_meaning(collection, near, passing)?,
        None => passing.map(|(id, object)| (0.0, id, object)).collect(),
    };
    scored.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    scored.truncate(limit);
    scored
        .into_iter()
        .map(|(score, id, object)| shown(collection, &class.fields, (score, id, object)))
        .collect()
}

fn shown(
    collection: &Collection,
    fields: &[Field],
    (score, id, object): (f64, &String, &Object),
) -> Result<Json, String> {
    let mut row = Map::new();
    for field in fields {
        let value = match field.name.as_str() {
            "_additional" => {
                let of = |field: &Field| match field.name.as_str() {
                    "id" => Ok((field.name.clone(), json!(id))),
                    "distance" => Ok((field.name.clone(), json!(score as f32))),
                    other => Err(format!("Cannot query field {other:?} on type \"AdditionalProps\".")),
                };
                Json::Object(field.fields.iter().map(of).collect::<Result<_, String>>()?)
            }
            name if collection.properties.contains_key(name) => {
                object.properties.get(name).cloned().unwrap_or(Json::Null)
            }
            other => return Err(format!("Cannot query field {other:?} on type \"Object\".")),
        };
        row.insert(field.name.clone(), value);
    }
    Ok(Json::Object(row))
}

fn by_meaning<'a>(
    collection: &Collection,
    near: &Value,
    passing: impl Iterator<Item = (&'a String, &'a Object)>,
) -> Result<Vec<(f64, &'a String, &'a Object)>, String> {
    let Value::Object(near) = near else { return Err("Argument \"nearVector\" has invalid value.".into()) };
    let Some(Value::List(vector)) = near.get("vector") else {
        return Err("nearVector: vector is required".into());
    };
    let vector: Option<Vec<f32>> =
        vector.iter().map(|x| if let Value::Number(x) = x { Some(*x as f32) } else { None }).collect();
    let vector = vector.ok_or("nearVector: vector is a list of numbers")?;
    if let Some(known) = collection.dimension.filter(|known| *known != vector.len()) {
        return Err(format!(
            "explorer: get class: vector search: vector lengths don't match: {known} vs {}",
            vector.len()
        ));
    }
    let most = match near.get("distance") {
        Some(Value::Number(most)) => *most,
        _ => f64::INFINITY,
    };
    let distance = |other: &Vec<f32>| {
        let dot: f64 = vector.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let length = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        1.0 - dot / (length(&vector) * length(other)).max(f64::MIN_POSITIVE)
    };
    let near = passing.filter_map(|(id, object)| Some((distance(object.vector.as_ref()?), id, object)));
    Ok(near.filter(|(distance, _, _)| *distance <= most).collect())
}

enum Condition {
    AnyOf(String, Vec<String>, super::store::Property),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// Deletes the objects of a class that match a condition in the form of REST, and returns their number.
pub(super) fn delete(store: &mut Store, asked: &Json) -> Result<usize, String> {
    let (name, condition) = (asked["class"].as_str().unwrap_or_default(), &asked["where"]);
    let collection = store.collections.get_mut(name).ok_or(format!("class: {name} doesn't exist"))?;
    let [path] = condition["path"].as_array().map(Vec::as_slice).unwrap_or_default() else {
        return Err("where: path names one property".into());
    };
    let values = condition["valueTextArray"].as_array().ok_or("where: value is required")?;
    if condition["operator"] != "ContainsAny" {
        return Err("the fake deletes by ContainsAny only".into());
    }
    let property = path.as_str().unwrap_or_default();
    let before = collection.objects.len();
    collection.objects.retain(|_, object| !values.contains(&object.properties[property]));
    Ok(before - collection.objects.len())
}

impl Condition {
    fn of(collection: &Collection, value: &Value) -> Result<Self, String> {
        let Value::Object(fields) = value else { return Err("Argument \"where\" has invalid value.".into()) };
        let Some(Value::Word(operator)) = fields.get("operator") else {
            return Err("where: operator is required".into());
        };
        if operator == "And" || operator == "Or" {
            let Some(Value::List(operands)) = fields.get("operands") else {
                return Err("where: operands are required".into());
            };
            let operands =
                operands.iter().map(|one| Self::of(collection, one)).collect::<Result<Vec<_>, _>>()?;
            return Ok(if operator == "And" { Self::All(operands) } else { Self::Any(operands) });
        }
        let Some(Value::List(path)) = fields.get("path") else {
            return Err("where: path is required".into());
        };
        let [Value::Text(name)] = path.as_slice() else {
            return Err("where: path names one property".into());
        };
        let property =
            collection.properties.get(name).ok_or(format!("no such prop with name {name:?} found"))?;
        if !property.filterable {
            return Err(format!(
                "Filtering by property '{name}' requires inverted index. Did you forget to set 'indexFilterable'?"
            ));
        }
        let texts = match (operator.as_str(), fields.get("valueText")) {
            ("Equal", Some(Value::Text(text))) => vec![text.clone()],
            ("ContainsAny", Some(Value::List(values))) if !values.is_empty() => values
                .iter()
                .map(|value| {
                    if let Value::Text(text) = value {
                        Ok(text.clone())
                    } else {
                        Err("valueText: texts only")
                    }
                })
                .collect::<Result<_, _>>()?,
            _ => return Err(format!("invalid 'where' filter: operator {operator} with this value")),
        };
        Ok(Self::AnyOf(name.clone(), texts, property.clone()))
    }

    fn holds(&self, object: &Object) -> bool {
        match self {
            Self::All(conditions) => conditions.iter().all(|one| one.holds(object)),
            Self::Any(conditions) => conditions.iter().any(|one| one.holds(object)),
            Self::AnyOf(name, texts, property) => {
                let words =
                    object.properties.get(name).map(|value| property.words(value)).unwrap_or_default();
                texts.iter().any(|text| {
                    let wanted = property.words_of(text);
                    !wanted.is_empty() && wanted.iter().all(|word| words.contains(word))
                })
            }
        }
    }
}
