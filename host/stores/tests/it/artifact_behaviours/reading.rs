//! Reading parts of texts.

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        ArtifactService as _,
        artifacts::{ArtifactDraft, ArtifactPart, ArtifactSlice, TextRange},
    },
};

use super::{LOCAL, Shelf, draft, shelf};
use crate::engines::ArtifactFixture;

fn window(offset: u64, count: u64) -> TextRange {
    TextRange { offset, count }
}

async fn read(shelf: &Shelf, id: &str, part: ArtifactPart) -> ArtifactSlice {
    shelf.store.read(&LOCAL, id, &part).await.unwrap()
}

pub(crate) async fn pages_put_together_are_the_text<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let text: String = (0..150_000).map(|n| format!("{n} ä🙂 line\n")).collect();
    let id = shelf.put(draft(&text, "")).await.id;
    let characters = text.chars().count() as u64;
    let (mut together, mut next) = (String::new(), Some(0));
    while let Some(offset) = next {
        let piece = read(&shelf, &id, ArtifactPart::Characters(window(offset, 700_001))).await;
        assert_eq!(piece.total, characters);
        together.push_str(&piece.text);
        next = piece.next;
    }
    assert!(together == text);
    let (mut lines, mut next) = (Vec::new(), Some(0));
    while let Some(offset) = next {
        let piece = read(&shelf, &id, ArtifactPart::Lines(window(offset, 40_000))).await;
        assert_eq!(piece.total, 150_000);
        lines.push(piece.text);
        next = piece.next;
    }
    assert!(lines.join("\n") == text.trim_end());
    let piece = read(&shelf, &id, ArtifactPart::Lines(window(149_999, 9))).await;
    assert_eq!(piece, ArtifactSlice { text: "149999 ä🙂 line".into(), total: 150_000, next: None });
    let far = read(&shelf, &id, ArtifactPart::Characters(window(u64::MAX, u64::MAX))).await;
    assert_eq!(far, ArtifactSlice { text: String::new(), total: characters, next: None });
    assert_eq!(read(&shelf, &id, ArtifactPart::Lines(window(3, 0))).await.next, Some(3));
    let whole = read(&shelf, &id, ArtifactPart::Whole).await;
    assert!(whole.text == text && whole.total == characters && whole.next.is_none());
    let crlf = shelf.put(draft("a\r\n\r\nb\r", "")).await.id;
    assert_eq!(read(&shelf, &crlf, ArtifactPart::Lines(window(0, 2))).await.text, "a\r\n");
    assert_eq!(read(&shelf, &crlf, ArtifactPart::Lines(window(2, 1))).await.text, "b\r");
    let empty = shelf.put(draft("", "")).await.id;
    for part in
        [ArtifactPart::Whole, ArtifactPart::Lines(window(0, 5)), ArtifactPart::Characters(window(0, 5))]
    {
        assert_eq!(read(&shelf, &empty, part).await, ArtifactSlice::default());
    }
}

pub(crate) async fn values_are_read_by_pointer<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let text = r#"{"items": [{"id": 1.50, "name": "ä"}, 12345678901234567890], "items2": {"b": 1, "a": 2}}"#;
    let id = shelf.put(draft(text, "")).await.id;
    let value =
        async |pointer: &str| shelf.store.read(&LOCAL, &id, &ArtifactPart::Pointer(pointer.into())).await;
    for (pointer, text) in [
        ("", text),
        ("/items/0/id", "1.50"),
        ("/items/0", r#"{"id": 1.50, "name": "ä"}"#),
        ("/items/1", "12345678901234567890"),
        ("/items2", r#"{"b": 1, "a": 2}"#),
    ] {
        let total = text.chars().count() as u64;
        assert_eq!(value(pointer).await, Ok(ArtifactSlice { text: text.into(), total, next: None }));
    }
    let fault = value("/items/0/size").await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    assert_eq!(
        fault.message,
        "'/items/0/size' not found: '/items/0' is an object with the keys 'id', 'name'"
    );
    assert_eq!(value("items").await.unwrap_err().kind, FaultKind::InvalidArguments);
}

pub(crate) async fn text_and_data_are_read_apart<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let data = r#"{"users": [{"id": 12345678901234567890, "name": "ä"}]}"#;
    for text in ["Found 1 user.", "Found\n1 user.\n", "ä\n[1]", ""] {
        let both = || ArtifactDraft { data: Some(data.into()), ..draft(text, "") };
        let id = shelf.put(both()).await.id;
        let lines = text.lines().count() as u64;
        let characters = text.chars().count() as u64;
        let bare = text.trim_end_matches('\n').to_owned();
        let whole = ArtifactSlice { text: text.into(), total: characters, next: None };
        assert_eq!(read(&shelf, &id, ArtifactPart::Whole).await, whole);
        assert_eq!(read(&shelf, &id, ArtifactPart::Characters(window(0, 999))).await, whole);
        let of_lines = ArtifactSlice { text: bare, total: lines, next: None };
        assert_eq!(read(&shelf, &id, ArtifactPart::Lines(window(0, 99))).await, of_lines);
        let pointer = |pointer: &str| ArtifactPart::Pointer(pointer.into());
        assert_eq!(read(&shelf, &id, pointer("/users/0/id")).await.text, "12345678901234567890");
        assert_eq!(read(&shelf, &id, pointer("")).await.text, data);
        let view = shelf.store.view(&LOCAL, &id).await.expect("a view");
        assert_eq!(view.data.expect("data").json, data);
        let alone = shelf.put(draft(text, "")).await.id;
        let joined = shelf.put(draft(&format!("{text}\n{data}"), "")).await.id;
        assert!(alone != id && joined != id && joined != alone);
        assert_eq!(read(&shelf, &alone, ArtifactPart::Whole).await.text, text);
        assert_eq!(shelf.put(both()).await.id, id, "the same reply is the same artifact");
    }
}

pub(crate) async fn data_in_a_text_is_read<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let rows: Vec<String> = (0..90).map(|id| format!(r#"{{"id":{id},"city":"Oslo"}}"#)).collect();
    let rows = format!("[{}]", rows.join(","));
    let island = shelf.put(draft(&format!("All of them:\n{rows}\nDone."), "")).await.id;
    let outer = serde_json::json!({ "out": rows }).to_string();
    let string = shelf.put(draft(&outer, "")).await.id;
    let value = async |id: &str, pointer: &str| {
        let part = ArtifactPart::Pointer(pointer.into());
        shelf.store.read(&LOCAL, id, &part).await.map(|slice| slice.text)
    };
    for id in [&island, &string] {
        assert_eq!(value(id, "/7/id").await.as_deref(), Ok("7"));
        assert_eq!(value(id, "").await.as_deref(), Ok(&*rows));
        assert_eq!(value(id, "/90").await.unwrap_err().kind, FaultKind::NotFound);
    }
    let literal = serde_json::Value::from(rows).to_string();
    assert_eq!(value(&string, "/out").await.as_deref(), Ok(&*literal), "of the whole JSON");
    let view = shelf.store.view(&LOCAL, &string).await.expect("a view");
    assert_eq!(view.whole.as_deref(), Some(&*outer));
}

pub(crate) async fn unreadable_parts_and_missing_artifacts_are_reported<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let id = shelf.put(draft("no JSON", "")).await.id;
    let fault = shelf.store.read(&LOCAL, &id, &ArtifactPart::Pointer("/a".into())).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
    assert!(fault.message.starts_with("cannot resolve a pointer, because the text is not JSON: "), "{fault}");
    for id in ["art-000000000000", "", "x'\0"] {
        for part in
            [ArtifactPart::Whole, ArtifactPart::Lines(window(0, 1)), ArtifactPart::Pointer(String::new())]
        {
            let fault = shelf.store.read(&LOCAL, id, &part).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::NotFound);
            assert!(fault.message.starts_with("artifact '"), "{fault}");
        }
        assert_eq!(shelf.store.delete(&LOCAL, id).await, Ok(false));
        let nothing = gatehouse_core::ports::artifacts::ArtifactChanges::default();
        assert_eq!(shelf.store.change(&LOCAL, id, nothing).await.unwrap_err().kind, FaultKind::NotFound);
    }
}
