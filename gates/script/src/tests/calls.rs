//! Tests of tool calls from scripts.

use gatehouse_sdk::testing;

use super::{host, run, run_with};

#[test]
fn a_tool_answers_with_its_data_or_its_text() {
    let code = "const data = await callMCPTool('kg', 'search', {query: 'x'});\nreturn data";
    assert_eq!(run(code), "{\"hits\":[\"x\"]}\n\n1 call in 1 batch");
    assert_eq!(run("await tools['my-server']['get-it']({a: 1})"), "text of {\"a\":1}\n\n1 call in 1 batch");
    let json = "const data = await callMCPTool('my-server', 'get-it', {as: 'json'}); return data.rows.length";
    assert_eq!(run(json), "2\n\n1 call in 1 batch", "text that is JSON arrives as its value");
    assert_eq!(run("await tools.my_server.get_it()"), "text of {}\n\n1 call in 1 batch");
}

#[test]
fn structured_data_arrives_as_declared_unless_a_library_wrapped_it() {
    let code = |of: &str| format!("await tools.my_server.get_it({{of: '{of}'}})");
    assert_eq!(run(&code("wrapped")), "[1,2]\n\n1 call in 1 batch");
    assert_eq!(run(&code("unwrapped")), "{\"result\":[1,2]}\n\n1 call in 1 batch");
}

#[test]
fn integers_beyond_numbers_stay_the_same() {
    let ids = "const all = await tools.my_server.get_it({of: 'ids'});\n";
    let end = "\n\n1 call in 1 batch";
    let of = |code: &str| run(&format!("{ids}return {code}"));
    assert_eq!(
        of("all"),
        format!("[{{\"id\":418502930602131457}},{{\"id\":418502930602131458}},{{\"id\":7}}]{end}")
    );
    assert_eq!(of("new Set(all.map((one: any) => one.id)).size"), format!("3{end}"));
    assert_eq!(of("JSON.stringify(all[1])"), format!("{{\"id\":418502930602131458}}{end}"));
    assert_eq!(
        of("`${all[0].id} ${typeof all[0].id} ${typeof all[2].id}`"),
        format!("418502930602131457 bigint number{end}")
    );
    let passed = run(&format!("{ids}return await tools.my_server.get_it({{a: all[1].id}})"));
    assert_eq!(passed, "text of {\"a\":418502930602131458}\n\n2 calls in 2 batches");
    let mixed = of("all[0].id + 1");
    assert!(mixed.contains("cannot convert BigInt to number") && mixed.contains("Number(value)"), "{mixed}");
    assert_eq!(
        of("JSON.parse(JSON.stringify(all), (key, value) => value === 7 ? 8 : value)[2].id"),
        format!("8{end}")
    );
    assert_eq!(of("JSON.parse(JSON.stringify(all))[0].id === all[0].id"), format!("true{end}"));
    let nested = "({id: 5n, d: {toJSON() { return JSON.stringify({x: 1}); }}, e: new Set([6n])})";
    assert_eq!(run(nested), "{\"id\":5,\"d\":\"{\\\"x\\\":1}\",\"e\":[6]}");
    let literal = run("return 418502930602131457;");
    assert!(literal.contains("integers beyond 2^53 are BigInts; write `n` at its end"), "{literal}");
    assert_eq!(
        run("return [418502930602131457n, 9007199254740991, 1e21];"),
        "[418502930602131457,9007199254740991,1e+21]"
    );
    let arguments = r#"{"code": "input.id", "input": {"id": 418502930602131457}}"#;
    let reply = host().run(|| testing::call(&crate::gate(), "run_code", arguments, "{}")).unwrap();
    assert_eq!(reply.text(), "418502930602131457");
}

#[test]
fn promise_all_leaves_as_one_batch() {
    let code = "const all = await Promise.all([1,2,3].map(n => tools.kg.search({query: 'q' + n})));\n\
                await tools.kg.search({query: 'later'});\nall.flatMap(one => one.hits)";
    assert_eq!(run(code), "[\"q1\",\"q2\",\"q3\"]\n\n4 calls in 2 batches");
}

#[test]
fn a_fault_is_an_error_with_type_and_suggestion() {
    let code = "try { await tools.kg.fail({}) } catch (e: any) { return [e.message, e.type, e.suggestion, e instanceof Error] }";
    assert_eq!(run(code), "[\"not for you\",\"denied\",\"Ask the operator.\",true]\n\n1 call in 1 batch");
    let (failed, text) = run_with("const a: number = 1;\nawait tools.kg.fail({})", 5_000, "{}");
    assert!(failed && text.starts_with("not for you") && text.contains("Ask the operator."), "{text}");
}

#[test]
fn arguments_are_checked_before_they_leave() {
    let text = run("await tools.kg.search({qeury: 'x'})");
    assert!(
        text.starts_with("invalid arguments of kg.search: 'query' is missing, 'qeury' is unknown"),
        "{text}"
    );
    assert!(
        text.contains("Expected: search(args: { query: string; top_k?: number }): Promise<string>;"),
        "{text}"
    );
    assert!(!text.contains("1 call"), "{text}");
    assert!(run("await tools.kg.search({query: {$artifact: 'art-1'}})").contains("1 call in 1 batch"));
    assert!(run("await tools.kg.search('x')").contains("takes one object"));
}

#[test]
fn a_script_cannot_call_scripts_or_unknown_tools() {
    for code in
        ["await tools.script.run_code({code: '1'})", "await callMCPTool('script', 'run_code', {code: '1'})"]
    {
        let text = run(code);
        assert!(text.starts_with("unknown tool source \"script\""), "{text}");
    }
    let text = run("await tools.kg.serach({})");
    assert!(text.starts_with("kg has no tool \"serach\"") && text.contains("search, fail"), "{text}");
    let tricks = "await tools['k\u{0261}']['search']({query: 'x'})";
    assert!(run(tricks).starts_with("unknown tool source"), "{}", run(tricks));
    assert!(run("await tools.kg['search\\u200b']({query: 'x'})").starts_with("kg has no tool"));
}

#[test]
fn calls_of_other_servers_do_not_reach_a_server_with_a_tool_named_call_tool() {
    let text = run("await callMCPTool('bank', 'transfer', {amount: 5})");
    assert!(text.starts_with("unknown tool source \"bank\"") && !text.contains("1 call"), "{text}");
    let arguments = serde_json::json!({}).to_string();
    let types = host().run(|| testing::call(&crate::gate(), "tool_types", &arguments, "{}")).unwrap().text();
    assert!(!types.contains("MCP servers"), "{types}");
}

#[test]
fn calls_are_counted_and_limited() {
    let code = "for (let i = 0; i < 1e6; i++) tools.kg.search({query: 'x'})";
    let (failed, text) = run_with(code, 10_000, "{\"max_calls\":5}");
    assert!(failed && text.contains("the script made 5 calls, which is the limit"), "{text}");
    assert!(run("tools.kg.search({query: 'x'}); 1").contains("1 call in 1 batch; 1 not awaited"));
}

#[test]
fn input_is_unchanged() {
    let arguments = r#"{"code": "input.rows.length", "input": {"rows": [1, 2]}}"#;
    let reply = host().run(|| testing::call(&crate::gate(), "run_code", arguments, "{}")).unwrap();
    assert_eq!(reply.text(), "2");
}

#[test]
fn tool_types_declares_the_available_tools() {
    let reply =
        host().run(|| testing::call(&crate::gate(), "tool_types", "{\"query\":\"search\"}", "{}")).unwrap();
    let text = reply.text();
    assert!(
        text.contains("// tools.kg\nsearch(args: { query: string; top_k?: number }): Promise<string>;"),
        "{text}"
    );
    assert!(!text.contains("run_code") && !text.contains("fail("), "{text}");
    let unknown =
        host().run(|| testing::call(&crate::gate(), "tool_types", "{\"source\":\"no\"}", "{}")).unwrap_err();
    assert_eq!(unknown.hint.as_deref(), Some("The sources: kg, my-server."));
}

#[test]
fn the_effect_follows_the_parameter() {
    let effect = |params: &str| crate::gate().describe(params).unwrap().tools[0].effect;
    assert_eq!(effect("{}"), gatehouse_sdk::Effect::ReadOnly);
    assert_eq!(effect("{\"may\":\"execute\"}"), gatehouse_sdk::Effect::ExternalExec);
}
