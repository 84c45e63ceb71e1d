//! Property tests of arbitrary bytes as scripts and script files.

use gatehouse_mutate::Target;

use crate::{file::ScriptFile, typescript};

fn script(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(script) = typescript::CompiledScript::read(&text) {
        // Types become whitespace, so no line is lost.
        assert!(script.javascript.lines().count() >= text.lines().count(), "{}", script.javascript);
    }
    let _ = typescript::uses(&text);
    let _ = ScriptFile::read(&text);
}

#[test]
fn any_script_is_read_or_refused() {
    const TARGET: Target = Target {
        name: "script",
        seeds: &[
            b"// script: a\n// description: b\n// params: {\"type\":\"object\"}\ninterface A<T> { x?: T }\n\
              const all = await Promise.all([1, 2].map((n: number) => tools.kg.search({ query: `${n}` }) as Promise<string>));\n\
              return all satisfies string[];\n",
            b"enum E { A = 1, B = A << 1 }\nclass C<T> extends D<T> implements F { constructor(private readonly x: T, public y?: string) { super(); } \
              static #z: number = 1; declare w: string; get v(): number { return this.x! as unknown as number; } }\nlabel: for (const e of [E.A]) { continue label; }\n",
            b"type U = { [K in keyof T]: T[K] } | (new () => void);\nfunction f<T>(this: Window, a: T): asserts a is T;\nfunction f(a) { callMCPTool('git', \"log\", {}) }\n",
        ],
        words: &[
            "<T>", "as const", "satisfies ", "?.", "!.", ": string", "=> ", "`${", "}", "enum ", "declare ", "abstract ", "namespace ",
            "/*", "//", "'", "await ", "return ", "(", "[", "{", "\u{2028}", "import type ", "<", ">", "tools.", "/(/",
        ],
        run: script,
    };
    TARGET.test();
}

/// Regression test: mismatched closing brackets once lowered the counted depth, but not the parser's.
#[test]
fn mismatched_brackets_do_not_hide_nesting() {
    for part in ["| (new ()  }", "| (new () ]", "[ (new () }", "{ (new () ]", "(a => [ )", "<(new () }>"] {
        script(part.repeat(1_024).as_bytes());
        script(format!("type A = {}", part.repeat(1_024)).as_bytes());
        script(format!("{{{}", part.repeat(4_096)).as_bytes());
    }
}
