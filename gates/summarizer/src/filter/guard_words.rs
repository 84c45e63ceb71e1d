//! Word lists for the guards.

/// Phrases that can begin a question without changing it, longest first.
#[rustfmt::skip] // one line each would fill a page
pub(super) const ASKING: &[&str] = &[
    "please", "can you", "could you", "would you", "will you", "i want to know", "i want to see", "i want",
    "i need to know", "i need to see", "i need", "i would like to see", "let me see", "let me know", "tell me",
    "show me", "show us", "give me", "give us", "get me", "find me", "bring me", "fetch me", "look up",
    "search for", "look for", "what is", "what are", "whats", "what's", "which are", "which is", "who are",
    "who is", "show", "list", "get", "find", "fetch", "give", "display", "retrieve", "print", "the", "a", "an",
];

pub(super) const EMPTY: &str = "\
    the a an please";

/// Synonyms. The first word replaces the others.
#[rustfmt::skip] // one line each would fill a page
pub(super) const SAME: &[&str] = &[
    "latest newest", "average mean", "directory folder", "directories folders", "documentation docs",
    "repository repo", "repositories repos", "about regarding concerning", "delete remove", "error failure",
    "errors failures", "configuration config", "database db", "dollar dollars $", "euro euros €",
    "pound pounds £", "percent %", "kilometer kilometers kilometre kilometres",
];

/// Equivalent before a name (`weather in Paris`, `for Paris`), unless they follow a participle (`made in`, `made for`).
pub(super) const NAME_PREPOSITIONS: &str = "\
    of for in";

/// Participles and verbs that do not end in -ed.
pub(super) const IRREGULAR_PARTICIPLES: &str = "\
    made built bought sold sent left born written paid won lost kept held found taken given grown known seen \
    said done put set is are was were be been live work vote voted leave arrive play stay";

pub(super) const NEGATIONS: &str = "\
    not no without never none nor neither except excluding unless non minus lacking missing cannot nobody \
    nothing nowhere hardly but";

/// Words that change the meaning of a question if replaced by another one.
pub(super) const DIRECTIONS: &str = "\
    above below over under before after first last latest earliest oldest newest highest lowest largest \
    smallest biggest longest shortest most least more less fewer greater max min maximum minimum top bottom up \
    down from to into out in on off since until till by with for against create delete add insert update open \
    closed close merged start stop enable disable enabled disabled increase decrease rise fall buy sell import \
    export read write upload download push pull next previous incoming outgoing sent received best worst \
    ascending descending inside outside between than active inactive public private early late left right north \
    south east west";

pub(super) const UNITS: &str = "\
    celsius fahrenheit kelvin km mile miles m cm mm meter meters metre metres foot feet inch inches kg g gram \
    grams lb lbs ounce ounces ton tons liter liters litre litres gallon gallons mb gb kb tb mib gib kib byte \
    bytes bit bits second seconds minute minutes hour hours ms s dollar euro pound yen usd eur gbp jpy chf \
    percent kilometer kilogram kilograms hz khz mhz ghz kw kwh watt watts";

pub(super) const DATES: &str = "\
    january february march april may june july august september october november december jan feb mar apr jun \
    jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday today tomorrow \
    yesterday tonight morning evening noon midnight day days week weeks weekend month months quarter year years \
    decade daily weekly monthly yearly annual spring summer autumn winter am pm utc now current";
