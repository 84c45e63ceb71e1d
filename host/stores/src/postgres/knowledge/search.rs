//! Finds pages: by the words of a question, by its meaning, and by its being a name. The candidates of each,
//! then what is known of every candidate, then one order, then the pages themselves.
//!
//! Filters count before the limit, in each of the three.

use std::collections::HashMap;

use futures_util::future::try_join3;
use gatehouse_core::{
    ports::knowledge::{Filters, Hit, SearchResult},
    search::{Judge, NameQuery, Named, POOL, Query, Scored, answering, fuse, script::Stretch},
};

use super::{
    super::{error::StoreError, session::Session},
    read::{self, column},
    terms::{asked, asked_pieces, occurs},
    vectors::Meaning,
};
use crate::wiki::ids;

/// How much a word counts in content, domains, overview and title, as shares of [`HEAVIEST`]: the server wants
/// them at most 1.
const WEIGHTS: &str = "'{0.166666667, 0.333333333, 0.5, 1}'::real[]";

/// How much it counts in the title.
const HEAVIEST: f64 = 6.0;

/// The constants of BM25 as SQLite has them: how soon further places of a word count less, and how much more a
/// long page has to hold.
const K1: f64 = 1.2;
/// See [`K1`].
const B: f64 = 0.75;

/// Pieces of words in other scripts that one question asks for at most.
const MAX_PIECES: usize = 128;

/// One thing that the index is asked for.
struct Form {
    /// As the index is asked.
    form: String,
    /// What the caller wrote, where it is to be named if it occurs nowhere.
    written: Option<String>,
    /// Whether finding it counts.
    counts: bool,
}

/// A question, taken apart.
pub(super) struct Question {
    forms: Vec<Form>,
    name: NameQuery,
    judge: Judge,
    types: Option<Vec<&'static str>>,
    domains: Option<Vec<String>>,
    min_score: f64,
    limit: usize,
}

impl Question {
    pub(super) fn of(text: &str, filters: &Filters, limit: usize) -> Self {
        let query = Query::of(text);
        let word =
            |word: &String| Some(Form { form: asked(word)?, written: Some(word.clone()), counts: true });
        let stretch = |s: &Stretch| Form { form: occurs(s), written: Some(s.text.clone()), counts: false };
        let further = |form: String| Form { form, written: None, counts: true };
        let pieces = query.stretches.iter().flat_map(asked_pieces).take(MAX_PIECES);
        let mut forms: Vec<Form> = query.words.iter().filter_map(word).collect();
        forms.extend(query.stretches.iter().map(stretch).filter(|form| !form.form.is_empty()));
        forms.extend(query.joined.iter().filter_map(|word| asked(word)).chain(pieces).map(further));
        let types = filters.page_types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>();
        let domains = filters.domains.iter().map(|domain| ids::domain_key(&super::storable(domain)));
        let domains = domains.collect::<Vec<_>>();
        Self {
            forms,
            name: NameQuery::of(&super::storable(text)),
            judge: Judge::of(text),
            types: Some(types).filter(|types| !types.is_empty()),
            domains: Some(domains).filter(|domains| !domains.is_empty()),
            min_score: filters.min_score.unwrap_or(0.0),
            limit,
        }
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// How many candidates are looked at closely.
    fn pool(&self) -> i64 {
        i64::try_from(self.limit.max(POOL)).unwrap_or(i64::MAX)
    }
}

/// What of a question occurs, and how much finding it says.
struct Asked {
    forms: Vec<String>,
    weights: Vec<f64>,
    /// How many words a page has, on average.
    length: f64,
}

/// What was found.
pub(super) struct Outcome {
    pub(super) result: SearchResult,
    /// Pages that have no vector of the model, where one was asked.
    pub(super) waiting: usize,
}

/// Runs a search.
pub(super) async fn search(
    db: &Session,
    question: &Question,
    meaning: Option<&Meaning>,
) -> Result<Outcome, StoreError> {
    let (asked, unmatched_terms, total) = counted(db, question).await?;
    let near = async {
        match meaning {
            Some(meaning) => meaning.nearest(db, &question.types, &question.domains, question.pool()).await,
            None => Ok(Vec::new()),
        }
    };
    let (by_words, by_name, by_meaning) =
        try_join3(by_words(db, question, &asked), by_name(db, question), near).await?;
    let mut numbers = [by_words, by_name.keys().copied().collect(), by_meaning].concat();
    numbers.sort_unstable();
    numbers.dedup();
    let ranked = fuse(answering(weighed(db, &asked, &by_name, meaning, &numbers).await?));
    let ranked: Vec<_> =
        ranked.into_iter().take(question.limit).filter(|page| page.score >= question.min_score).collect();
    let numbers: Vec<i64> = ranked.iter().map(|page| page.key.1).collect();
    let pages = read::pages(db, &numbers).await?;
    // Both are of one state of the tables: every page is still there.
    let hits = pages.into_iter().zip(ranked).map(|(page, ranked)| Hit {
        fit: question.judge.fit(ranked.name, ranked.cosine, &page),
        page,
        score: ranked.score,
    });
    let waiting = match meaning {
        Some(meaning) => total.saturating_sub(meaning.held(db).await? as usize),
        None => 0,
    };
    let result = SearchResult { hits: hits.collect(), unmatched_terms, ..SearchResult::default() };
    Ok(Outcome { result, waiting })
}

/// In how many pages each word occurs decides how much it says; what occurs in none is left out and named.
async fn counted(db: &Session, question: &Question) -> Result<(Asked, Vec<String>, usize), StoreError> {
    let forms: Vec<&str> = question.forms.iter().map(|form| form.form.as_str()).collect();
    let sql = "SELECT (SELECT count(*) FROM gatehouse.page_text t WHERE t.terms @@ to_tsquery('gatehouse.words', form)),
            (SELECT count(*) FROM gatehouse.page),
            (SELECT coalesce(avg(length), 0)::float8 FROM gatehouse.page)
         FROM unnest($1::text[]) WITH ORDINALITY AS asked (form, place) ORDER BY place";
    let rows = db.rows(sql, &[&forms]).await?;
    let mut asked = Asked { forms: Vec::new(), weights: Vec::new(), length: 1.0 };
    let (mut unmatched, mut total) = (Vec::new(), 0.0);
    for (row, Form { form, written, counts }) in rows.iter().zip(&question.forms) {
        let (holding, all) = (column::<i64>(row, 0)? as f64, column::<i64>(row, 1)? as f64);
        total = all;
        asked.length = column::<f64>(row, 2)?.max(1.0);
        if holding == 0.0 {
            unmatched.extend(written.clone());
        } else if *counts {
            asked.forms.push(form.clone());
            // The weight of BM25: rare words say more, and one that every page holds still says something.
            asked.weights.push((1.0 + (all - holding + 0.5) / (holding + 0.5)).ln());
        }
    }
    Ok((asked, unmatched, total as usize))
}

/// What one form `a` adds to the score of a page `p` with the terms `t`: BM25, with every place of a word counted by the
/// part of the page that it is in. For one word alone, the server's rank by cover density is the sum of the weights
/// of its places. `$3` is the average length.
fn share() -> String {
    let places =
        format!("{HEAVIEST} * ts_rank_cd({WEIGHTS}, t.terms, to_tsquery('gatehouse.words', a.form))");
    let long = format!("{K1}::float8 * ({} + {B}::float8 * p.length / $3::float8)", 1.0 - B);
    // f / (f + long), with f read once.
    format!("a.weight * {} * (1 - {long} / ({places} + {long}))", K1 + 1.0)
}

/// The forms and their weights, `$1` and `$2`, as rows `a`.
const FORMS: &str = "unnest($1::text[], $2::float8[]) WITH ORDINALITY AS a (form, weight, place)";

/// The condition that the filters are, on a page `p`, with the numbers of their two values.
pub(super) fn filtered(types: usize, domains: usize) -> String {
    format!(
        "(${types}::text[] IS NULL OR p.type = ANY(${types}))
         AND (${domains}::text[] IS NULL OR p.number IN (SELECT d.page FROM gatehouse.domain d WHERE d.key = ANY(${domains})))"
    )
}

/// The best by words, ties by id.
async fn by_words(db: &Session, question: &Question, asked: &Asked) -> Result<Vec<i64>, StoreError> {
    if asked.forms.is_empty() {
        return Ok(Vec::new());
    }
    // The index is asked for each form; one that a page does not hold costs nothing there. OFFSET 0 has the shares
    // made before anything is sorted: terms are long.
    let sql = format!(
        "SELECT number FROM (
            SELECT p.number, p.id, a.place, {} AS share FROM {FORMS}
                JOIN gatehouse.page_text t ON t.terms @@ to_tsquery('gatehouse.words', a.form)
                JOIN gatehouse.page p ON p.number = t.page
            WHERE {} OFFSET 0
         ) held GROUP BY number, id ORDER BY sum(share ORDER BY place) DESC, id LIMIT $6",
        share(),
        filtered(4, 5)
    );
    let (types, domains, pool) = (&question.types, &question.domains, question.pool());
    let rows = db.rows(&sql, &[&asked.forms, &asked.weights, &asked.length, types, domains, &pool]).await?;
    rows.iter().map(|row| column(row, 0)).collect()
}

/// Those that the question names, and those whose name begins with it. A beginning that more than [`POOL`] pages
/// have tells nothing.
async fn by_name(db: &Session, question: &Question) -> Result<HashMap<i64, Named>, StoreError> {
    let Some((from, to)) = question.name.range() else { return Ok(HashMap::new()) };
    let sql = format!(
        "SELECT p.number, n.key FROM gatehouse.page_name n JOIN gatehouse.page p ON p.number = n.page
         WHERE n.key >= $1 AND n.key < $2 AND {} ORDER BY n.key, p.id LIMIT $5",
        filtered(3, 4)
    );
    // Where nothing but the exact name counts, the end of the range is not a text that the server knows.
    let to = to.replace('\0', "\u{1}");
    // Each page has three names at most.
    let limit = 3 * POOL as i64 + 1;
    let rows = db.rows(&sql, &[&from, &to, &question.types, &question.domains, &limit]).await?;
    let mut pages: HashMap<i64, Named> = HashMap::new();
    for row in &rows {
        let name = question.name.matches_key(&column::<String>(row, 1)?);
        let best = pages.entry(column(row, 0)?).or_insert(name);
        *best = name.min(*best);
    }
    if pages.len() > POOL {
        pages.retain(|_, name| *name == Named::Exact);
    }
    Ok(pages)
}

/// What is known of each candidate; the key is the id, which decides ties, with the number.
async fn weighed(
    db: &Session,
    asked: &Asked,
    named: &HashMap<i64, Named>,
    meaning: Option<&Meaning>,
    numbers: &[i64],
) -> Result<Vec<Scored<(String, i64)>>, StoreError> {
    let sql = format!(
        "SELECT p.id, p.number, (SELECT coalesce(sum({} ORDER BY a.place), 0) FROM {FORMS})
         FROM gatehouse.page p JOIN gatehouse.page_text t ON t.page = p.number WHERE p.number = ANY($4)",
        share()
    );
    let mut cosines = match meaning {
        Some(meaning) => meaning.cosines(db, numbers).await?,
        None => Default::default(),
    };
    let mut scored = Vec::new();
    for row in db.rows(&sql, &[&asked.forms, &asked.weights, &asked.length, &numbers]).await? {
        let (id, number): (String, i64) = (column(&row, 0)?, column(&row, 1)?);
        scored.push(Scored {
            name: named.get(&number).copied().unwrap_or(Named::No),
            bm25: column(&row, 2)?,
            cosine: cosines.remove(&number),
            key: (id, number),
        });
    }
    Ok(scored)
}
