//! [`Kind`]: page types in arguments and replies.

use std::borrow::Cow;

use gatehouse_sdk::knowledge::PageType;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A page type, written as in ids (`Workflow`, `Principle`, …). Arguments may also use lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub PageType);

const ALL: [PageType; 5] = [
    PageType::Workflow,
    PageType::Principle,
    PageType::Implementation,
    PageType::Environment,
    PageType::Heuristic,
];

/// The names of [`ALL`], in the same order.
const NAMES: [&str; 5] = ["Workflow", "Principle", "Implementation", "Environment", "Heuristic"];

impl Kind {
    /// Returns the type with this name, ignoring case.
    pub fn parse(name: &str) -> Option<Self> {
        ALL.into_iter().map(Self).find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// Returns the name as used in ids, such as `Workflow`.
    pub fn name(self) -> &'static str {
        NAMES[self.0 as usize]
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Self::parse(&name).ok_or_else(|| de::Error::unknown_variant(&name, &NAMES))
    }
}

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "PageType".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = NAMES.map(str::to_owned).into_iter();
        let spellings: Vec<String> = names.chain(NAMES.map(str::to_lowercase)).collect();
        json_schema!({"type": "string", "enum": spellings})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_name() {
        for (kind, name) in ALL.into_iter().zip(NAMES) {
            assert_eq!(format!("{kind:?}").to_lowercase(), format!("pagetype::{name}").to_lowercase());
            assert_eq!(Kind(kind).name(), name);
            assert_eq!(Kind::parse(&name.to_lowercase()), Some(Kind(kind)));
        }
        assert_eq!(Kind::parse("Recipe"), None);
    }
}
