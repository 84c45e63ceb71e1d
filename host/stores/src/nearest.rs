//! Suggestions for a name that does not exist.

use std::cmp::Reverse;

use crate::{engine::PageHead, wiki::ids};

pub(crate) const MAX_SUGGESTIONS: usize = 3;

/// Comparing takes time proportional to the product of both lengths.
pub(crate) const MAX_COMPARED_CHARS: usize = 120;

/// Returns the nearest titles, nearest first: equal except for case or a missing prefix, then those that contain the
/// text or vice versa, then by spelling.
pub(crate) fn nearest(query: &str, pages: &[PageHead]) -> Vec<String> {
    let pages = pages.iter().map(|page| (page.id.as_str(), page.title.as_str()));
    nearest_of(query, pages)
}

/// Returns the nearest of names that have no ids, such as domains or repositories.
pub(crate) fn nearest_names(query: &str, names: &[String]) -> Vec<String> {
    nearest_of(query, names.iter().map(|name| (name.as_str(), name.as_str())))
}

/// Returns the nearest of (id, title) pairs.
fn nearest_of<'a>(query: &str, pages: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let query: String = fold(query).chars().take(MAX_COMPARED_CHARS).collect();
    let bare = query.split_once(['/', ':']).map_or(query.as_str(), |(_, name)| name.trim()).to_owned();
    let mut ranked: Vec<(u8, Reverse<u64>, &str, &str)> = pages
        .map(|(id, title)| {
            let names = [fold(title), fold(id.split_once('/').map_or(id, |(_, stem)| stem))];
            let class = names.iter().map(|name| class(&bare, name)).min().unwrap_or(2);
            let score = names.iter().map(|name| strsim::jaro_winkler(&bare, name)).fold(0.0, f64::max);
            // Similarity in millionths, because floats are not `Ord`.
            (class, Reverse((score * 1e6) as u64), title, id)
        })
        .collect();
    ranked.sort_unstable();
    let mut titles: Vec<String> = Vec::new();
    for (_, _, title, _) in ranked {
        if titles.len() < MAX_SUGGESTIONS && !titles.iter().any(|other| other == title) {
            titles.push(title.to_owned());
        }
    }
    titles
}

fn class(query: &str, name: &str) -> u8 {
    if query == name {
        0
    } else if query.chars().count() > 2 && (name.contains(query) || query.contains(name)) {
        1
    } else {
        2
    }
}

fn fold(text: &str) -> String {
    ids::key(text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Vec<PageHead> {
        [
            "Principle/Org_Lib_Model_Loading",
            "Principle/Org_Lib_Model_Saving",
            "Workflow/Org_Lib_QLoRA_Finetuning",
            "Heuristic/Org_Lib_Sample_Packing_Tip",
        ]
        .iter()
        .map(|id| PageHead {
            id: (*id).to_owned(),
            title: id.split_once("Lib_").unwrap().1.to_owned(),
            hash: String::new(),
            origin: None,
        })
        .collect()
    }

    #[test]
    fn near_titles_come_first() {
        assert_eq!(nearest("model loading", &pages())[0], "Model_Loading");
        assert_eq!(nearest("Principle/org lib model saving", &pages())[0], "Model_Saving");
        assert_eq!(nearest("packing", &pages())[0], "Sample_Packing_Tip");
        assert_eq!(nearest("QLora Finetunning", &pages())[0], "QLoRA_Finetuning");
        assert_eq!(nearest("x", &pages()).len(), 3);
        assert!(nearest("x", &[]).is_empty());
    }

    #[test]
    fn any_question_is_answered() {
        for text in ["", "/", "::", "\0", &"é".repeat(1_000_000)] {
            assert_eq!(nearest(text, &pages()).len(), 3);
        }
    }
}
