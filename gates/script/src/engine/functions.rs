//! Host functions for the prelude.

use std::rc::Rc;

use gatehouse_sdk::catalog::ToolRequest;
use rquickjs::{Ctx, Function, Object, Result};
use serde_json::json;

use super::{RunState, json, prepared_engine::CurrentRun};

pub(super) fn host<'js>(ctx: &Ctx<'js>, served: &Rc<CurrentRun>) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let own = Rc::clone(served);
    let print = move |line: String| own.with(|run| run.console.print(&line));
    host.set("print", Function::new(ctx.clone(), print)?)?;
    let own = Rc::clone(served);
    host.set("now", Function::new(ctx.clone(), move || own.with(|run| run.clock.elapsed() as f64))?)?;
    let own = Rc::clone(served);
    host.set("random", Function::new(ctx.clone(), move || own.with(|run| run.random.next()))?)?;
    host.set("isDeep", Function::new(ctx.clone(), |text: String| json::is_deep(&text))?)?;
    host.set("encode", Function::new(ctx.clone(), |text: String| text.into_bytes())?)?;
    let decode = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    host.set("decode", Function::new(ctx.clone(), decode)?)?;
    let own = Rc::clone(served);
    host.set("sources", Function::new(ctx.clone(), move || own.with(|run| run.tools.sources()))?)?;
    let own = Rc::clone(served);
    let call = move |source: String, tool: String, arguments: String| {
        own.with(|run| call(run, &source, &tool, arguments))
    };
    host.set("call", Function::new(ctx.clone(), call)?)?;
    Ok(host)
}

/// Queues a tool call. Returns JSON with its ID, or with the reason if it cannot be made.
fn call(run: &RunState, source: &str, tool: &str, arguments: String) -> String {
    if let Some(max) = run.queue.reached_limit() {
        let message = format!("the script made {max} calls, which is the limit");
        let suggestion = "Do less in one script, or raise max_calls in the preset.";
        return json!({"fatal": true, "message": message, "type": "exhausted", "suggestion": suggestion})
            .to_string();
    }
    match run.tools.resolve(source, tool, json::well_formed(arguments)) {
        Ok((name, arguments)) => {
            let id = run.queue.add(ToolRequest { tool: name, arguments });
            json!({"id": id}).to_string()
        }
        Err(refusal) => refusal.to_string(),
    }
}
