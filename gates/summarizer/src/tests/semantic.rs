//! Tests of reusing a summary for another question.

use std::{cell::Cell, rc::Rc};

use gatehouse_sdk::{Effect, kv, models::Embeddings};

use super::*;

/// Returns a host whose vectors are equal except for texts with `odd`.
fn asked() -> (Fake, Rc<Cell<usize>>) {
    let count = Rc::new(Cell::new(0));
    let asked = Rc::clone(&count);
    let host = host()
        .serving(Some("test/model"), None, "test/embedding")
        .complete(move |_, _| {
            asked.set(asked.get() + 1);
            completion(&["Late: 7."], &[])
        })
        .embed(|texts, _| {
            let vector =
                |text: &String| Some(if text.contains("odd") { vec![0.0, 1.0] } else { vec![1.0, 0.0] });
            Ok(Embeddings { model: "test/embedding".into(), vectors: texts.iter().map(vector).collect() })
        });
    (host, count)
}

fn result(more: &str) -> Value {
    let rows: Vec<Value> =
        (0..300).map(|n| json!({"id": n, "state": "late", "note": "seven of them"})).collect();
    json!({"rows": rows, "late": 7, "more": more})
}

fn metadata(arguments: &Value, result: &Value) -> Value {
    of_tool(testing::origin("look"), arguments, result, &json!({}))
}

fn of_tool(origin: Origin, arguments: &Value, result: &Value, params: &Value) -> Value {
    let reply = filtered_with(origin, arguments, Reply::markdown(result.to_string()), params);
    head(&reply.unwrap())["metadata"].clone()
}

#[test]
fn a_paraphrased_question_reuses_the_summary() {
    let (host, asked) = asked();
    host.run(|| {
        metadata(&json!({"query": "late orders", "limit": 5}), &result("a"));
        let again = metadata(&json!({"limit": 5, "query": "show me the late orders"}), &result("b"));
        assert_eq!(
            (&again["cache"], &again["similarity"], asked.get()),
            (&json!("semantic"), &json!(1.0), 1)
        );
        assert_eq!(kv::shared().get("n:hit.semantic").unwrap().as_deref(), Some(b"1".as_slice()));
    });
}

#[test]
fn other_differences_prevent_reuse() {
    let ask = json!({"query": "late orders", "limit": 5});
    let other_tool = || testing::origin("seek");
    let version = || Origin { version: "2".into(), ..testing::origin("look") };
    let writing = || {
        let mut origin = testing::origin("look");
        origin.tool.effect = Effect::Mutating;
        origin
    };
    let same = || testing::origin("look");
    let mut shaped = result("b");
    shaped["other"] = json!(1);
    let mut untrue = result("b");
    untrue["late"] = json!("8");
    untrue["rows"] =
        json!((100..400).map(|n| json!({"id": n * 10, "state": "late", "note": "x"})).collect::<Vec<_>>());
    let question = |text: &str| json!({"query": text, "limit": 5});
    for (reason, origin, arguments, result) in [
        ("word", same(), question("late invoices"), result("b")),
        ("negation", same(), question("orders not late"), result("b")),
        ("number", same(), question("late orders 3"), result("b")),
        ("order", same(), question("orders late"), result("b")),
        ("", same(), json!({"query": "late orders", "limit": 6}), result("b")),
        ("", same(), json!({"q": "late orders", "limit": 5}), result("b")),
        ("", same(), json!({"text": "late orders", "limit": 5}), result("b")),
        ("", other_tool(), ask.clone(), result("b")),
        ("", version(), ask.clone(), result("b")),
        ("", writing(), ask.clone(), result("b")),
        ("", same(), ask.clone(), shaped),
        ("facts", same(), ask.clone(), untrue),
        ("result", same(), ask.clone(), result("odd")),
    ] {
        let (host, asked) = asked();
        host.run(|| {
            metadata(&ask, &self::result("a"));
            let metadata_of_reply = of_tool(origin, &arguments, &result, &json!({}));
            assert_eq!((metadata_of_reply.get("cache"), asked.get()), (None, 2), "{reason} {arguments}");
            if !reason.is_empty() {
                let counted = kv::shared().get(&format!("n:refused.{reason}")).unwrap();
                assert_eq!(counted.as_deref(), Some(b"1".as_slice()), "{reason}");
            }
        });
    }
}

#[test]
fn the_preset_can_switch_it_off() {
    let (host, asked) = asked();
    host.run(|| {
        let params = json!({"cache_similarity": 1.0});
        for query in ["late orders", "show the late orders"] {
            of_tool(testing::origin("look"), &json!({"query": query}), &result("a"), &params);
        }
        assert_eq!(asked.get(), 2);
    });
}

#[test]
fn a_false_hit_disables_reuse_for_the_tool() {
    let count = Rc::new(Cell::new(0));
    let asked = Rc::clone(&count);
    let (host, _) = self::asked();
    let host = host.complete(move |_, _| {
        let before = asked.replace(asked.get() + 1);
        completion(&[if before == 0 { "Late: 7." } else { "Id 299 is late." }], &[])
    });
    host.run(|| {
        let mut first = result("0");
        first["all"] = json!(300);
        metadata(&json!({"query": "late orders"}), &first);
        let mut hits = 0;
        for n in 1..100 {
            let mut next = result(&n.to_string());
            next["all"] = json!(300);
            let metadata_of_reply = metadata(&json!({"query": "the late orders"}), &next);
            if metadata_of_reply.get("cache").is_none() {
                break;
            }
            hits += 1;
        }
        assert!(hits < 60, "none of {hits} hits was checked");
        assert_eq!(
            (count.get(), kv::shared().get("n:checked.false").unwrap().as_deref()),
            (2, Some(b"1".as_slice()))
        );
        metadata(&json!({"query": "please show the late orders"}), &first);
        assert_eq!(count.get(), 3);
        assert!(kv::shared().get("n:refused.switched_off").unwrap().is_some());
    });
}
