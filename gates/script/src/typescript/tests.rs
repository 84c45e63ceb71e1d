//! Tests that lines and columns stay in place.

use super::CompiledScript;

fn body(source: &str) -> String {
    let script =
        CompiledScript::read(source).unwrap_or_else(|error| panic!("{source}: {error:?}")).javascript;
    script.lines().skip(1).collect::<Vec<_>>().join("\n").trim_end_matches("\n})()").to_owned()
}

#[test]
fn types_become_blanks_of_the_same_length() {
    let source = "const f = (a: number, b?: Map<string, number>): void => {};\nlet x = f as unknown;";
    assert_eq!(
        body(source),
        "const f = (a        , b                      )       => {};\nlet x = f           ;"
    );
}

#[test]
fn the_last_expression_keeps_its_columns() {
    assert_eq!(body("a(); b"), "a(); return (\n     b)");
    let script = CompiledScript::read("x();\n  y(z as T).w").unwrap();
    assert_eq!(script.position("x();\n  y(z as T).w", 2, 1), (1, 1));
    assert_eq!(script.position("x();\n  y(z as T).w", 4, 5), (2, 5));
    let wide = "const größe = 1;\nreturn 'é' + q;";
    let script = CompiledScript::read(wide).unwrap();
    assert_eq!(script.position(wide, 3, 16), (2, 15));
}

#[test]
fn an_error_has_its_position() {
    let error = CompiledScript::read("let a = 1;\nlet é = @;").unwrap_err();
    assert_eq!(error.position.map(|(line, _)| line), Some(2));
}

#[test]
fn a_bracket_in_a_comment_does_not_end_parameters() {
    assert_eq!(
        body("const f = (a) /* ) */ :\n number => a;\nf"),
        "const f = (a  /* ) */  \n      ) => a;\nreturn (\nf)"
    );
}

#[test]
fn scripts_are_read_as_models_write_them() {
    for (source, expected) in [
        ("```ts\nconst a: 1 = 1;\nreturn a;\n```", "\nconst a    = 1;\nreturn a;\n"),
        ("Here it is:\n\n```\nreturn 1;\n```\nDone, I think.", "\n\n\nreturn 1;\n\n"),
        ("const f = 1;\n{ a: f, b: 2 };", "const f = 1;\nreturn ({ a: f, b: 2 });"),
        ("{ a: 1 }", "return ({ a: 1 })"),
        ("x();\n{\n  a,\n  ...b,\n}\n", "x();\nreturn ({\n  a,\n  ...b,\n})\n"),
        ("x();\n{ if (a) b(); }", "x();\n{ if (a) b(); }"),
        ("{ const a = 1; x(a); }", "{ const a = 1; x(a); }"),
        ("async () => { x(); }", "return (\nasync () => { x(); })()"),
        ("(function () { x(); });", "return (\n(function () { x(); }))();"),
        ("async function main() {}", "async function main() {}; return main();"),
        ("const a = 1;\nfunction b() {}", "const a = 1;\nfunction b() {}"),
        ("#!/usr/bin/env node\nreturn 1;", "                   \nreturn 1;"),
        ("declare namespace N { const x: 1 }\nreturn 1;", ";                                 \nreturn 1;"),
        ("/*\n```\n*/ return 1;", "/*\n```\n*/ return 1;"),
    ] {
        assert_eq!(body(source), expected, "{source}");
    }
    assert!(body("enum E { A = 1 }\nenum E { B = 2 }").contains("})(E ?? {})"));
}
