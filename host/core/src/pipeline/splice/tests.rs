//! Tests with a fixed artifact store.

use serde_json::json;

use super::*;
use crate::{
    CallContext, FaultKind,
    outcome::ContentPart,
    pipeline::ValidateStage,
    ports::artifacts::{
        Artifact, ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactHit, ArtifactPart, ArtifactSlice,
    },
    reply_view::ReplyView,
    testing::{Fixture, context, tool},
    tool::SourceId,
};

/// Artifacts of the local user. Other users have none.
const KNOWN: [(&str, &str); 3] = [
    ("art-1", r#"{"items": [1, {"$artifact": "art-2"}, "three"], "n": 1.50}"#),
    ("art-2", "one\ntwo\nthree\nfour"),
    ("art-3", "[1, 2"),
];

struct Known;

fn text(owner: &Principal, id: &str) -> Option<&'static str> {
    let known = KNOWN.into_iter().find(|(known, _)| *owner == Principal::Local && *known == id);
    known.map(|(_, text)| text)
}

impl PortSetup<dyn ArtifactService> for Known {
    fn port(&self) -> Result<&(dyn ArtifactService + 'static), Fault> {
        Ok(self)
    }
}

#[async_trait]
impl ArtifactService for Known {
    async fn put(&self, _: &Principal, _: ArtifactDraft) -> Result<Artifact, Fault> {
        Err(Fault::internal("nobody puts"))
    }

    async fn owner_bytes(&self, _: &Principal) -> Result<u64, Fault> {
        Ok(0)
    }

    async fn info(&self, owner: &Principal, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let info = |id: &String| match id.as_str() {
            "art-huge" => Some(Artifact { size: 1 << 30, ..Artifact::default() }),
            id => text(owner, id).map(|text| Artifact { size: text.len() as u64, ..Artifact::default() }),
        };
        Ok(ids.iter().map(info).collect())
    }

    async fn view(&self, _: &Principal, _: &str) -> Result<ReplyView<'static>, Fault> {
        Err(Fault::internal("nobody views"))
    }

    async fn read(&self, owner: &Principal, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        let whole = match (id, part) {
            ("art-huge", ArtifactPart::Lines(_)) => "x".repeat(6 << 20),
            ("art-huge", _) => "0,".repeat(300_000),
            (id, _) => text(owner, id).ok_or_else(|| Fault::not_found("lost"))?.to_owned(),
        };
        let text = match part {
            ArtifactPart::Lines(window) if id != "art-huge" => {
                let lines = whole.lines().skip(window.offset as usize).take(window.count as usize);
                lines.collect::<Vec<_>>().join("\n")
            }
            ArtifactPart::Pointer(pointer) => {
                let value: Value = serde_json::from_str(&whole).expect("JSON");
                let found = value.pointer(pointer);
                found.ok_or_else(|| Fault::not_found("It leads to nothing."))?.to_string()
            }
            _ => whole,
        };
        Ok(ArtifactSlice { text, total: 0, next: None })
    }

    async fn recent(&self, _: &Principal, _: &ArtifactFilter, _: usize) -> Result<Vec<Artifact>, Fault> {
        Ok(Vec::new())
    }

    async fn search(&self, _: &Principal, _: &str, _: usize) -> Result<Vec<ArtifactHit>, Fault> {
        Ok(Vec::new())
    }

    async fn change(&self, _: &Principal, _: &str, _: ArtifactChanges) -> Result<Artifact, Fault> {
        Err(Fault::internal("nobody changes"))
    }

    async fn delete(&self, _: &Principal, _: &str) -> Result<bool, Fault> {
        Ok(false)
    }
}

async fn prepared(name: &str) -> CallContext {
    let mut marked = tool("marked", None);
    let own = json!({"type": "object", "properties": {"x": {"properties": {"$artifact": {}}}}});
    marked.input_schema = Arc::new(own.as_object().cloned().expect("an object"));
    let mut strict = tool("strict", None);
    let numbers = json!({"type": "object", "properties": {"x": {"type": "number"}}});
    strict.input_schema = Arc::new(numbers.as_object().cloned().expect("an object"));
    let tools = vec![tool("get", None), marked, strict];
    let source = Fixture::new(SourceId::Gate("x".into()), tools);
    context(vec![Arc::new(SpliceStage::new(Arc::new(Known))), Arc::new(ValidateStage)], &source, name).await
}

/// Returns the arguments that the tool gets.
async fn seen(name: &str, arguments: Value) -> Result<Value, Fault> {
    let reply = Call::new(prepared(name).await, arguments).run().await?;
    let Some(ContentPart::Text(text)) = reply.content.first() else { panic!("{reply:?}") };
    let (_, arguments) = text.split_once(' ').expect("name and arguments");
    Ok(serde_json::from_str(arguments).expect("JSON"))
}

async fn refused(arguments: Value) -> (FaultKind, String) {
    let fault = seen("get", arguments).await.expect_err("refused");
    (fault.kind, fault.message)
}

/// A number with the digits that the artifact has.
fn written(number: &str) -> Value {
    serde_json::from_str(number).expect("a number")
}

#[tokio::test]
async fn selected_parts_replace_their_markers() {
    for (marker, value) in [
        (json!({"$artifact": "art-2"}), json!(KNOWN[1].1)),
        (json!({"$artifact": "art-2", "range": [2, 3]}), json!("two\nthree")),
        (json!({"$artifact": "art-1", "pointer": "/n"}), written("1.50")),
        (json!({"$artifact": "art-1", "pointer": "/items/2"}), json!("three")),
        (json!({"$artifact": "art-1", "pointer": "/items/2", "as": "text"}), json!("three")),
        (json!({"$artifact": "art-1", "pointer": "/items/0", "as": "text"}), json!("1")),
        // Markers in inserted data are left alone.
        (json!({"$artifact": "art-1", "pointer": "/items"}), json!([1, {"$artifact": "art-2"}, "three"])),
        (json!({"$artifact": "art-1", "as": "json"}), serde_json::from_str(KNOWN[0].1).expect("JSON")),
    ] {
        assert_eq!(seen("get", json!({"x": marker})).await.expect("spliced")["x"], value, "{marker}");
    }
    let two = json!({"a": [{"$artifact": "art-2", "range": [1, 1]}], "b": {"c": {"$artifact": "art-2", "range": [4, 4]}}});
    assert_eq!(seen("get", two).await.expect("spliced"), json!({"a": ["one"], "b": {"c": "four"}}));
    let string = Value::String(r#"{"x": {"$artifact": "art-2", "range": [1, 1]}}"#.into());
    assert_eq!(seen("get", string).await.expect("spliced"), json!({"x": "one"}), "arguments in a string");
}

#[tokio::test]
async fn invalid_markers_are_refused_with_the_reason() {
    for (marker, reason) in [
        (json!({"$artifact": 5}), "has '$artifact', which must be a string"),
        (
            json!({"$artifact": "art-1", "pointr": "/n"}),
            "has the unknown member 'pointr'. Did you mean 'pointer'?",
        ),
        (
            json!({"$artifact": "art-1", "pointer": "/n", "range": [1, 2]}),
            "has both 'pointer' and 'range'; use one of them",
        ),
        (
            json!({"$artifact": "art-1", "pointer": "n"}),
            "has 'pointer', which must be empty or begin with '/'",
        ),
        (
            json!({"$artifact": "art-1", "range": [0, 2]}),
            "has 'range', which must be [first line, last line] from 1",
        ),
        (
            json!({"$artifact": "art-1", "range": [3, 2]}),
            "has 'range', which must be [first line, last line] from 1",
        ),
        (json!({"$artifact": "art-1", "as": "yaml"}), "has 'as', which must be \"json\" or \"text\""),
    ] {
        let error = (FaultKind::InvalidArguments, format!("artifact marker {reason}"));
        assert_eq!(refused(json!({"x": marker})).await, error);
    }
    let missing = (FaultKind::NotFound, "artifact 'art-9' not found or expired".to_owned());
    assert_eq!(refused(json!({"x": {"$artifact": "art-9"}})).await, missing);
    let (kind, error) = refused(json!({"x": {"$artifact": "art-3", "as": "json"}})).await;
    assert!(
        kind == FaultKind::InvalidArguments
            && error.starts_with("the selected part of artifact 'art-3' is not JSON")
    );
    assert_eq!(refused(json!({"x": {"$artifact": "art-1", "pointer": "/y"}})).await.0, FaultKind::NotFound);
}

#[tokio::test]
async fn artifacts_of_other_users_are_not_found() {
    let mut context = prepared("get").await;
    context.caller = crate::Caller::named("mallory");
    let fault = Call::new(context, json!({"x": {"$artifact": "art-2"}})).run().await.expect_err("refused");
    assert_eq!(fault.message, "artifact 'art-2' not found or expired");
}

#[tokio::test]
async fn spliced_data_is_bounded() {
    let too_large = "arguments with artifacts inserted would exceed the limit of 16777216 bytes";
    let huge = |more: Value| {
        let mut marker = json!({"$artifact": "art-huge"});
        marker.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        marker
    };
    assert_eq!(refused(json!({"x": huge(json!({}))})).await, (FaultKind::Exhausted, too_large.into()));
    let lines = huge(json!({"range": [1, 2]}));
    let three = refused(json!([lines, lines, lines])).await;
    assert_eq!(three, (FaultKind::Exhausted, too_large.into()), "all together");
    let many = vec![json!({"$artifact": "art-2"}); MAX_PARTS + 1];
    assert_eq!(refused(json!({"x": many})).await.1, "arguments have 65 artifact markers; the limit is 64");
}

#[tokio::test]
async fn arguments_are_checked_as_the_tool_gets_them() {
    let number = json!({"x": {"$artifact": "art-1", "pointer": "/n"}});
    assert_eq!(seen("strict", number).await.expect("a number"), json!({"x": written("1.50")}));
    let fault = seen("strict", json!({"x": {"$artifact": "art-2"}})).await.expect_err("a text");
    assert!(fault.message.contains("'x' must be a number"), "{fault}");
    let own = json!({"x": {"$artifact": "art-2", "else": true}});
    assert_eq!(seen("marked", own.clone()).await.expect("left alone"), own, "a property of its own");
    // Nested calls are not spliced.
    let outer = prepared("get").await;
    let nested = outer.call_nested(&outer.deadline(), "get", json!({"x": {"$artifact": "art-2"}})).await;
    let [ContentPart::Text(text)] = &nested.expect("a reply").content[..] else { panic!("one text") };
    assert!(text.contains("$artifact"), "{text}");
}
