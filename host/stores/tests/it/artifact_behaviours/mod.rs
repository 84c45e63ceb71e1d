//! Behaviors that every artifact engine must have, like [`behaviours`](crate::behaviours) for the knowledge graph.

pub(crate) mod described;
pub(crate) mod finding;
pub(crate) mod growth;
pub(crate) mod keeping;
pub(crate) mod meaning;
pub(crate) mod owners;
pub(crate) mod reading;
pub(crate) mod time;
pub(crate) mod together;

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    call::Principal,
    ports::{
        ArtifactService as _,
        artifacts::{Artifact, ArtifactDraft, ArtifactFilter, ArtifactPart},
    },
};
use gatehouse_stores::{ArtifactLimits, ArtifactStore};

use crate::{
    embedder::TestEmbedder,
    engines::ArtifactFixture,
    support::{TestClock, clock},
};

macro_rules! artifact_behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, artifact_behaviours;
            described {
                results_are_found_by_a_description,
                the_subject_of_a_result_is_found_without_a_summary,
            }
            finding {
                lists_are_narrowed_by_tags_and_words_and_newest_first,
                words_are_found_in_summaries_names_and_tags,
                a_change_of_the_summary_is_found_and_the_old_one_is_not,
                any_text_is_a_valid_query,
            }
            growth {
                thousands_of_artifacts_are_found_as_soon_as_hundreds,
            }
            keeping {
                texts_of_any_kind_come_back_as_they_were,
                the_same_text_again_is_the_same_artifact,
                a_text_that_several_keep_is_stored_once,
                what_was_kept_is_there_after_a_restart,
                what_is_too_long_or_no_tag_is_refused_and_nothing_is_kept,
                the_cap_counts_all_and_what_is_past_its_time_makes_room,
            }
            meaning {
                an_artifact_without_a_word_of_the_question_is_found,
                without_a_model_that_answers_words_are_found,
                only_summaries_that_change_are_embedded_again,
            }
            owners {
                nothing_goes_from_one_owner_to_another,
                no_name_means_the_local_owner,
                the_owner_that_holds_the_most_makes_room,
                what_an_owner_holds_can_be_limited_and_erased,
            }
            reading {
                pages_put_together_are_the_text,
                values_are_read_by_pointer,
                text_and_data_are_read_apart,
                data_in_a_text_is_read,
                unreadable_parts_and_missing_artifacts_are_reported,
            }
            time {
                expired_artifacts_are_missing_for_every_method,
                what_is_pinned_stays_and_time_begins_anew_without_the_pin,
                a_sweep_removes_what_is_past_its_time_and_nothing_else,
                the_task_sweeps_at_once_and_ends_with_its_handle,
            }
            together {
                two_hosts_may_keep_and_sweep_at_once,
                two_hosts_that_keep_one_text_have_one_artifact,
                a_text_that_one_host_deletes_while_another_keeps_it_is_there,
                two_hosts_cannot_exceed_the_limit_of_an_owner,
                changes_of_one_artifact_by_two_hosts_are_all_kept,
                what_is_embedded_and_deleted_at_once_stops_no_write,
            }
        }
    };
}

pub(crate) use artifact_behaviours;

const LONG: Duration = Duration::from_secs(60);

pub(crate) const HOUR: u64 = 3_600_000;

pub(crate) const LOCAL: Principal = Principal::Local;

pub(crate) fn named(name: &str) -> Principal {
    Principal::Named(name.into())
}

pub(crate) fn limits(cap: u64) -> ArtifactLimits {
    ArtifactLimits { ttl: Duration::from_hours(3), cap, cap_setting: "max_bytes under [artifacts]".into() }
}

pub(crate) struct Shelf {
    pub(crate) store: Arc<ArtifactStore>,
    pub(crate) clock: Arc<TestClock>,
}

pub(crate) fn shelf<F: ArtifactFixture>(engine: &F) -> Shelf {
    shelf_with(engine, 1 << 30)
}

pub(crate) fn shelf_with<F: ArtifactFixture>(engine: &F, cap: u64) -> Shelf {
    let clock = clock();
    let store = engine.open_artifacts(limits(cap), Arc::clone(&clock) as _, None);
    Shelf { store: Arc::new(store), clock }
}

pub(crate) fn shelf_by_meaning<F: ArtifactFixture>(engine: &F, embedder: &Arc<TestEmbedder>) -> Shelf {
    let clock = clock();
    let embedder = Some(Arc::clone(embedder) as _);
    let store = engine.open_artifacts(limits(1 << 30), Arc::clone(&clock) as _, embedder);
    Shelf { store: Arc::new(store), clock }
}

pub(crate) fn draft(text: &str, summary: &str) -> ArtifactDraft {
    ArtifactDraft {
        text: text.into(),
        mime_type: "text/plain".into(),
        tool: Some("fetch_page".into()),
        source: Some("web".into()),
        preset: "research".into(),
        summary: (!summary.is_empty()).then(|| summary.into()),
        ..ArtifactDraft::default()
    }
}

pub(crate) fn tagged(text: &str, summary: &str, tags: &[&str]) -> ArtifactDraft {
    ArtifactDraft { tags: tags.iter().map(|tag| (*tag).into()).collect(), ..draft(text, summary) }
}

impl Shelf {
    pub(crate) async fn put(&self, draft: ArtifactDraft) -> Artifact {
        self.store.put(&LOCAL, draft).await.unwrap()
    }

    pub(crate) async fn text(&self, id: &str) -> String {
        self.store.read(&LOCAL, id, &ArtifactPart::Whole).await.unwrap().text
    }

    pub(crate) async fn recent(&self, tags: &[&str], words: &str) -> Vec<String> {
        let filter =
            ArtifactFilter { tags: tags.iter().map(|tag| (*tag).into()).collect(), words: words.into() };
        let found = self.store.recent(&LOCAL, &filter, 100).await.unwrap();
        found.into_iter().map(|artifact| artifact.id).collect()
    }

    pub(crate) async fn find(&self, query: &str) -> Vec<String> {
        let found = self.store.search(&LOCAL, query, 5).await.unwrap();
        found.into_iter().map(|hit| hit.artifact.id).collect()
    }

    pub(crate) async fn info(&self, id: &str) -> Option<Artifact> {
        self.store.info(&LOCAL, &[id.to_owned()]).await.unwrap().pop().flatten()
    }

    /// Returns the number of stored artifacts, including expired ones.
    pub(crate) async fn stored(&self) -> u32 {
        self.store.health().await.unwrap().items
    }
}
