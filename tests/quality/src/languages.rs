//! Tool search in other languages: recall in self-made catalogs, and the verdict on unrelated questions.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Places, Results,
    catalogue::{Asking, Catalogue},
    recall::Recall,
    sets::{self, Question, Tool},
};

/// Languages with scripts without spaces, and the others.
pub(crate) const SPACELESS: [&str; 2] = ["zh", "ja"];
pub(crate) const SPACED: [&str; 3] = ["de", "ru", "ar"];

const LIMIT: usize = 10;

#[derive(Deserialize)]
pub(crate) struct LanguageSet {
    pub(crate) docs: Vec<Tool>,
    pub(crate) queries: Vec<Question>,
    pub(crate) off_topic: Vec<String>,
}

pub(crate) fn read(places: &Places, language: &str) -> Result<LanguageSet> {
    sets::json(&places.queries.join(format!("languages/{language}.json")))
}

pub(crate) fn run(places: &Places, results: &mut Results) -> Result<()> {
    for language in SPACELESS.into_iter().chain(SPACED) {
        let set = read(places, language)?;
        let catalogue = Catalogue::of(&set.docs);
        let mut recall = Recall::default();
        for question in &set.queries {
            recall.add(&catalogue.found(&question.q, LIMIT), &catalogue.once(&question.rel));
        }
        let name = format!("tools in {language}");
        results.rows.push(recall.row(&name, set.docs.len(), "gateway"));
        let unrelated: Vec<Asking> = set.off_topic.into_iter().map(|q| Asking { q }).collect();
        results.fits.push(json!(catalogue.fits(&name, set.queries.iter(), unrelated.iter())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn questions_in_other_scripts_find_their_tools() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let places = Places {
            queries: root.join("tests/fixtures/queries"),
            sample_wiki: root.join("docs/sample-wiki"),
            data: None,
            documents: Vec::new(),
        };
        let mut results = Results::default();
        run(&places, &mut results).unwrap();
        for row in &results.rows {
            assert!(row["recall@5"].as_f64().is_some_and(|recall| recall >= 0.4), "{row}");
        }
        for fit in &results.fits {
            let [wrong, all, own_none, own] =
                ["elsewhere_fits", "elsewhere", "own_nothing", "own"].map(|key| fit[key].as_f64().unwrap());
            assert!(2.0 * wrong <= all && 2.0 * own_none <= own, "{fit}");
        }
    }
}
