//! Word lists for the guards.

/// Phrases that can begin a question without changing it. Longer ones come before their own beginnings.
#[rustfmt::skip] // one line each would fill a page
pub(super) const ASKING: &[&str] = &[
    "please", "can you", "could you", "would you", "will you", "can i see", "can i get", "can i have", "could i see",
    "do you know", "i want to know", "i want to see", "i want", "i need to know", "i need to see", "i need",
    "i would like to see", "i would like to know", "i am looking for", "i'm looking for", "let me see", "let me know",
    "help me find", "tell me", "show me", "show us", "give me", "give us", "get me", "find me", "bring me", "fetch me",
    "look up", "pull up", "search for", "look for", "what is", "what are", "which are", "which is", "who are",
    "who is", "are there any", "is there any", "are there", "is there", "a list of", "list of", "show", "list", "get",
    "find", "fetch", "give", "display", "retrieve", "print", "view", "all of", "all", "any", "the", "a", "an",
];

/// Phrases that can end a question without changing it.
#[rustfmt::skip]
pub(super) const CLOSING: &[&str] = &[
    "please", "thanks", "thank you", "right now", "at the moment", "at present", "currently", "are there",
    "is there", "do we have", "exist",
];

/// Nouns that begin like an opening.
pub(super) const NOUNS_LIKE_VERBS: &[&str] =
    &["list price", "list prices", "get request", "get requests", "show times", "show notes", "all time"];

/// Openings that are as often nouns (`view controllers`). They are verbs before [DETERMINERS].
pub(super) const VERBS_LIKE_NOUNS: &str = "\
    display fetch print view";

pub(super) const DETERMINERS: &str = "\
    the all my me every any";

/// Phrases and their common form. A final `#` requires a number after the phrase, and a final `@` a name. Longer ones
/// come before their own beginnings.
#[rustfmt::skip]
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("how much does", "cost of"), ("how much do", "cost of"), ("number #", ""),
    ("how many", "number of"), ("total number of", "number of"), ("the count of", "number of"),
    ("how much is", "price of"), ("how big is", "size of"), ("how large is", "size of"), ("how old is", "age of"),
    ("how tall is", "height of"), ("how high is", "height of"), ("how long is", "length of"),
    ("how heavy is", "weight of"), ("how is the weather", "weather"), ("weather conditions", "weather"),
    ("current weather conditions", "weather"), ("current weather", "weather"), ("current temperature", "temperature"), ("what time is it", "time"),
    ("current time", "time"), ("current price of", "price of"), ("current status", "status"),
    ("current stock price", "stock price"), ("current share price", "stock price"), ("share price", "stock price"),
    ("most recently", "latest"), ("most recent #", "last"), ("latest #", "last"), ("newest #", "last"),
    ("most recent", "latest"), ("least recent", "oldest"), ("least expensive", "cheapest"),
    ("lowest priced", "cheapest"), ("lowest-priced", "cheapest"),
    ("who wrote", "author of"), ("who authored", "author of"), ("who leads", "leader of"), ("who owns", "owner of"),
    ("who directed", "director of"), ("who created", "creator of"), ("who invented", "inventor of"),
    ("who founded", "founder of"), ("who manages", "manager of"), ("who maintains", "maintainer of"),
    ("where is", "location of"), ("where are", "location of"),
    ("how do i", "how to"), ("how can i", "how to"), ("how do you", "how to"), ("how can you", "how to"),
    ("how do we", "how to"), ("how does", "how"), ("explain how", "how"), ("describe how", "how"),
    ("that exceeded #", ">"), ("that exceed #", ">"), ("that exceeds #", ">"), ("exceeding #", ">"),
    ("in excess of #", ">"), ("no more than #", "<="), ("not more than #", "<="), ("more than #", ">"),
    ("greater than #", ">"), ("higher than #", ">"), ("larger than #", ">"), ("bigger than #", ">"),
    ("above #", ">"), ("over #", ">"), ("no less than #", ">="), ("no fewer than #", ">="), ("not less than #", ">="),
    ("less than #", "<"), ("fewer than #", "<"), ("lower than #", "<"), ("smaller than #", "<"), ("below #", "<"),
    ("under #", "<"), ("at least #", ">="), ("at most #", "<="), ("up to #", "<="), ("≥ #", ">="), ("≤ #", "<="),
    ("in the last #", "last"), ("within the last #", "last"), ("over the last #", "last"),
    ("during the last #", "last"), ("in the past #", "last"), ("within the past #", "last"),
    ("over the past #", "last"), ("during the past #", "last"), ("in last #", "last"), ("past #", "last"),
    ("located in", "in"), ("situated in", "in"), ("based in", "in"), ("close to", "near"), ("related to", "about"),
    ("commits from @", "commits by"), ("comments from @", "comments by"), ("posts from @", "posts by"),
    ("reviews from @", "reviews by"), ("changes from @", "changes by"), ("patches from @", "patches by"),
    ("pull requests from @", "pull requests by"),
    ("emails sent by @", "emails from"), ("messages sent by @", "messages from"), ("written by", "by"), ("authored by", "by"),
    ("prs", "pull requests"), ("united states of america", "USA"), ("united states", "USA"),
    ("united kingdom", "UK"), ("new york city", "NYC"),
];

pub(super) const EMPTY: &str = "\
    the a an please";

/// Synonyms. The first word replaces the others.
#[rustfmt::skip] // one line each would fill a page
pub(super) const SAME: &[&str] = &[
    "latest newest", "average avg mean", "directory folder", "directories folders", "documentation docs",
    "repository repo", "repositories repos", "about regarding concerning", "delete remove", "configuration config",
    "database db", "databases dbs", "dollar dollars $", "euro euros €", "pound pounds £", "percent %",
    "kilometer kilometers kilometre kilometres km", "hour hours hr hrs", "minute minutes min mins",
    "second seconds sec secs", "largest biggest", "large big", "fastest quickest", "fast quick", "cheap inexpensive",
    "required mandatory", "bug defect", "bugs defects", "movie film", "movies films", "picture photo photograph",
    "pictures photos photographs", "car automobile", "cars automobiles", "employees staff personnel",
    "application app", "applications apps", "administrator admin", "administrators admins",
    "environment env", "environments envs", "information info", "until till", "yearly annual", "child kid",
    "children kids", "maximum max", "works work", "telephone phone", "near nearby",
    "january jan", "february feb", "april apr", "june jun", "july jul", "august aug", "september sep sept",
    "october oct", "november nov", "december dec",
];

/// Equivalent before a name (`weather in Paris`, `for Paris`), unless they follow a participle (`made in`, `made for`).
pub(super) const NAME_PREPOSITIONS: &str = "\
    of for in at";

/// What is for a name goes to it, and does not come from it.
pub(super) const SENT: &str = "\
    message messages mail mails email emails letter letters gift gifts present presents invoice invoices payment \
    payments package packages parcel parcels call calls request requests order orders ticket tickets flight flights \
    train trains bus buses ship ships shipment shipments delivery deliveries transfer transfers vote votes money news";

pub(super) const PREPOSITIONS: &str = "\
    of in on at by for from to with without since until till before after between during over under above below \
    within about as per via into onto near than > < >= <=";

pub(super) const CLOCK_UNITS: &str = "\
    hour hours hr hrs minute minutes min mins second seconds sec secs";

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
