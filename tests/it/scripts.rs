//! Scripts that call tools: access, batching, limits, and no more rights than their caller.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Client, Place, place::binary, text_of};

const PRESETS: &str = "[gates.script]\ngrants = [\"catalog\"]\nlimits = { time = \"20 s\", calls = 200 }\n\
    [gates.kg]\ngrants = [\"knowledge\"]\n[gates.proxy]\ngrants = [\"servers\"]\n\
    [gates.caller]\ngrants = [\"catalog\"]\n[gates.summarizer]\ngrants = [\"artifacts\", \"kv\"]\n";

fn host(preset: &str) -> (Place, Client) {
    let place = Place::with(&format!("{PRESETS}[presets.p]\n{preset}"), &["script", "echo", "kg", "caller"]);
    let client = Client::start(&place, "p");
    (place, client)
}

fn run(client: &mut Client, code: &str) -> String {
    let reply = client.call("run_code", json!({"code": code}));
    assert_ne!(reply["isError"], true, "{reply}");
    let blocks = reply["content"].as_array().expect("blocks").iter();
    blocks.map(|block| block["text"].as_str().expect("text")).collect::<Vec<_>>().join("\n\n")
}

fn fails(client: &mut Client, code: &str) -> String {
    text_of(&client.call("run_code", json!({"code": code, "timeout_ms": 2_000})))
}

#[test]
fn one_script_makes_several_calls_and_returns_what_it_makes_of_them() {
    let (_place, mut client) = host("gates.script = {}\ngates.echo = {}\n");
    let code = "interface Reply { text: string }\nconst words: string[] = ['a', 'b', 'c'];\n\
                const all = await Promise.all(words.map(text => tools.echo.echo({ text }) as Promise<string>));\n\
                console.log('got', all.length);\nreturn all.join('-') as string;";
    assert_eq!(run(&mut client, code), "a-b-c\n\nConsole:\ngot 3\n\n3 calls in 1 batch");
    let types = client.text("tool_types", json!({}));
    assert!(types.contains("// tools.echo\n") && types.contains("echo(args: {"), "{types}");
    assert!(!types.contains("run_code"), "{types}");
}

#[test]
fn a_tool_of_a_server_behind_the_proxy_is_called_and_its_result_is_found_again() {
    let inner = Place::with("[presets.one]\ngates.echo = {}\n", &["echo"]);
    let (command, config, state) = (binary(), inner.path("presets.toml"), inner.path("state"));
    let presets = format!(
        "{PRESETS}[servers.wiki]\ncommand = {command:?}\nargs = [\"serve\", \"--preset\", \"one\", \"--config\", {config:?}]\n\
         env = {{ GATEHOUSE_STATE = {state:?} }}\n[presets.p]\ngates.script = {{ may = \"execute\" }}\ngates.proxy = {{}}\n\
         gates.summarizer = {{}}\nfilters = {{ summarizer = [\"script.run_code\"] }}\n"
    );
    let place = Place::with(&presets, &["script", "proxy", "summarizer"]);
    let mut client = Client::start(&place, "p");
    let small = "const data = await callMCPTool('wiki', 'echo', {text: 'one page'}); return data";
    assert_eq!(run(&mut client, small), "one page\n\n1 call in 1 batch");
    // The sections differ, so no summary contains all of them.
    let large = "const text = Array.from({length: 1500}, (_, i) => `Section ${i}: the granite lighthouse keeper number ${i * 7919 % 1000} \
                 wrote ${i * 31 % 89} letters about ${['tides', 'lamps', 'gulls', 'fog'][i % 4]}.`).join('\\n');\n\
                 const data = await callMCPTool('wiki', 'echo', {text}); return data";
    let short = client.call("run_code", json!({"code": large}));
    let head = text_of(&short);
    assert!(head.contains("artifactId") && head.len() < 40_000, "{} bytes: {}", head.len(), &head[..400]);
    let found =
        client.text("semantic_search", json!({"query": "letters of the lighthouse keeper about tides"}));
    assert!(found.contains("art-"), "{found}");
    let unknown = fails(&mut client, "await callMCPTool('nowhere', 'echo', {})");
    assert!(unknown.contains("nowhere"), "{unknown}");
}

#[test]
fn a_script_may_do_what_its_preset_lets_scripts_do() {
    let edit = "await tools.kg.kg_edit({page_id: 'Principle/X', updates: {overview: 'y'}})";
    let (_place, mut client) = host("gates.script = {}\ngates.kg = {}\n");
    let denied = fails(&mut client, edit);
    assert!(
        denied.contains("'run_code' is declared read-only and cannot call 'kg_edit', which is mutating"),
        "{denied}"
    );
    let (_place, mut client) = host("gates.script = { may = \"change\" }\ngates.kg = {}\n");
    let reached = fails(&mut client, edit);
    assert!(reached.contains("Principle/X") && !reached.contains("declared"), "{reached}");
}

#[test]
fn what_the_preset_hides_is_unknown_to_scripts() {
    let (_place, mut client) =
        host("gates.script = { may = \"execute\" }\ngates.echo = {}\ngates.caller = {}\ndeny = [\"big\"]\n");
    assert!(fails(&mut client, "await tools.echo.big({})").starts_with("echo has no tool \"big\""));
    // Another tool does not expose it either, and a script cannot start a script.
    let around = "await tools.caller.run({tool: 'big', arguments: {}})";
    assert!(fails(&mut client, around).contains("Unknown tool: 'big'"));
    assert!(
        fails(&mut client, "await tools.script.run_code({code: '1'})")
            .starts_with("unknown tool source \"script\"")
    );
}

#[test]
fn calls_that_a_person_must_approve_do_not_run_unasked() {
    let preset = "gates.script = {}\ngates.echo = {}\n[presets.p.approve]\ntools = [\"echo\"]\n";
    let place = Place::with(&format!("{PRESETS}[presets.p]\n{preset}"), &["script", "echo"]);
    // `gatehouse call` cannot ask.
    let call = |tool: &str, arguments: Value| {
        let ran = place.run(&["call", tool, &arguments.to_string(), "--preset", "p"]);
        format!("{}{}", ran.stdout(), ran.stderr())
    };
    let direct = call("echo", json!({"text": "x"}));
    let scripted = call("run_code", json!({"code": "await tools.echo.echo({text: 'x'})"}));
    assert!(direct.contains("approv") && scripted.contains("approv"), "{direct}\n{scripted}");
}

#[test]
fn attacks_end_in_words_and_the_next_script_runs() {
    let (_place, mut client) = host("gates.script = {}\ngates.echo = {}\n");
    for (code, words) in [
        ("while (true) {}", "was stopped after 2 s"),
        ("/^(a+)+$/.test('a'.repeat(40) + 'b')", "was stopped after 2 s"),
        ("'x'.repeat(200 * 1024 * 1024)", "ran out of memory"),
        ("function f(): number { return f() + 1 } f()", "Maximum call stack size exceeded"),
        ("JSON.parse('['.repeat(100000) + ']'.repeat(100000))", "nested too deeply"),
        (
            "let deep: any = 1; for (let i = 0; i < 100000; i++) deep = [deep]; return deep",
            "nested too deeply",
        ),
        (
            "let deep: any = 1; for (let i = 0; i < 100000; i++) deep = [deep]; JSON.stringify(deep)",
            "nested too deeply",
        ),
        ("return new RegExp('(?:'.repeat(20000) + 'a' + ')'.repeat(20000)).test('a')", ""),
        ("await new Promise(() => {})", "that never settles"),
        ("for (let i = 0; i < 1e6; i++) tools.echo.echo({text: 'x'})", "made 200 calls, which is the limit"),
        ("eval('1')", "scripts cannot use eval"),
        ("await tools['\u{0435}cho'].echo({text: 'x'})", "unknown tool source"),
    ] {
        let error = fails(&mut client, code);
        assert!(error.contains(words) && !error.contains("trap"), "{code}: {error}");
        assert_eq!(run(&mut client, "return 1 + 1"), "2");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// A script cannot make a call that its caller may not make, for any `deny` and any effect limit of scripts.
    #[test]
    fn a_script_can_do_nothing_that_its_caller_could_not(
        denied in proptest::sample::subsequence(vec!["echo", "big", "kg_edit", "search_knowledge"], 0..=4),
        may in proptest::sample::select(vec!["read", "change", "execute"]),
        approve in proptest::bool::ANY,
    ) {
        let rule = if approve { "[presets.p.approve]\neffect = \"mutating\"\n" } else { "" };
        let (place, mut client) = host(&format!(
            "gates.script = {{ may = \"{may}\" }}\ngates.echo = {{}}\ngates.kg = {{}}\ngates.caller = {{}}\n\
             deny = {denied:?}\n{rule}"
        ));
        // A call of a command does not wait for an approval.
        let mut runs = |tool: &str, arguments: &Value| {
            if approve {
                return place.run(&["call", tool, &arguments.to_string(), "--preset", "p"]).code() == 0;
            }
            let reply = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
            reply["result"]["isError"] != Value::Bool(true) && reply.get("error").is_none()
        };
        for (source, tool, arguments) in [
            ("echo", "echo", json!({"text": "x"})),
            ("kg", "kg_edit", json!({"page_id": "Principle/X", "updates": {"overview": "y"}})),
            ("kg", "search_knowledge", json!({"query": "x"})),
        ] {
            let direct_runs = runs(tool, &arguments);
            let nested = format!("await callMCPTool('caller', 'run', {{tool: '{tool}', arguments: {arguments}}})");
            for code in [format!("await callMCPTool('{source}', '{tool}', {arguments})"), nested] {
                let script_runs = runs("run_code", &json!({"code": code}));
                prop_assert!(direct_runs || !script_runs, "{code}");
            }
        }
    }
}

#[test]
fn scripts_are_kept_for_who_saved_them_and_outlive_the_host() {
    let presets = "[gates.script]\ngrants = [\"catalog\", \"kv\"]\n[presets.p]\ngates.script = { store = true }\n\
                   gates.echo = {}\n[presets.q]\ngates.script = { store = true }\n[presets.r]\ngates.script = {}\n";
    let place = Place::with(presets, &["script", "echo"]);
    let mut client = Client::start(&place, "p");
    let code = "return (await tools.echo.echo({ text: input.word })) + '!'";
    let saved = json!({"name": "shout", "description": "Shouts.", "code": code});
    assert_eq!(client.text("save_script", saved), "Saved version 1 of 'shout'.");
    drop(client);
    let mut client = Client::start(&place, "p");
    let ran = client.text("run_script", json!({"name": "shout", "args": {"word": "hey"}}));
    assert_eq!(ran, "hey!");
    assert_eq!(client.text("list_scripts", json!({})), "shout() v1: Shouts. (run once, last today)");
    let mut other = Client::start(&place, "q");
    assert!(other.fails("run_script", json!({"name": "shout"})).contains("You have no saved scripts."));
    assert_eq!(Client::start(&place, "r").tools(), ["run_code", "tool_types"]);
}

fn keeping(more: &str) -> Place {
    let presets = format!(
        "{PRESETS}[presets.p]\ngates.script = {{ store = true, scripts = [{more}] }}\ngates.echo = {{}}\n"
    )
    .replace("grants = [\"catalog\"]\nlimits", "grants = [\"catalog\", \"kv\"]\nlimits");
    Place::with(&presets, &["script", "echo"])
}

#[test]
fn a_kept_script_becomes_a_tool_of_a_preset() {
    let place = keeping("");
    let mut client = Client::start(&place, "p");
    let code = "const said = await tools.echo.echo({ text: input.name });\nreturn `Hello ${said}`;";
    let params = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let script = json!({"name": "greet", "description": "Greets.", "code": code, "params": params});
    assert_eq!(client.text("save_script", script), "Saved version 1 of 'greet'.");
    let hidden = json!({"name": "odd", "description": "Odd.", "code": "// a\n/* \u{202e} */ return 1"});
    assert_eq!(client.text("save_script", hidden), "Saved version 1 of 'odd'.");
    assert_eq!(client.close(), Some(0));

    let ran = |arguments: &[&str]| place.run(&[&["scripts"], arguments, &["--preset", "p"]].concat());
    let stderr = ran(&["export", "odd", "--to", place.path("scripts").to_str().expect("a path")]).stderr();
    assert!(stderr.contains("script 'odd' has U+202E at line 4 of its file, which is invisible"), "{stderr}");
    assert!(!place.path("scripts").exists());
    assert!(ran(&["remove", "odd"]).stdout().starts_with("Removed 'odd'"));
    assert_eq!(ran(&["list"]).stdout(), "greet(name) v1: Greets. (never run)\n");
    let run = ran(&["run", "greet", "{\"name\": \"Ada\"}"]);
    assert_eq!(run.stdout(), "Hello Ada\n1 call in 1 batch\n");
    assert_eq!(ran(&["list"]).stdout(), "greet(name) v1: Greets. (run once, last today)\n");
    let folder = place.path("scripts");
    let to = folder.to_str().expect("a path");
    let exported = ran(&["export", "greet", "--to", to]).stdout();
    assert!(
        exported.contains("gates.script = { scripts = [{ \"$file\" = \"scripts/greet.ts\" }] }"),
        "{exported}"
    );
    let file = std::fs::read_to_string(folder.join("greet.ts")).expect("a file");
    assert_eq!(ran(&["show", "greet"]).stdout(), file);
    assert_eq!(ran(&["export", "greet", "--to", to]).code(), 0, "it is the same");
    place.write("scripts/greet.ts", "// mine\n");
    assert!(ran(&["export", "greet", "--to", to]).stderr().contains("--force"));
    place.write("scripts/greet.ts", &file);
    assert!(ran(&["remove", "greet"]).stdout().starts_with("Removed 'greet'"));
    assert!(ran(&["show", "greet"]).stderr().contains("you have no saved script 'greet'"));
    let none = place.run(&["scripts", "list", "--preset", "q"]);
    assert_eq!((none.code(), none.stderr().contains("unknown preset 'q'")), (2, true));
    assert_eq!(
        place.run(&["scripts", "list", "--preset", "p", "--caller", "token"]).stdout(),
        "You have no saved scripts.\n"
    );

    let with_tool = keeping("{ \"$file\" = \"scripts/greet.ts\" }");
    with_tool.write("scripts/greet.ts", &file);
    let mut client = Client::start(&with_tool, "p");
    assert!(client.tools().contains(&"greet".to_owned()));
    assert_eq!(client.text("greet", json!({"name": "Ada"})), "Hello Ada");
    assert!(client.fails("greet", json!({"nam": "Ada"})).contains("name"), "its schema is checked");

    // The host reloads script files as it does presets.toml; an invalid one changes nothing.
    with_tool.write("scripts/greet.ts", file.replace("Hello", "Good day"));
    client.log_with("presets.toml changed and is in use");
    assert_eq!(client.text("greet", json!({"name": "Ada"})), "Good day Ada");
    with_tool.write("scripts/greet.ts", "let x = ;");
    let log = client.log_with("scripts[0]");
    assert!(log.contains("missing line `// script: …` at the beginning"), "{log}");
    assert_eq!(client.text("greet", json!({"name": "Ada"})), "Good day Ada");
}

#[test]
fn numbers_of_random_differ_between_runs() {
    let (_place, mut client) = host("gates.script = {}\n");
    let one = run(&mut client, "Math.random()");
    assert_ne!(one, run(&mut client, "Math.random()"));
}
