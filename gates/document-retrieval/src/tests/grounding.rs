//! Tests of the check of a model's text against the document.

use crate::grounding::{drop_unsupported, keep_supported};

const DOCUMENT: &str = "PEST++ runs 1,024 models (3.5 GB each) on a GPU. Set `NOPTMAX = 30` in control_file.pst.\n\
                        The Kalman filter of Smith's team is 32-bit.\n```\nrun  --now\n```\n";

#[test]
fn supported_statements_stay() {
    for good in [
        "PEST++ runs 1024 models.",
        "Runs 1,024 models of 3.5 GB on GPUs.",
        "The Kalman's filter, by Smith, is 32-bit.",
        "Set `noptmax = 30` in control_file.pst.",
        "- it runs models, slowly",
        "## What to set",
        "```\nrun --now\n```\n",
    ] {
        assert_eq!(drop_unsupported(good, DOCUMENT).dropped, 0, "{good}");
    }
}

#[test]
fn unsupported_statements_are_dropped() {
    for bad in [
        "It runs 1,025 models.",
        "It takes 3.6 GB.",
        "It is by Jones.",
        "Set `NOPTMAX = 31`.",
        "Edit control_files.pst2.",
        "```\nrun --never\n```\n",
        "## Version 2",
    ] {
        let checked = drop_unsupported(bad, DOCUMENT);
        assert_eq!((checked.dropped, checked.text.as_str()), (1, ""), "{bad}");
    }
    let mixed = drop_unsupported("It runs models. It was made in 1988. It is 32-bit.\nLine two.\n", DOCUMENT);
    assert_eq!((mixed.text.as_str(), mixed.dropped), ("It runs models. It is 32-bit.\nLine two.", 1));
}

#[test]
fn a_text_is_cut_at_the_end_of_a_statement() {
    let text = "One two. Three four.\n```\na\nb\n```\nFive.";
    let within = |words: usize| {
        keep_supported(text, |text| Ok(text.split_whitespace().count() <= words)).unwrap_or_default()
    };
    assert_eq!(within(99), text);
    assert_eq!(within(3), "One two.");
    assert_eq!(within(7), "One two. Three four.");
    assert_eq!(within(8), "One two. Three four.\n```\na\nb\n```");
    assert_eq!(within(1), "");
}
