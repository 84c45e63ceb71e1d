//! Results and order of tool searches.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    page::MatchQuality,
    search::RowSet,
    testing,
    tool::{SourceId, ToolSpec},
};

fn tool(name: &str, description: &str, parameters: &[&str]) -> Arc<ToolSpec> {
    let mut tool = testing::tool(name, None);
    tool.description = description.into();
    let properties: serde_json::Map<_, _> =
        parameters.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    tool.input_schema = Arc::new(
        json!({"type": "object", "properties": properties}).as_object().cloned().expect("an object"),
    );
    Arc::new(tool)
}

fn segments() -> Vec<ToolSegment> {
    let server = |name: &str| SourceId::Server(name.into());
    vec![
        ToolSegment::new(
            &server("files"),
            &[
                tool("read_file", "Gives the text of a file.", &["path"]),
                tool("read_file_range", "Gives some lines of a file.", &["path", "firstLine"]),
                tool("deleteFolder", "Removes a folder and all that is in it.", &["path"]),
            ],
        ),
        ToolSegment::new(
            &server("weather"),
            &[tool("forecast", "The weather of the coming days in a city.", &["cityName"])],
        ),
    ]
}

fn found(question: &str, allowed: &[usize], cosines: &[Option<f32>]) -> ToolMatches {
    let segments = segments();
    let tools = ToolSegments::new(segments.iter().collect());
    let allowed: RowSet = allowed.iter().copied().collect();
    let asked = [ToolQuery { text: question, cosines: cosines.to_vec() }];
    tools.search(&ToolSearch { queries: &asked, allowed: &allowed, limit: 10, min_score: 0.0 })
}

fn numbers(found: &ToolMatches) -> Vec<usize> {
    found.tools.iter().map(|hit| hit.tool).collect()
}

const ALL: [usize; 4] = [0, 1, 2, 3];

#[test]
fn the_name_that_is_asked_for_comes_first_and_then_those_that_begin_with_it() {
    assert_eq!(numbers(&found("readFile", &ALL, &[])), [0, 1]);
    assert_eq!(found("read_file", &ALL, &[]).tools[0].score, 1.0);
}

#[test]
fn tools_are_found_by_the_words_of_names_descriptions_and_parameters() {
    assert_eq!(numbers(&found("removing folders", &ALL, &[])), [2]);
    assert_eq!(numbers(&found("weather city", &ALL, &[])), [3]);
    let parameters = found("first line", &ALL, &[]);
    assert_eq!(parameters.tools.first().map(|hit| hit.tool), Some(1));
}

#[test]
fn tools_that_may_not_be_found_leave_no_trace() {
    let without = found("weather of a file", &[0, 1, 2], &[]);
    assert!(!numbers(&without).contains(&3));
    assert_eq!(without.unmatched_terms, ["weather"]);
    let files = segments();
    let alone = ToolSegments::new(vec![&files[0]]);
    let all: RowSet = (0..3).collect();
    let question = [ToolQuery { text: "weather of a file", cosines: Vec::new() }];
    let asked = ToolSearch { queries: &question, allowed: &all, limit: 10, min_score: 0.0 };
    assert_eq!(alone.search(&asked), without, "as if there were no such tools");
    assert_eq!(found("weather", &[], &[]).unmatched_terms, ["weather"]);
}

#[test]
fn nothing_that_fits_is_an_answer() {
    let none = found("who won the football match yesterday", &ALL, &[Some(0.1); 4]);
    assert_eq!(numbers(&none), [0_usize; 0]);
    assert!(none.unmatched_terms.contains(&"football".to_owned()), "{:?}", none.unmatched_terms);
    assert_eq!(found("", &ALL, &[]), ToolMatches::default());
}

#[test]
fn meaning_finds_what_no_word_does() {
    let cosines = [Some(0.1), Some(0.0), None, Some(0.6)];
    let hits = found("will it rain", &ALL, &cosines);
    assert_eq!(numbers(&hits), [3]);
}

#[test]
fn where_nothing_fits_well_the_nearest_few_are_told() {
    let server = SourceId::Server("many".into());
    let tools: Vec<_> = (0..40).map(|n| tool(&format!("tool{n}"), "Does one of the things.", &[])).collect();
    let segment = ToolSegment::new(&server, &tools);
    let search = |cosine: f32| {
        let asked = [ToolQuery { text: "carpet stains", cosines: vec![Some(cosine); 40] }];
        let all: RowSet = (0..40).collect();
        let found = ToolSearch { queries: &asked, allowed: &all, limit: 10, min_score: 0.0 };
        ToolSegments::new(vec![&segment]).search(&found).tools
    };
    assert_eq!(search(0.1).len(), 0);
    let near = search(0.35);
    assert!(near.len() == 5 && near.iter().all(|tool| tool.fit == MatchQuality::Weak), "{near:?}");
    let good = search(0.6);
    assert!(good.len() == 10 && good.iter().all(|tool| tool.fit == MatchQuality::Good), "{good:?}");
}

#[test]
fn what_a_part_asks_for_comes_before_what_the_whole_touches() {
    let request =
        "I travel to Oslo soon. What is the weather in the city? Remove the folder of the last journey.";
    let asked: Vec<ToolQuery<'_>> =
        query_parts(request).into_iter().map(|text| ToolQuery { text, cosines: Vec::new() }).collect();
    assert_eq!(asked.len(), 4);
    let (segments, all) = (segments(), ALL.into_iter().collect());
    let search = ToolSearch { queries: &asked, allowed: &all, limit: 10, min_score: 0.0 };
    let found = ToolSegments::new(segments.iter().collect()).search(&search);
    let mut first: Vec<usize> = numbers(&found).into_iter().take(2).collect();
    first.sort_unstable();
    assert_eq!(first, [2, 3]);
}

#[test]
fn twins_are_told_apart_by_their_server_and_the_order_is_always_the_same() {
    let of = |server: &str| {
        let tools = [tool("send_message", "Sends a message.", &["text"])];
        ToolSegment::new(&SourceId::Server(server.into()), &tools)
    };
    let segments = [of("mail"), of("chat"), of("pager")];
    let order = |places: [usize; 3]| {
        let asked = [ToolQuery { text: "send a message", cosines: Vec::new() }];
        let all: RowSet = (0..3).collect();
        let tools = ToolSegments::new(places.iter().map(|place| &segments[*place]).collect());
        let search = ToolSearch { queries: &asked, allowed: &all, limit: 10, min_score: 0.0 };
        let ids: Vec<_> = tools.iter().map(|tool| tool.id.clone()).collect();
        let found =
            tools.search(&search).tools.into_iter().map(|hit| ids[hit.tool].source.name().to_string());
        found.collect::<Vec<_>>()
    };
    assert_eq!(order([0, 1, 2]), ["chat", "mail", "pager"]);
    assert_eq!(order([2, 0, 1]), order([0, 1, 2]));
    let asked_by_server = |question: &str| {
        let asked = [ToolQuery { text: question, cosines: Vec::new() }];
        let all: RowSet = (0..3).collect();
        let search = ToolSearch { queries: &asked, allowed: &all, limit: 10, min_score: 0.0 };
        ToolSegments::new(segments.iter().collect()).search(&search).tools[0].tool
    };
    assert_eq!(asked_by_server("a message with the pager"), 2);
}

/// A stuffed description and a very long one rank below tools that state their purpose once.
#[test]
fn what_a_description_repeats_counts_little() {
    let questions = ["read a file", "send a message to a channel", "weather in a city", "remove a folder"];
    let stuffed = tool("helper", &format!("{}. ", questions.join(". ")).repeat(15), &[]);
    let manual: String = (0..400).map(|n| format!("word{n} ")).chain(["channel ".into()]).collect();
    let mut segments = segments();
    segments.push(ToolSegment::new(
        &SourceId::Server("chat".into()),
        &[tool("post", "Sends a message to a channel.", &["channel", "text"])],
    ));
    let evil = SourceId::Server("a-helper".into());
    segments.push(ToolSegment::new(&evil, &[stuffed, tool("manual", &manual, &[])]));
    let all: RowSet = (0..7).collect();
    for (question, first) in questions.into_iter().zip([0, 4, 3, 2]) {
        // Give all tools the same vector score.
        for cosines in [Vec::new(), vec![Some(0.6); 7]] {
            let asked = [ToolQuery { text: question, cosines }];
            let search = ToolSearch { queries: &asked, allowed: &all, limit: 10, min_score: 0.0 };
            let found = ToolSegments::new(segments.iter().collect()).search(&search);
            assert_eq!(numbers(&found)[0], first, "{question}: {:?}", found.tools);
        }
    }
    assert!(segments[3].postings("channel").iter().all(|posting| posting.tool == 0), "beyond what is read");
    assert!(segments[3].postings("messag")[0].weight <= 3.0);
}

/// Counts postings instead of time: each tool has at most one posting per term.
#[test]
fn hostile_tools_are_bounded() {
    let words = "create the invoice of a customer ".repeat(4);
    let tools: Vec<_> = (0..10_000).map(|n| tool(&format!("create_{n}"), &words, &[])).collect();
    let segment = ToolSegment::new(&SourceId::Server("same".into()), &tools);
    let postings: usize = ["creat", "invoic", "custom"].iter().map(|term| segment.postings(term).len()).sum();
    assert!(postings <= 3 * tools.len(), "{postings}");
    let asked = [ToolQuery { text: "create an invoice", cosines: Vec::new() }];
    let all: RowSet = (0..10_000).collect();
    let search = ToolSearch { queries: &asked, allowed: &all, limit: 10, min_score: 0.0 };
    assert_eq!(ToolSegments::new(vec![&segment]).search(&search).tools.len(), 10);

    let long: String = (0..20_000).map(|n| format!("word{n} ")).collect();
    let segment = ToolSegment::new(&SourceId::Server("long".into()), &[tool("long", &long, &[])]);
    assert!(segment.postings("word1").len() == 1 && segment.postings("word19999").is_empty());
}

#[test]
fn any_question_is_bounded() {
    let many: String = (0..100_000).map(|n| format!("word{n} 文字 ")).collect();
    assert!(found(&many, &ALL, &[]).unmatched_terms.len() <= 128);
}

#[test]
fn what_is_embedded_is_the_name_the_description_and_the_parameters() {
    let text = embedded_tool(&tool("getForecast", "The weather.", &["cityName"]));
    assert_eq!(text, "getForecast\nget Forecast\nThe weather.\ncity Name");
}
