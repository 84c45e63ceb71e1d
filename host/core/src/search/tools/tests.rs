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
    let asked = [ToolQuery::new(question, cosines.to_vec())];
    tools.search(&ToolSearch { queries: &asked, allowed: &allowed, limit: 10, min_score: 0.0 })
}

/// Searches all tools.
fn search(tools: &[&ToolSegment], queries: &[ToolQuery<'_>]) -> ToolMatches {
    let tools = ToolSegments::new(tools.to_vec());
    let allowed: RowSet = (0..tools.len()).collect();
    tools.search(&ToolSearch { queries, allowed: &allowed, limit: 10, min_score: 0.0 })
}

fn numbers(found: &ToolMatches) -> Vec<usize> {
    found.tools.iter().map(|hit| hit.tool).collect()
}

const ALL: [usize; 4] = [0, 1, 2, 3];

#[test]
fn exact_name_comes_first_then_names_with_that_prefix() {
    let by_name = found("readFile", &ALL, &[]);
    assert_eq!(numbers(&by_name)[..2], [0, 1]);
    assert_eq!([by_name.tools[0].fit, by_name.tools[1].fit], [MatchQuality::Names, MatchQuality::Good]);
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
fn hidden_tools_do_not_affect_results() {
    let without = found("weather of a file", &[0, 1, 2], &[]);
    assert!(!numbers(&without).contains(&3));
    assert_eq!(without.unmatched_terms, ["weather"]);
    let files = segments();
    let question = [ToolQuery::new("weather of a file", Vec::new())];
    assert_eq!(search(&[&files[0]], &question), without, "as if there were no such tools");
    assert_eq!(found("weather", &[], &[]).unmatched_terms, ["weather"]);
}

#[test]
fn nothing_fits_an_unrelated_question() {
    let none = found("who won the football match yesterday", &ALL, &[Some(0.01); 4]);
    assert_eq!(numbers(&none).len(), 4, "the nearest are listed");
    assert!(none.tools.iter().all(|tool| tool.fit == MatchQuality::Nothing), "{:?}", none.tools);
    assert!(none.unmatched_terms.contains(&"football".to_owned()), "{:?}", none.unmatched_terms);
    assert_eq!(found("", &ALL, &[]), ToolMatches::default());
}

#[test]
fn cosine_finds_tools_without_shared_words() {
    let cosines = [Some(0.02), Some(0.0), None, Some(0.6)];
    let hits = found("will it rain", &ALL, &cosines);
    assert_eq!(numbers(&hits), [3, 0], "a tool without any similarity is not near");
    assert!(hits.tools[0].fit == MatchQuality::Good && hits.tools[1].fit == MatchQuality::Nothing);
}

#[test]
fn the_nearest_five_are_listed_and_more_only_if_they_may_fit() {
    let server = SourceId::Server("many".into());
    let tools: Vec<_> = (0..40).map(|n| tool(&format!("tool{n}"), "Does one of the things.", &[])).collect();
    let segment = ToolSegment::new(&server, &tools);
    let found = |cosine: f32, others: f32| {
        let mut cosines = vec![Some(others); 40];
        cosines[..5].fill(Some(cosine));
        search(&[&segment], &[ToolQuery::new("carpet stains", cosines)]).tools
    };
    for (others, listed) in [(0.02, 5), (0.09, 10)] {
        let far = found(0.1, others);
        let fits = far.iter().any(|tool| tool.fit != MatchQuality::Nothing);
        assert!(far.len() == listed && !fits, "{far:?}");
    }
    let near = found(0.9, 0.9);
    assert!(near.len() == 10 && near.iter().all(|tool| tool.fit != MatchQuality::Nothing), "{near:?}");
}

#[test]
fn tool_for_one_sentence_ranks_first() {
    let request =
        "I travel to Oslo soon. What is the weather in the city? Remove the folder of the last journey.";
    let asked: Vec<ToolQuery<'_>> =
        query_parts(request).into_iter().map(|part| ToolQuery { part, cosines: Vec::new() }).collect();
    assert_eq!(asked.len(), 5, "the question, its gloss and three sentences");
    let segments = segments();
    let found = search(&segments.iter().collect::<Vec<_>>(), &asked);
    let mut first: Vec<usize> = numbers(&found).into_iter().take(2).collect();
    first.sort_unstable();
    assert_eq!(first, [2, 3]);
}

#[test]
fn equal_tools_are_ordered_by_server() {
    let of = |server: &str| {
        let tools = [tool("send_message", "Sends a message.", &["text"])];
        ToolSegment::new(&SourceId::Server(server.into()), &tools)
    };
    let segments = [of("mail"), of("chat"), of("pager")];
    let order = |positions: [usize; 3]| {
        let question = [ToolQuery::new("send a message", Vec::new())];
        let ordered = positions.map(|position| &segments[position]);
        let found = search(&ordered, &question).tools.into_iter();
        let server = |hit: ToolMatch| ordered[hit.tool].tools()[0].id.source.name().to_string();
        found.map(server).collect::<Vec<_>>()
    };
    assert_eq!(order([0, 1, 2]), ["chat", "mail", "pager"]);
    assert_eq!(order([2, 0, 1]), order([0, 1, 2]));
    let asked_by_server = |question: &str| {
        let asked = [ToolQuery::new(question, Vec::new())];
        search(&segments.each_ref(), &asked).tools[0].tool
    };
    assert_eq!(asked_by_server("a message with the pager"), 2);
}

/// A stuffed description and a very long one rank below tools that state their purpose once.
#[test]
fn repetition_in_descriptions_has_little_weight() {
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
    for (question, first) in questions.into_iter().zip([0, 4, 3, 2]) {
        // Give all tools the same vector score.
        for cosines in [Vec::new(), vec![Some(0.6); 7]] {
            let asked = [ToolQuery::new(question, cosines)];
            let found = search(&segments.iter().collect::<Vec<_>>(), &asked);
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
fn embedded_tool_has_name_description_and_parameters() {
    let text = embedded_tool(&tool("getForecast", "The weather.", &["cityName"]));
    assert_eq!(text, "getForecast\nget Forecast\nThe weather.\ncity Name");
}

#[test]
fn deprecated_tool_comes_after_its_successor() {
    let tools = [
        tool("read_file", "Read a file. DEPRECATED: Use read_text_file instead.", &["path"]),
        tool("read_text_file", "Read a file as text. Replaces the deprecated read_file.", &["path"]),
    ];
    let segment = ToolSegment::new(&SourceId::Server("fs".into()), &tools);
    assert_eq!(
        numbers(&search(&[&segment], &[ToolQuery::new("read the file at a path", Vec::new())])),
        [1, 0]
    );
}

#[test]
fn tool_that_deletes_does_not_fit_a_question_that_keeps() {
    let tools = [tool("delete_note", "Deletes a note with its text.", &["note"])];
    let segment = ToolSegment::new(&SourceId::Server("notes".into()), &tools);
    let fit = |question| search(&[&segment], &[ToolQuery::new(question, vec![Some(0.7)])]).tools[0].fit;
    assert_eq!(fit("save the text of this note"), MatchQuality::Nothing);
    assert_eq!(fit("delete the text of this note"), MatchQuality::Good);
}

#[test]
fn question_in_another_language_finds_english_tools() {
    let segments = segments();
    let parts = query_parts("Lies den Text der Datei");
    let queries: Vec<ToolQuery<'_>> =
        parts.into_iter().map(|part| ToolQuery { part, cosines: Vec::new() }).collect();
    let found = search(&segments.iter().collect::<Vec<_>>(), &queries);
    assert_eq!(numbers(&found)[0], 0);
    assert!(!found.unmatched_terms.contains(&"Datei".to_owned()), "{:?}", found.unmatched_terms);
}
