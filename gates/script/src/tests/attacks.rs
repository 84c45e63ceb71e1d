//! Tests of malicious scripts, which must end with an error message.

use super::{run, run_with};

fn ends(code: &str, words: &str) {
    let (failed, text) = run_with(code, 1_500, "{}");
    assert!(failed && text.contains(words), "{code}: {text}");
}

#[test]
fn loops_end_and_keep_the_console() {
    for code in [
        "console.log('here'); while (true) {}",
        "console.log('here'); const a = async () => { while (true) await 0 }; await a()",
        "console.log('here'); try { for (;;) {} } catch { for (;;) {} } finally { for (;;) {} }",
        "console.log('here'); /^(a+)+$/.test('a'.repeat(40) + 'b')",
        "console.log('here'); await new Promise(done => setTimeout(done, 1e9))",
        "console.log('here'); setInterval(() => 0, 0); await new Promise(() => 0)",
    ] {
        let (failed, text) = run_with(code, 300, "{}");
        assert!(failed && text.starts_with("the script was stopped after 0.3 s."), "{code}: {text}");
        assert!(text.ends_with("Console:\nhere"), "{code}: {text}");
    }
}

#[test]
fn memory_and_stack_are_bounded() {
    ends("const all = []; while (true) all.push(new Array(1e5).fill(1.5))", "ran out of memory");
    ends("'x'.repeat(200 * 1024 * 1024).length", "memory");
    ends("function f(): number { return f() + 1 } f()", "Maximum call stack size exceeded");
    ends("JSON.parse('['.repeat(100000) + ']'.repeat(100000))", "JSON is nested too deeply");
    for end in ["return deep", "JSON.stringify(deep)"] {
        let code = format!("let deep: any = 1; for (let i = 0; i < 100000; i++) deep = [deep]; {end}");
        ends(&code, "is nested too deeply to be written");
    }
    ends(&format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000)), "nests brackets deeper");
    ends(&format!("return {}1", "!".repeat(100_000)), "operators in one statement");
    ends(&format!("return 1{}", "+1".repeat(50_000)), "operators in one statement");
}

#[test]
fn unsettled_promises_end_the_script() {
    ends("await new Promise(() => {})", "waits for a promise that never settles");
}

#[test]
fn there_is_no_eval() {
    for code in [
        "eval('1')",
        "new Function('return 1')()",
        "(() => 0).constructor('return 1')()",
        "(async () => 0).constructor('return 1')()",
        "(function* () {}).constructor('1')()",
        "(0, globalThis['eval'])('1')",
    ] {
        ends(code, "scripts cannot use eval");
    }
    ends("await import('fs')", "scripts cannot import");
    ends("fetch('http://x')", "ReferenceError");
    ends("require('fs')", "ReferenceError");
}

#[test]
fn console_floods_are_cut() {
    let (_, text) =
        run_with("for (let i = 0; i < 1e5; i++) console.log('x'.repeat(50)); return 1", 10_000, "{}");
    assert!(
        text.starts_with("1\n") && text.ends_with("… (99800 lines more)") && text.len() < 40_000,
        "{}",
        text.len()
    );
    let (_, text) = run_with("console.log('é'.repeat(1e6)); return 1", 10_000, "{}");
    assert!(text.len() < 6_000 && text.contains("bytes more)"));
}

#[test]
fn getters_proxies_and_pollution_reach_nothing() {
    ends("return {get x() { while (true) {} }}", "was stopped after");
    ends("return {toJSON() { throw new Error('mine') }}", "mine");
    ends("throw new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 2 }})", "cannot be shown");
    ends("const a: any = {}; a.a = a; return a", "circular");
    ends("throw {get message() { while (true) {} }}", "was stopped after");
    let polluted = "Object.prototype.message = 'x'; Object.prototype.fatal = true; Array.prototype.push = () => 0; \
                    Promise.prototype.then = () => 0; JSON.stringify = () => '0'; String.prototype.toWellFormed = () => 'no'; \
                    Array.prototype[Symbol.iterator] = null;\nreturn {a: [1]}";
    assert_eq!(run(polluted), "{\"a\":[1]}");
    let polluted = "String = () => 'kg'; Reflect.apply = null; Map.prototype.get = null;\n\
                    return await tools.kg.search({query: 'still'})";
    assert!(run(polluted).starts_with("{\"hits\":[\"still\"]}"), "{}", run(polluted));
    ends("tools.kg = 1 as any; tools.kg.search = null; return await tools.kg.nothing()", "TypeError");
}

#[test]
fn halves_of_characters_do_not_break_json() {
    assert_eq!(run("return ['\\ud83d', '😀']"), "[\"\u{fffd}\",\"😀\"]");
    assert!(run("await tools.kg.search({query: '\\udc00'})").contains('\u{fffd}'));
}
