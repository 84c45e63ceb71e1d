//! What the engine in memory holds, and how it finds in it: every page is looked at for every question.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gatehouse_core::{
    Fault,
    page::{KnowledgePage, PageNeighbor},
    search::{NameMatch, ScoredCandidate, dense, name::name_key, script, variants},
};

use crate::{
    embedding::{VectorItem, VectorModel},
    engine::{
        PAGES, PageCandidates, PageHead, PageQuestion, PageScope, PageWrites, QueryVector, WriteOutcome,
        WritePlan, name_matches,
    },
    sqlite::tokenizer,
    wiki::{edges, ids, record::PageRecord},
};

/// How much a word counts in title, overview, domains, content, and as a piece of another script.
const WEIGHTS: [f64; 5] = [6.0, 3.0, 2.0, 1.0, 1.0];

#[derive(Default)]
pub(super) struct PageGraph {
    /// By key.
    pub(super) pages: BTreeMap<String, IndexedPage>,
    /// The version of what is embedded.
    pub(super) items: BTreeMap<VectorItem, String>,
    /// By item and model.
    pub(super) vectors: HashMap<(VectorItem, String), Option<Vec<f32>>>,
}

/// A page with what it is found by.
pub(super) struct IndexedPage {
    pub(super) record: PageRecord,
    /// How often each word occurs, weighed by where.
    words: HashMap<String, f64>,
    length: f64,
}

impl IndexedPage {
    fn from_record(record: &PageRecord) -> Result<Self, Fault> {
        let domains = record.domains.join(", ");
        let texts = [&record.title, &record.overview, &domains, &record.content];
        let parted = texts.map(|text| format!("{} {}", script::separate_scripts(text), variants(text)));
        let unfit = |error| Fault::internal(format!("a page cannot be cut into words: {error}"));
        let mut fields = tokenizer::tokenize(&parted).map_err(unfit)?;
        fields.push(tokenizer::pieces(&texts.map(String::as_str)).split(' ').map(str::to_owned).collect());
        let mut words: HashMap<String, f64> = HashMap::new();
        let length = fields.iter().map(Vec::len).sum::<usize>() as f64;
        for (field, weight) in fields.into_iter().zip(WEIGHTS) {
            for word in field.into_iter().filter(|word| !word.is_empty()) {
                *words.entry(word).or_default() += weight;
            }
        }
        Ok(Self { record: record.clone(), words, length })
    }

    fn matches_filters(&self, question: &PageQuestion) -> bool {
        let domains: Vec<String> = self.record.domains.iter().map(|domain| ids::domain_key(domain)).collect();
        (question.types.is_empty() || question.types.contains(&self.record.page_type))
            && (question.domains.is_empty() || question.domains.iter().any(|domain| domains.contains(domain)))
    }
}

/// The words of a question with how much each says, and those that no page holds.
struct WeightedWords {
    terms: Vec<(String, f64)>,
    unmatched: Vec<String>,
}

fn page_item(key: &str) -> VectorItem {
    VectorItem { corpus: PAGES.to_owned(), key: key.to_owned() }
}

impl PageGraph {
    pub(super) fn heads(&self, scope: &PageScope) -> Vec<PageHead> {
        let keys: BTreeSet<String> = match scope {
            PageScope::All => BTreeSet::new(),
            PageScope::Matching { ids, .. } => ids.iter().map(|id| ids::key(id)).collect(),
        };
        let is_meant = |(key, page): &(&String, &IndexedPage)| match scope {
            PageScope::All => true,
            PageScope::Matching { root, .. } => {
                let from = page.record.origin.as_ref().map(|origin| &origin.root);
                keys.contains(*key) || root.is_some() && from == root.as_ref()
            }
        };
        let mut heads: Vec<PageHead> =
            self.pages.iter().filter(is_meant).map(|(_, page)| PageHead::from_record(&page.record)).collect();
        heads.sort_by(|a, b| a.id.cmp(&b.id));
        heads
    }

    /// Every link between pages that exist, as (from, edge, to).
    pub(super) fn links(&self) -> BTreeSet<(&str, &str, &str)> {
        let links = self.pages.iter().flat_map(|(key, page)| {
            page.record.links.iter().filter_map(move |link| {
                let (target, _) = self.pages.get_key_value(&ids::key(&link.target))?;
                let (kept, inverse) = edges::stored_edge(page.record.page_type, link);
                Some(if inverse { (&**target, kept, &**key) } else { (&**key, kept, &**target) })
            })
        });
        links.collect()
    }

    pub(super) fn page(&self, id: &str) -> Option<KnowledgePage> {
        let key = ids::key(id);
        let record = self.pages.get(&key)?.record.clone();
        let links = self.links().into_iter().filter(|(from, _, to)| *from == key || *to == key);
        let near = links.filter_map(|(from, edge, to)| {
            let outgoing = from == key;
            let other = &self.pages.get(if outgoing { to } else { from })?.record;
            Some(PageNeighbor {
                edge: edge.to_owned(),
                outgoing,
                id: other.id.clone(),
                title: other.title.clone(),
            })
        });
        Some(record.into_page(PageNeighbor::deduplicate(near)))
    }

    pub(super) fn apply(&mut self, plan: &dyn WritePlan) -> Result<WriteOutcome, Fault> {
        let found = self.heads(&plan.scope()?);
        let Some(PageWrites { remove, put }) = plan.writes(&found)? else {
            return Ok(WriteOutcome::Conflict);
        };
        let put = put.iter().map(IndexedPage::from_record).collect::<Result<Vec<_>, _>>()?;
        plan.finish()?;
        for id in &remove {
            let key = ids::key(id);
            self.pages.remove(&key);
            self.items.remove(&page_item(&key));
            self.vectors.retain(|(item, _), _| item.key != key);
        }
        for page in put {
            let (key, version) = (page.record.key(), page.record.version_to_embed());
            if self.items.insert(page_item(&key), version.clone()).is_some_and(|before| before != version) {
                self.vectors.retain(|(item, _), _| item.key != key);
            }
            self.pages.insert(key, page);
        }
        Ok(WriteOutcome::Done)
    }

    fn is_waiting(&self, item: &VectorItem, model: &VectorModel) -> bool {
        match self.vectors.get(&(item.clone(), model.name.clone())) {
            None => true,
            Some(vector) => {
                let dimension = vector.as_ref().map(Vec::len);
                dimension.is_some() && model.dimension.is_some() && dimension != model.dimension
            }
        }
    }

    pub(super) fn waiting(&self, model: &VectorModel) -> impl Iterator<Item = (&VectorItem, &String)> {
        self.items.iter().filter(|(item, _)| self.is_waiting(item, model))
    }

    fn cosine(&self, key: &str, vector: &QueryVector) -> Option<f32> {
        let stored = self.vectors.get(&(page_item(key), vector.model.clone()))?.as_ref()?;
        dense::cosine(stored, &vector.values)
    }

    /// How much each word says, and the words that no page holds.
    fn weights(&self, question: &PageQuestion) -> Result<WeightedWords, Fault> {
        let query = &question.query;
        let whole = [query.words.clone(), query.joined.clone()].concat();
        let unfit = |error| Fault::internal(format!("a question cannot be cut into words: {error}"));
        let forms = tokenizer::tokenize(&whole).map_err(unfit)?;
        let holding =
            |word: &String| self.pages.values().filter(|page| page.words.contains_key(word)).count();
        let occurs = |forms: &[String], any: bool| {
            let holds = |page: &IndexedPage| {
                let mut forms = forms.iter().map(|form| page.words.contains_key(form));
                if any { forms.any(|holds| holds) } else { forms.all(|holds| holds) }
            };
            !forms.is_empty() && self.pages.values().any(holds)
        };
        let words = query.words.iter().zip(&forms).filter(|(_, forms)| !occurs(forms, true));
        let stretches = query.stretches.iter().filter(|stretch| !occurs(&stretch.pieces, stretch.any));
        let unmatched = words.map(|(word, _)| word).chain(stretches.map(|stretch| &stretch.text));
        let pieces = query.stretches.iter().flat_map(|stretch| stretch.pieces.clone());
        let terms: BTreeSet<String> = forms.iter().flatten().cloned().chain(pieces).collect();
        let weight = |word: String| {
            let (all, holding) = (self.pages.len() as f64, holding(&word) as f64);
            (word, (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln())
        };
        Ok(WeightedWords {
            terms: terms.into_iter().map(weight).collect(),
            unmatched: unmatched.cloned().collect(),
        })
    }

    pub(super) fn candidates(&self, question: &PageQuestion) -> Result<PageCandidates, Fault> {
        let WeightedWords { terms, unmatched } = self.weights(question)?;
        let average =
            self.pages.values().map(|page| page.length).sum::<f64>() / self.pages.len().max(1) as f64;
        let bm25 = |page: &IndexedPage| -> f64 {
            let long = 1.2 * (0.25 + 0.75 * page.length / average.max(1.0));
            let share = |(word, weight): &(String, f64)| {
                let occurs = page.words.get(word).copied().unwrap_or_default();
                weight * occurs * 2.2 / (occurs + long)
            };
            terms.iter().map(share).sum()
        };
        let passing: Vec<(&String, &IndexedPage)> =
            self.pages.iter().filter(|(_, page)| page.matches_filters(question)).collect();
        let names = passing.iter().flat_map(|(_, page)| {
            let PageRecord { id, title, .. } = &page.record;
            let stem = id.split_once('/').map_or(id.as_str(), |(_, stem)| stem);
            [title.as_str(), id, stem].map(|name| (id.clone(), name_key(name)))
        });
        let by_name = name_matches(
            &question.name,
            names.filter(|(_, name)| question.name.matches_key(name) != NameMatch::No),
        );
        let scored = passing.iter().map(|(key, page)| ScoredCandidate {
            key: page.record.id.clone(),
            name: by_name.get(&page.record.id).copied().unwrap_or(NameMatch::No),
            bm25: bm25(page),
            cosine: question.vector.as_ref().and_then(|vector| self.cosine(key, vector)),
        });
        let without_vector = question.vector.as_ref().map_or(0, |vector| {
            let dimension = Some(vector.values.len());
            self.waiting(&VectorModel { name: vector.model.clone(), dimension }).count()
        });
        Ok(PageCandidates {
            scored: scored.collect(),
            unmatched_terms: unmatched,
            without_vector,
            notes: Vec::new(),
        })
    }
}
