//! Property tests of nested calls under random approval rules.

use proptest::prelude::*;

use super::*;

/// A client that allows tools with an even number.
fn client_by_tool() -> FakeClient {
    FakeClient::new(|question| {
        let message = question.params()["message"].as_str().unwrap_or_default();
        let number = message.split('\'').nth(1).and_then(|name| name[1..].parse::<usize>().ok());
        let allow = number.is_some_and(|number| number % 2 == 0);
        Ok(json!({"action": "accept", "content": {"allow": allow}}))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A chain of calls succeeds only if the client may call each tool directly, and no tool has a stronger effect than
    /// the tools before it.
    #[test]
    fn a_nested_call_can_do_no_more_than_its_client(
        effects in prop::collection::vec(0_usize..3, 2..6),
        threshold in prop::option::of(0_usize..3),
        named in prop::collection::vec(0_usize..6, 0..3),
        outer in 0_usize..6,
        path in prop::collection::vec(0_usize..6, 1..4),
    ) {
        const EFFECTS: [Effect; 3] = [Effect::ReadOnly, Effect::Mutating, Effect::ExternalExec];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let count = effects.len();
            let tools = effects.iter().enumerate();
            let mut tools: Vec<_> =
                tools.map(|(number, effect)| with_effect(&format!("t{number}"), EFFECTS[*effect])).collect();
            tools.push(with_effect("erase", Effect::ExternalExec));
            let rule = ApprovalRule {
                tools: named.iter().map(|number| format!("t{}", number % count)).collect(),
                effect: threshold.map(|effect| EFFECTS[effect]),
                ..ApprovalRule::default()
            };
            let host = Host::new(tools, vec![rule]).await;
            let name = |number: usize| format!("t{}", number % count);
            let call = async |tool: &str, arguments: Value| {
                let mut context = CallContext::new(&host.pipeline, Arc::clone(&host.catalog), tool);
                context.client = Arc::new(client_by_tool());
                Call::new(context, arguments).run().await
            };
            let numbers: Vec<usize> = [outer].iter().chain(&path).map(|number| number % count).collect();
            let innermost = json!({});
            let arguments = numbers[1..].iter().rev().fold(innermost, |with, number| {
                json!({"nested": name(*number), "with": with})
            });
            let nested = call(&name(numbers[0]), arguments).await;
            let mut strongest = effects[numbers[0]];
            let mut may = call(&name(numbers[0]), json!({})).await.is_ok();
            for number in &numbers[1..] {
                may &= call(&name(*number), json!({})).await.is_ok() && effects[*number] <= strongest;
                strongest = strongest.min(effects[*number]);
            }
            prop_assert_eq!(nested.is_ok(), may, "{:?}: {:?}", numbers, nested);
            Ok(())
        })?;
    }
}
