//! Page search: embeds the question, gets scored candidates from the engine, and ranks them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    page::MatchQuality,
    ports::knowledge::{KnowledgePage, PageFilters, PageHit, PageSearchResult, UnknownDomain},
    search::{FitScorer, NameMatch, NameQuery, RankedCandidate, SearchQuery, fuse, split_matching},
};

use super::WikiKnowledge;
use crate::{
    embedding::TextSource,
    engine::{NEAREST_PAGES, PageEngine, PageQuestion},
    nearest::nearest_names,
    wiki::{ids, record::PageRecord},
};

/// Maximum number of unknown domains to report. Each is compared with all domains.
const MAX_UNKNOWN_DOMAINS: usize = 5;

impl WikiKnowledge {
    pub(super) async fn find(
        &self,
        text: &str,
        filters: &PageFilters,
        limit: usize,
    ) -> Result<PageSearchResult, Fault> {
        let (vector, failed) = self.embedding.embed_question(text).await;
        let question = Arc::new(PageQuestion {
            query: SearchQuery::new(text),
            name: NameQuery::new(text),
            vector,
            types: filters.page_types.clone(),
            domains: filters.domains.iter().map(|domain| ids::domain_key(domain)).collect(),
            limit,
        });
        let result = self.engine.candidates(&question).await?;
        let mut notes: Vec<String> = failed.into_iter().chain(result.notes).collect();
        if result.without_vector > 0 && self.embedding.configured_model().is_some() {
            // Another process may have stored these pages.
            self.embedding.wake();
            notes.push(waiting_note(result.without_vector));
        }
        let (mut candidates, nearest_pages) = split_matching(result.scored);
        let nearest_pages = nearest_pages.into_iter().take(NEAREST_PAGES.saturating_sub(candidates.len()));
        let nearest_pages: Vec<_> = nearest_pages.collect();
        let only_near: HashSet<String> = nearest_pages.iter().map(|page| page.key.clone()).collect();
        candidates.extend(nearest_pages);
        let scorer = FitScorer::new(text);
        let fit = |name, cosine, page: &KnowledgePage| match only_near.contains(&page.id) {
            true => MatchQuality::Nothing,
            false => {
                let domains = page.domains.join("\n");
                let texts = [&page.title, &page.overview, &page.content, &domains];
                scorer.fit(name, cosine, &texts.map(String::as_str))
            }
        };
        let hits = self.hits(fit, fuse(candidates), filters.min_score.unwrap_or(0.0), limit).await?;
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        Ok(PageSearchResult {
            hits,
            unmatched_terms: result.unmatched_terms,
            note,
            ..PageSearchResult::default()
        })
    }

    pub(super) async fn unknown_domains(
        &self,
        requested_domains: &[String],
    ) -> Result<Vec<UnknownDomain>, Fault> {
        if requested_domains.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<String> = requested_domains.iter().map(|domain| ids::domain_key(domain)).collect();
        let existing_keys: HashSet<String> = self.engine.domains(Some(keys)).await?.into_iter().collect();
        let unknown =
            requested_domains.iter().filter(|domain| !existing_keys.contains(&ids::domain_key(domain)));
        let unknown: Vec<&String> = unknown.take(MAX_UNKNOWN_DOMAINS).collect();
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let all_domains = self.engine.domains(None).await?;
        let unknown_domain = |domain: &String| UnknownDomain {
            domain: domain.clone(),
            nearest: nearest_names(domain, &all_domains),
        };
        Ok(unknown.into_iter().map(unknown_domain).collect())
    }

    /// Loads the first `limit` pages with a score of at least `least`, skipping removed ones.
    async fn hits(
        &self,
        fit: impl Fn(NameMatch, Option<f32>, &KnowledgePage) -> MatchQuality,
        ranked: Vec<RankedCandidate<String>>,
        least: f64,
        limit: usize,
    ) -> Result<Vec<PageHit>, Fault> {
        let mut ranked = ranked.into_iter().take_while(|page| page.score >= least);
        let mut hits = Vec::new();
        loop {
            let next: Vec<RankedCandidate<String>> = ranked.by_ref().take(limit - hits.len()).collect();
            if next.is_empty() {
                return Ok(hits);
            }
            let ids: Vec<String> = next.iter().map(|page| page.key.clone()).collect();
            let pages = self.engine.pages(&ids).await?;
            let next_hits = next.into_iter().zip(pages).filter_map(
                |(RankedCandidate { score, name, cosine, .. }, page)| {
                    let page = page?;
                    Some(PageHit { fit: fit(name, cosine, &page), page, score })
                },
            );
            hits.extend(next_hits);
        }
    }
}

fn waiting_note(pages: usize) -> String {
    match pages {
        1 => "1 page has no vector yet and is searched by words only.".to_owned(),
        _ => format!("{pages} pages have no vectors yet and are searched by words only."),
    }
}

pub(super) struct PageTexts(pub(super) Arc<dyn PageEngine>);

#[async_trait]
impl TextSource for PageTexts {
    async fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let records = self.0.records(keys).await?;
        let mut texts: HashMap<String, String> =
            records.iter().map(|record: &PageRecord| (record.key(), record.text_to_embed())).collect();
        Ok(keys.iter().map(|key| texts.remove(key)).collect())
    }
}
