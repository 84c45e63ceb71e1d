//! Tests of the parser for model answers. Tests of the resulting replies are in gates/idea.

use super::*;

fn given(text: &str) -> Result<Vec<usize>, String> {
    parse_order(&Completion::new("test/model", text), 4, 4)
}

#[test]
fn an_order_is_found_in_surrounding_text() {
    for text in [
        "{\"order\":[3,1,4,2]}",
        "```json\n{\"order\": [3, 1, 4, 2]}\n```",
        "I think {this} is best: {\"order\":[\"3\",\"1\",4,2]} because of {\"order\":[1]}",
        "{\"thoughts\":{\"n\":1}}{\"order\":[3,1,4,2]}",
    ] {
        assert_eq!(given(text).as_deref(), Ok(&[2, 0, 3, 1][..]), "{text}");
    }
}

#[test]
fn invalid_numbers_are_replaced_in_engine_order() {
    for (text, order) in [
        ("{\"order\":[4,2]}", [3, 1, 0, 2]),
        ("{\"order\":[4,4,2]}", [3, 1, 0, 2]),
        ("{\"order\":[4,2,99,0]}", [3, 1, 0, 2]),
        ("{\"order\":[4,3,2,1,1,1,1]}", [3, 2, 1, 0]),
    ] {
        assert_eq!(given(text).as_deref(), Ok(&order[..]), "{text}");
    }
    // Fewer pages may be wanted than there are candidates.
    assert_eq!(parse_order(&Completion::new("m", "{\"order\":[4]}"), 4, 2), Ok(vec![3, 0, 1, 2]));
}

#[test]
fn a_mostly_invalid_order_is_rejected() {
    for text in [
        "",
        "3, 1, 4, 2",
        "[3,1,4,2]",
        "{\"order\":\"3,1\"}",
        "{\"order\":[]}",
        "{\"order\":[4]}",
        "{\"order\":[4,4,4,4]}",
        "{\"order\":[4,3,5,6,7]}",
        "{\"order\":[0,-1,1.5,null,[1],1e30,18446744073709551615]}",
        "{\"order\":[\"Principle/A\",\"Principle/B\"]}",
        "{\"order\":[3,1,4,2",
        "{\"ranking\":[3,1,4,2]}",
    ] {
        assert!(given(text).is_err(), "{text}");
    }
    let cut = Completion { cut_short: Some("limit".into()), ..Completion::new("m", "{\"order\":[3,1,4,2]}") };
    assert_eq!(parse_order(&cut, 4, 4), Err("the answer was cut short".into()));
}

#[test]
fn a_score_is_half_the_engines_and_half_the_place() {
    assert_eq!(blend_score(1.0, 0), 1.0);
    assert_eq!(blend_score(0.5, 0), 0.75);
    assert_eq!(blend_score(0.5, 3), 0.6);
    assert_eq!(blend_score(0.0, 10), 0.1);
    assert_eq!(blend_score(0.2, 39), 0.1);
}
