//! A schema as it was read: what is evaluated, and all that is. References are already followed.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Number, Value};

use super::pattern::Pattern;

/// Where a schema stands among those that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id(pub(super) u32);

/// A whole schema.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) root: Id,
}

impl Tree {
    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

/// One schema within: all its keywords must hold.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The cheap ones first, and those last that ask what the others have seen.
    pub(super) keywords: Vec<Keyword>,
    /// How many schemas it is with those below it, one for each way that leads to it.
    pub(super) weight: u64,
    /// How many levels of schemas are below it, and itself.
    pub(super) height: u32,
}

impl Node {
    /// The members that it names, if it says something about members.
    pub(super) fn members(&self) -> Option<&Members> {
        self.keywords.iter().find_map(|keyword| match keyword {
            Keyword::Members(members) => Some(members),
            _ => None,
        })
    }

    pub(super) fn types(&self) -> Option<Types> {
        self.keywords.iter().find_map(|keyword| match keyword {
            Keyword::Type(types) => Some(*types),
            _ => None,
        })
    }

    pub(super) fn is_never(&self) -> bool {
        matches!(self.keywords[..], [Keyword::Never])
    }
}

/// One thing that a schema demands.
#[derive(Debug)]
pub(super) enum Keyword {
    /// The schema `false`.
    Never,
    Type(Types),
    Const(Value),
    Enum(Vec<Value>),
    Number(Bound, Number),
    Size(Size),
    Required(Vec<String>),
    DependentRequired(Vec<(String, Vec<String>)>),
    Pattern(Arc<Pattern>),
    UniqueItems,
    Members(Members),
    PropertyNames(Id),
    Items(Items),
    Contains(Contains),
    DependentSchemas(Vec<(String, Id)>),
    AllOf(Vec<Id>),
    AnyOf(Vec<Id>),
    OneOf(Vec<Id>),
    Not(Id),
    If(Box<If>),
    UnevaluatedItems(Id),
    UnevaluatedProperties(Id),
}

impl Keyword {
    /// The schemas that are evaluated with it.
    pub(super) fn schemas(&self) -> Vec<Id> {
        match self {
            Self::Members(Members { named, matching, others }) => {
                named.values().chain(matching.iter().map(|(_, id)| id)).chain(others).copied().collect()
            }
            Self::Items(items) => items.first.iter().chain(&items.rest).copied().collect(),
            Self::Contains(contains) => vec![contains.what],
            Self::DependentSchemas(all) => all.iter().map(|(_, id)| *id).collect(),
            Self::AllOf(all) | Self::AnyOf(all) | Self::OneOf(all) => all.clone(),
            Self::If(keyword) => {
                [Some(keyword.condition), keyword.then, keyword.otherwise].into_iter().flatten().collect()
            }
            Self::PropertyNames(id)
            | Self::Not(id)
            | Self::UnevaluatedItems(id)
            | Self::UnevaluatedProperties(id) => vec![*id],
            _ => Vec::new(),
        }
    }

    /// Its place in the order in which keywords are looked at.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Never | Self::Type(_) => 0,
            Self::Const(_) | Self::Enum(_) => 1,
            Self::Number(..) => 2,
            Self::Size(_) => 3,
            Self::Required(_) | Self::DependentRequired(_) => 4,
            Self::Pattern(_) => 5,
            Self::Members(_) | Self::PropertyNames(_) | Self::Items(_) | Self::Contains(_) => 6,
            Self::UniqueItems => 7,
            Self::UnevaluatedItems(_) | Self::UnevaluatedProperties(_) => 9,
            _ => 8,
        }
    }
}

/// What a number must be to the one that a keyword has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    AtLeast,
    AtMost,
    MoreThan,
    LessThan,
    MultipleOf,
}

impl Bound {
    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::MoreThan => "more than",
            Self::LessThan => "less than",
            Self::MultipleOf => "a multiple of",
        }
    }
}

/// How many parts a value must have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// `AtLeast` or `AtMost`.
    pub(super) bound: Bound,
    pub(super) part: Part,
    pub(super) limit: u64,
}

/// What is counted: of a string, of an array, of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Character,
    Item,
    Member,
}

/// `properties`, `patternProperties` and `additionalProperties`, which look at each other.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) named: HashMap<String, Id>,
    pub(super) matching: Vec<(Arc<Pattern>, Id)>,
    pub(super) others: Option<Id>,
}

/// `prefixItems` and `items`.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) first: Vec<Id>,
    pub(super) rest: Option<Id>,
}

/// `contains` with its bounds.
#[derive(Debug)]
pub(super) struct Contains {
    pub(super) what: Id,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
pub(super) struct If {
    pub(super) condition: Id,
    pub(super) then: Option<Id>,
    pub(super) otherwise: Option<Id>,
}

/// A set of the types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

/// In the order in which a message names them.
const NAMES: [(&str, &str); 7] = [
    ("string", "a string"),
    ("integer", "an integer"),
    ("number", "a number"),
    ("boolean", "a boolean"),
    ("array", "an array"),
    ("object", "an object"),
    ("null", "null"),
];

const INTEGER: u8 = 1 << 1;
const NUMBER: u8 = 1 << 2;

impl Types {
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().position(|(known, _)| *known == name).map(|at| Self(1 << at))
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn admit(self, value: &Value) -> bool {
        let own = match value {
            Value::String(_) => 1,
            Value::Number(number) if self.0 & (INTEGER | NUMBER) == INTEGER => {
                return super::number::is_integer(number);
            }
            Value::Number(_) => NUMBER,
            Value::Bool(_) => 1 << 3,
            Value::Array(_) => 1 << 4,
            Value::Object(_) => 1 << 5,
            Value::Null => 1 << 6,
        };
        self.0 & own != 0
    }

    pub(super) fn in_words(self) -> String {
        let named = NAMES.iter().enumerate().filter(|(at, _)| self.0 & (1 << at) != 0);
        named.map(|(_, (_, words))| *words).collect::<Vec<_>>().join(" or ")
    }
}
