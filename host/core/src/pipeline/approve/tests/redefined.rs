//! Tests that an approval applies only to the tool definition that the user saw.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_redefined_is_asked_about_again() {
    let minutes = ApprovalScope::For(Duration::from_secs(1_800));
    for remember in [minutes, ApprovalScope::Session] {
        let says = |text: &str| {
            let keep = with_effect("keep", Effect::Mutating);
            ToolSpec { additive: true, description: text.into(), ..keep }
        };
        let tools = |text| vec![says(text), with_effect("erase", Effect::ExternalExec)];
        let host = |text| Host::new(tools(text), vec![of_tools(&["keep"], remember)]);
        let first = host("Adds a note.").await;
        // The same host after its source listed other tools.
        let second = Host { pipeline: Arc::clone(&first.pipeline), ..host("Deletes a note.").await };
        let person = Person::who_allows();
        for (host, times) in [(&first, 1), (&first, 1), (&second, 2), (&second, 2), (&first, 2)] {
            assert!(host.call(&person, "keep", json!({})).await.is_ok());
            assert_eq!(person.times(), times);
        }
    }
}
