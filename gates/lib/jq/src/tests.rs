//! Filters with their results. The expected values are those of jq 1.8.

use super::{check, json_nests_too_deep, run};

fn outputs(input: &str, program: &str) -> Result<Vec<String>, String> {
    run(input, program).map(|outputs| outputs.values).map_err(|fault| fault.message)
}

fn assert_outputs(cases: &[(&str, &str, &[&str])]) {
    for (input, program, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|&value| value.to_owned()).collect();
        assert_eq!(outputs(input, program), Ok(expected), "{program} of {input}");
    }
}

#[test]
fn assignments_create_what_is_missing() {
    assert_outputs(&[
        ("{}", ".a.b = 1", &[r#"{"a":{"b":1}}"#]),
        (r#"{"p":{"q":null}}"#, ".p.q.r |= 7", &[r#"{"p":{"q":{"r":7}}}"#]),
        ("null", "(.a, .b.c) = 1", &[r#"{"a":1,"b":{"c":1}}"#]),
        ("null", ".[2] = \"c\"", &[r#"[null,null,"c"]"#]),
        ("[1]", ".[1].x += 4", &[r#"[1,{"x":4}]"#]),
        ("{}", r#".n["k"].m //= 5"#, &[r#"{"n":{"k":{"m":5}}}"#]),
        (
            r#"[{"g":"a","v":2},{"g":"b","v":3},{"g":"a","v":5}]"#,
            "reduce .[] as $row ({}; .sums[$row.g] += $row.v)",
            &[r#"{"sums":{"a":7,"b":3}}"#],
        ),
        (r#"[{"n":1},{"n":2}]"#, "map(.info.double = .n * 2) | map(.info.double)", &["[2,4]"]),
        (r#"{"k":"x"}"#, ".[.k] = 1", &[r#"{"k":"x","x":1}"#]),
        ("[1,2,3]", ".[] |= (., .)", &["[1,2,3]"]),
        ("[1,5,9]", "(.[] | select(. > 4)) |= empty", &["[1]"]),
        ("{}", r#"setpath(["a", 1, "b"]; 0)"#, &[r#"{"a":[null,{"b":0}]}"#]),
        (r#"{"a":1}"#, "try (.[0] = 1) catch .", &["\"Cannot index object with number (0)\""]),
        ("null", "try (.[99999999] = 0) catch .", &["\"Array index too large\""]),
        ("null", "try setpath([range(5000) | 0]; 1) catch .", &["\"Path too deep\""]),
    ]);
}

#[test]
fn deletions_mean_the_places_before_any_is_deleted() {
    assert_outputs(&[
        ("[0,1,2,3,4]", "del(.[0, 2, -1])", &["[1,3]"]),
        ("[0,1,2,3,4]", "del(.[1:3], .[4])", &["[0,3]"]),
        (r#"{"c":1,"a":2,"b":3}"#, "del(.a)", &[r#"{"c":1,"b":3}"#]),
        (r#"{"a":{"x":1,"y":2},"b":[5,6]}"#, "del(.a.x, .b[0], .gone.z)", &[r#"{"a":{"y":2},"b":[6]}"#]),
        ("[1,null,[null,2]]", "del(.. | nulls)", &["[1,[2]]"]),
        (r#"{"c":1,"a":null,"b":3}"#, "map_values(select(. != 1))", &[r#"{"a":null,"b":3}"#]),
        ("[[1],[2,3]]", "delpaths([[1, 0], [0]])", &["[[3]]"]),
    ]);
}

#[test]
fn regular_expressions_replace_and_capture() {
    assert_outputs(&[
        (r#""v1.22.3""#, r#"[scan("[0-9]+")]"#, &[r#"["1","22","3"]"#]),
        (r#""a1b22""#, r#"gsub("[0-9]+"; "N")"#, &[r#""aNbN""#]),
        (r#""b""#, r#"capture("(?<a>a)?b"), [scan("(a)?(b)")]"#, &[r#"{"a":null}"#, r#"[[null,"b"]]"#]),
        (r#""2024-05""#, r#"capture("(?<y>\\d+)-(?<m>\\d+)")"#, &[r#"{"y":"2024","m":"05"}"#]),
        (r#""one two""#, r#"sub("(?<w>\\w+)"; "\(.w)!")"#, &[r#""one! two""#]),
        (r#""Ab""#, r#"test("aB"; "i"), test("aB"; null), test(["ab", "i"])"#, &["true", "false", "true"]),
        (r#""x-y_z""#, r#"[splits("[-_]")], split("[-_]"; null)"#, &[r#"["x","y","z"]"#, r#"["x","y","z"]"#]),
        (
            r#""n=7""#,
            r#"match("=(\\d)")"#,
            &[
                r#"{"offset":1,"length":2,"string":"=7","captures":[{"offset":2,"length":1,"string":"7","name":null}]}"#,
            ],
        ),
    ]);
    let refused = outputs("\"x\"", "test(\"(?=x)\")").expect_err("look-around");
    assert!(refused.contains("look-around is not supported"), "{refused}");
}

#[test]
fn formats_dates_and_tables_are_there() {
    assert_outputs(&[
        (r#"["a\"b",1,null,true]"#, "@csv, @tsv", &[r#""\"a\"\"b\",1,,true""#, r#""a\"b\t1\t\ttrue""#]),
        (r#""ü &<""#, "@uri, @html, @base64", &[r#""%C3%BC%20%26%3C""#, r#""ü &amp;&lt;""#, r#""w7wgJjw=""#]),
        (r#""eyJhIjoxfQ""#, "@base64d | fromjson | .a", &["1"]),
        (
            r#""a%20%C3%BC""#,
            "@urid, (try (\"%+1\" | @urid) catch \"refused\")",
            &[r#""a ü""#, r#""refused""#],
        ),
        (
            r#""2024-02-29T12:30:00Z""#,
            "fromdate, (fromdate | todate)",
            &["1709209800", r#""2024-02-29T12:30:00Z""#],
        ),
        (r#""2024-02-29T12:30:00Z""#, r#"strptime("%Y-%m-%dT%H:%M:%SZ") | mktime"#, &["1709209800"]),
        ("0", r#"strftime("%A, %d %B %Y")"#, &[r#""Thursday, 01 January 1970""#]),
        (r#"[{"id":7,"n":"a"},{"id":8,"n":"b"}]"#, "INDEX(.id) | .[\"8\"].n", &[r#""b""#]),
        ("[1,2,3]", "map(IN(2, 3))", &["[false,true,true]"]),
        (r#"{"a":[1]}"#, "[tostream]", &[r#"[[["a",0],1],[["a",0]],[["a"]]]"#]),
        (r#"{"a":[1,{"b":2}]}"#, "fromstream(tostream)", &[r#"{"a":[1,{"b":2}]}"#]),
        (r#"["a",null,"b",3]"#, r#"join("-")"#, &[r#""a--b-3""#]),
        (r#"[{"name":"x","value":1},{"k":"y","v":false}]"#, "from_entries", &[r#"{"x":1,"y":false}"#]),
        (r#"[3,{"a":1}]"#, "pick(.[1].a)", &[r#"[null,{"a":1}]"#]),
    ]);
}

#[test]
fn numbers_are_those_of_json() {
    assert_outputs(&[
        (
            "[6,0]",
            "try (.[0] / .[1]) catch .",
            &["\"6 and 0 cannot be divided because the divisor is zero\""],
        ),
        (
            "null",
            "[nan, infinite, \"NaN \\\"Infinity\"]",
            &[r#"[null,1.7976931348623157e+308,"NaN \"Infinity"]"#],
        ),
        ("123456789012345678901234567890", ".", &["123456789012345678901234567890"]),
        ("\u{feff}[1.50]", ".[0]", &["1.50"]),
    ]);
}

#[test]
fn filters_cannot_end_the_program_or_read_the_machine() {
    for program in ["halt", "halt(1)", "stderr", "input", "inputs", "$ENV", "include \"x\"; .", "debug_empty"]
    {
        assert!(outputs("1", program).is_err(), "{program}");
    }
    assert_outputs(&[("1", "env, debug, debug(\"x\")", &["{}", "1", "1"])]);
}

#[test]
fn a_filter_nested_too_deep_is_rejected() {
    for open in ["(", "[", "{a:"] {
        let fault = check(&open.repeat(20_000)).expect_err("too deep");
        assert_eq!(fault.message, "the filter is nested deeper than 256 levels");
    }
    assert!(check(&format!("{}1{}", "(".repeat(50), ")".repeat(50))).is_ok());
    let commas = format!("{} = 1", vec!["(.a, .b)"; 60].join(" | "));
    assert!(check(&format!("({commas})")).is_ok(), "its size does not double with each comma");
}

#[test]
fn comments_hide_no_nesting() {
    for hostile in ["[#]\n".repeat(20_000), format!("#\"\n{}", "[".repeat(20_000))] {
        assert!(json_nests_too_deep(&hostile));
    }
    assert!(!json_nests_too_deep(&format!("[ # {}\n1]", "[".repeat(20_000))));
    assert!(!json_nests_too_deep(&format!("\"#{}\"", "[".repeat(20_000))));
}

#[test]
fn long_filters_are_refused() {
    for filter in [
        "1,".repeat(100_000) + "1",
        "1,".repeat(1_001) + "1",
        "1 or ".repeat(1_001) + "1",
        " ".repeat(20_000),
    ] {
        let fault = check(&filter).expect_err("refused");
        assert!(fault.message.contains("the filter is too long"), "{}", fault.message);
    }
    assert!(check(&("1,".repeat(200) + "1")).is_ok());
}
