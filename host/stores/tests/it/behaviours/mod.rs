//! Behaviors that every knowledge engine must have.
//!
//! Each behavior is a function over a [`Fixture`](crate::engines::Fixture). [`behaviours!`] generates a test of each
//! for one engine. An unlisted function is dead code, which the lints reject.

pub(crate) mod index;
pub(crate) mod links;
pub(crate) mod lookup;
pub(crate) mod meaning;
pub(crate) mod patch;
pub(crate) mod sample;
pub(crate) mod scripts;
pub(crate) mod search;
pub(crate) mod together;
pub(crate) mod upsert;

/// Generates a test per behavior for an engine, given its [`Fixture`](crate::engines::Fixture).
macro_rules! behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, behaviours;
            index {
                a_preview_reports_a_folder_and_stores_nothing,
                indexing_twice_changes_nothing_and_says_so,
                the_store_follows_the_folder,
                flat_wikis_are_indexed,
                a_search_reports_files_that_changed_after_indexing,
                a_file_that_cannot_be_read_keeps_its_page,
                progress_is_reported_to_the_end,
                folders_outside_the_roots_are_denied_with_the_line_to_add,
                without_a_folder_the_default_one_is_meant_and_may_be_touched,
                two_folders_coexist_and_pages_that_the_later_takes_over_are_reported,
                clearing_keeps_what_no_folder_brings_back_unless_that_is_accepted,
                an_index_file_is_written_and_can_be_read,
            }
            links {
                the_types_at_both_ends_of_an_edge_decide_its_direction,
                an_edge_and_its_inverse_are_one_and_unknown_edges_are_reported,
                a_page_without_an_overview_has_its_first_prose,
            }
            lookup {
                ids_and_titles_are_found_in_every_spelling,
                near_titles_are_offered_and_never_taken,
                pages_with_one_title_are_named,
                an_edge_declared_from_both_ends_is_one_neighbour,
                counts_and_health_are_reported,
            }
            meaning {
                a_page_without_a_word_of_the_question_is_found,
                filters_count_before_the_nearest_are_taken,
                a_page_without_a_word_of_the_question_has_to_be_near_enough,
                a_model_that_is_down_stops_neither_indexing_nor_search_and_is_asked_again,
                answers_that_do_not_fit_are_no_vectors,
                a_page_that_the_model_refuses_does_not_hold_up_the_others,
                only_a_change_of_what_is_embedded_is_embedded_again,
                what_another_process_stores_and_removes_is_seen,
                another_model_or_dimension_is_embedded_anew_and_going_back_costs_nothing,
                vectors_of_the_earlier_edition_serve_until_all_are_replaced,
                two_hosts_may_index_one_database_at_once,
                the_task_ends_with_the_graph,
            }
            patch {
                a_preview_reports_an_edit_and_changes_nothing,
                a_page_and_its_file_change_together_and_survive_reopening,
                the_same_values_touch_neither_file_nor_date,
                a_file_that_is_not_text_is_not_edited,
                a_file_that_changed_since_indexing_is_not_overwritten,
                bad_input_leaves_everything_as_it_was,
                wiki_dir_must_be_allowed_and_the_pages_own,
                outside_the_roots_only_the_stored_page_changes,
                #[cfg(unix)]
                a_page_that_became_a_link_out_of_the_folder_is_not_followed,
                edits_at_the_same_time_are_all_kept_or_refused,
            }
            sample {
                every_page_and_every_link_of_the_sample_is_indexed,
                the_sample_is_searched_with_and_without_filters,
                every_page_of_the_sample_can_be_edited,
            }
            scripts {
                a_page_that_is_named_comes_first_and_then_those_whose_names_begin_so,
                a_prefix_of_many_names_is_ignored,
                other_scripts_are_found_in_parts_and_in_other_forms,
                spellings_of_the_same_name_are_one_page,
            }
            search {
                words_are_found_in_other_forms_and_inside_names,
                filters_count_before_the_limit,
                equal_pages_come_in_the_order_of_their_ids,
                any_text_is_a_valid_query,
                unknown_domains_are_reported_with_the_nearest,
                a_hit_says_how_well_it_fits,
            }
            together {
                an_edit_between_reading_and_storing_a_folder_is_kept,
                a_folder_is_indexed_beside_writers_that_never_pause,
            }
            upsert {
                a_preview_reports_new_pages_and_writes_none,
                a_draft_becomes_a_page_once,
                one_bad_draft_means_none_is_written,
                a_new_page_gets_a_file_where_a_wiki_is_allowed,
                a_page_without_a_file_is_patched_in_the_store,
                new_content_without_a_file_is_read_as_that_of_one,
                indexing_leaves_pages_without_a_file_alone,
            }
        }
    };
}

/// Generates the tests. Each has its own store, and is skipped if the engine's service is missing.
macro_rules! tests {
    ($fixture:ty, $all:ident; $($part:ident { $($(#[$attribute:meta])* $behaviour:ident,)+ })+) => {
        $(mod $part {
            #[allow(unused_imports)] // unused if the fixture is given by its full path
            use super::*;
            $(
                $(#[$attribute])*
                #[tokio::test]
                async fn $behaviour() {
                    if let Some(engine) = <$fixture as $crate::engines::Fixture>::fresh().await {
                        $crate::$all::$part::$behaviour(engine).await;
                    }
                }
            )+
        })+
    };
}

pub(crate) use {behaviours, tests};
