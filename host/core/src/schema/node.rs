//! A parsed schema, with references resolved.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Number, Value};

use super::pattern::SchemaPattern;
use crate::util::decimal::Decimal;

/// Index in [`SchemaTree::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SchemaNodeId(pub(super) u32);

#[derive(Debug)]
pub(super) struct SchemaTree {
    pub(super) nodes: Vec<SchemaNode>,
    pub(super) root: SchemaNodeId,
}

impl SchemaTree {
    pub(super) fn node(&self, id: SchemaNodeId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }
}

/// A schema or subschema. All its keywords must hold.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    /// Sorted by [`Keyword::rank`].
    pub(super) keywords: Vec<Keyword>,
    /// Number of schemas in this subtree, counting shared ones once per path.
    pub(super) weight: u64,
    /// Height of this subtree, including itself.
    pub(super) height: u32,
    /// True if parts of this subtree were skipped, so that it may accept too much.
    pub(super) is_partial: bool,
}

impl SchemaNode {
    pub(super) fn members(&self) -> Option<&MembersKeyword> {
        self.keywords.iter().find_map(|keyword| match keyword {
            Keyword::Members(members) => Some(members),
            _ => None,
        })
    }

    pub(super) fn types(&self) -> Option<TypeSet> {
        self.keywords.iter().find_map(|keyword| match keyword {
            Keyword::Type(types) => Some(*types),
            _ => None,
        })
    }

    pub(super) fn is_never(&self) -> bool {
        matches!(self.keywords[..], [Keyword::Never])
    }
}

#[derive(Debug)]
pub(super) enum Keyword {
    /// The schema `false`.
    Never,
    Type(TypeSet),
    Const(Value),
    Enum(Vec<Value>),
    Number(BoundKind, Number),
    Size {
        bound: BoundKind,
        part: CountedPart,
        limit: u64,
    },
    Required(Vec<String>),
    DependentRequired(Vec<(String, Vec<String>)>),
    Pattern(Arc<SchemaPattern>),
    UniqueItems,
    Members(MembersKeyword),
    PropertyNames(SchemaNodeId),
    Items {
        first: Vec<SchemaNodeId>,
        rest: Option<SchemaNodeId>,
    },
    Contains {
        schema: SchemaNodeId,
        min: u64,
        max: Option<u64>,
    },
    DependentSchemas(Vec<(String, SchemaNodeId)>),
    AllOf(Vec<SchemaNodeId>),
    AnyOf(Vec<SchemaNodeId>),
    OneOf(Vec<SchemaNodeId>),
    Not(SchemaNodeId),
    If {
        condition: SchemaNodeId,
        then: Option<SchemaNodeId>,
        otherwise: Option<SchemaNodeId>,
    },
    UnevaluatedItems(SchemaNodeId),
    UnevaluatedProperties(SchemaNodeId),
}

impl Keyword {
    /// Returns the direct subschemas.
    pub(super) fn schemas(&self) -> Vec<SchemaNodeId> {
        match self {
            Self::Members(MembersKeyword { named, matching, others }) => {
                named.values().chain(matching.iter().map(|(_, id)| id)).chain(others).copied().collect()
            }
            Self::Items { first, rest } => first.iter().chain(rest).copied().collect(),
            Self::Contains { schema, .. } => vec![*schema],
            Self::DependentSchemas(all) => all.iter().map(|(_, id)| *id).collect(),
            Self::AllOf(all) | Self::AnyOf(all) | Self::OneOf(all) => all.clone(),
            Self::If { condition, then, otherwise } => {
                [Some(*condition), *then, *otherwise].into_iter().flatten().collect()
            }
            Self::PropertyNames(id)
            | Self::Not(id)
            | Self::UnevaluatedItems(id)
            | Self::UnevaluatedProperties(id) => vec![*id],
            _ => Vec::new(),
        }
    }

    /// Returns the evaluation order: cheap keywords first, and `unevaluated…` last, because they depend on the others.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Never | Self::Type(_) => 0,
            Self::Const(_) | Self::Enum(_) => 1,
            Self::Number(..) => 2,
            Self::Size { .. } => 3,
            Self::Required(_) | Self::DependentRequired(_) => 4,
            Self::Pattern(_) => 5,
            Self::Members(_) | Self::PropertyNames(_) | Self::Items { .. } | Self::Contains { .. } => 6,
            Self::UniqueItems => 7,
            Self::UnevaluatedItems(_) | Self::UnevaluatedProperties(_) => 9,
            _ => 8,
        }
    }
}

/// Relation of a number to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundKind {
    AtLeast,
    AtMost,
    MoreThan,
    LessThan,
    MultipleOf,
}

impl BoundKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::MoreThan => "more than",
            Self::LessThan => "less than",
            Self::MultipleOf => "a multiple of",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountedPart {
    Character,
    Item,
    Member,
}

/// `properties`, `patternProperties` and `additionalProperties`, which depend on each other.
#[derive(Debug, Default)]
pub(super) struct MembersKeyword {
    pub(super) named: HashMap<String, SchemaNodeId>,
    pub(super) matching: Vec<(Arc<SchemaPattern>, SchemaNodeId)>,
    pub(super) others: Option<SchemaNodeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

const TYPE_NAMES: [(&str, &str); 7] = [
    ("string", "a string"),
    ("integer", "an integer"),
    ("number", "a number"),
    ("boolean", "a boolean"),
    ("array", "an array"),
    ("object", "an object"),
    ("null", "null"),
];

const INTEGER_BIT: u8 = 1 << 1;
const NUMBER_BIT: u8 = 1 << 2;

impl TypeSet {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        TYPE_NAMES.iter().position(|(type_name, _)| *type_name == name).map(|at| Self(1 << at))
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn accepts(self, value: &Value) -> bool {
        let type_bit = match value {
            Value::String(_) => 1,
            Value::Number(number) if self.0 & (INTEGER_BIT | NUMBER_BIT) == INTEGER_BIT => {
                return number.is_i64() || Decimal::new(number).is_integer();
            }
            Value::Number(_) => NUMBER_BIT,
            Value::Bool(_) => 1 << 3,
            Value::Array(_) => 1 << 4,
            Value::Object(_) => 1 << 5,
            Value::Null => 1 << 6,
        };
        self.0 & type_bit != 0
    }

    pub(super) fn describe(self) -> String {
        let named = TYPE_NAMES.iter().enumerate().filter(|(at, _)| self.0 & (1 << at) != 0);
        named.map(|(_, (_, words))| *words).collect::<Vec<_>>().join(" or ")
    }
}
