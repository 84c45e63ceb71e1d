//! Dates, numbers, texts and addresses as Node 20 writes them, in UTC and English.

use super::{run, run_with};

/// Expressions, and the text of their value in Node 20.
const EXPRESSIONS: [(&str, &str); 56] = [
    (r#"new Date(0).toLocaleString("en-US")"#, "1/1/1970, 12:00:00 AM"),
    ("new Date(1705350600000).toLocaleString()", "1/15/2024, 8:30:00 PM"),
    ("new Date(1705350600000).toLocaleDateString()", "1/15/2024"),
    ("new Date(1705350600000).toLocaleTimeString()", "8:30:00 PM"),
    (
        r#"new Date(1705350600000).toLocaleString("en-US", { timeZone: "Asia/Tokyo" })"#,
        "1/16/2024, 5:30:00 AM",
    ),
    (
        r#"new Date(1720000000000).toLocaleString("en-US", { timeZone: "America/New_York", timeZoneName: "short" })"#,
        "7/3/2024, 5:46:40 AM EDT",
    ),
    (
        r#"new Date(1720000000000).toLocaleDateString("en-US", { weekday: "long", year: "numeric", month: "long", day: "numeric" })"#,
        "Wednesday, July 3, 2024",
    ),
    (r#"new Date(1720000000000).toLocaleDateString("en-US", { month: "short", day: "numeric" })"#, "Jul 3"),
    (
        r#"new Date(1720000000000).toLocaleDateString("en-US", { year: "numeric", month: "2-digit", day: "2-digit" })"#,
        "07/03/2024",
    ),
    (
        r#"new Date(1720000000000).toLocaleDateString("en-US", { month: "long", year: "numeric" })"#,
        "July 2024",
    ),
    (
        r#"new Date(1720000000000).toLocaleTimeString("en-US", { hour: "2-digit", minute: "2-digit" })"#,
        "09:46 AM",
    ),
    (
        r#"new Date(1720000000000).toLocaleTimeString("en-US", { hour: "numeric", minute: "2-digit", hour12: false })"#,
        "09:46",
    ),
    (r#"new Date(1720000000000).toLocaleTimeString("en-US", { hour12: false })"#, "09:46:40"),
    (
        r#"new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeStyle: "short", timeZone: "Europe/Berlin" }).format(new Date(1720000000000))"#,
        "Jul 3, 2024, 11:46 AM",
    ),
    (
        r#"new Intl.DateTimeFormat("en-US", { dateStyle: "full" }).format(new Date(1720000000000))"#,
        "Wednesday, July 3, 2024",
    ),
    (r#"new Intl.DateTimeFormat("en-US", { dateStyle: "short" }).format(new Date(1720000000000))"#, "7/3/24"),
    (
        r#"new Intl.DateTimeFormat("en-US", { timeStyle: "long", timeZone: "Asia/Kolkata" }).format(new Date(1720000000000))"#,
        "3:16:40 PM GMT+5:30",
    ),
    (
        r#"new Date(1720000000000).toLocaleString("en-US", { month: "long", day: "numeric", year: "numeric", hour: "numeric", minute: "2-digit" })"#,
        "July 3, 2024 at 9:46 AM",
    ),
    ("new Date(NaN).toLocaleString()", "Invalid Date"),
    ("(1234567.891).toLocaleString()", "1,234,567.891"),
    (r#"(1234.5).toLocaleString("en-US", { style: "currency", currency: "USD" })"#, "$1,234.50"),
    (
        r#"(-1234.5).toLocaleString("en-US", { style: "currency", currency: "EUR", maximumFractionDigits: 0 })"#,
        "-€1,235",
    ),
    (r#"(99).toLocaleString("en-US", { style: "currency", currency: "JPY" })"#, "¥99"),
    (r#"(0.256).toLocaleString("en-US", { style: "percent" })"#, "26%"),
    (r#"(0.2567).toLocaleString("en-US", { style: "percent", minimumFractionDigits: 1 })"#, "25.7%"),
    ("(1e21).toLocaleString()", "1,000,000,000,000,000,000,000"),
    ("(0.1 + 0.2).toLocaleString()", "0.3"),
    (r#"(12).toLocaleString("en-US", { minimumFractionDigits: 2 })"#, "12.00"),
    ("(1234567n).toLocaleString()", "1,234,567"),
    (r#"(1234).toLocaleString("en-US", { useGrouping: false })"#, "1234"),
    ("(NaN).toLocaleString()", "NaN"),
    ("(-Infinity).toLocaleString()", "-∞"),
    (r#"new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 }).format(3.14159)"#, "3.1"),
    (
        r#"["item10", "item2", "Item1"].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).join()"#,
        "Item1,item2,item10",
    ),
    (r#"["b", "a", "B", "A", "ä", "z"].sort((a, b) => a.localeCompare(b)).join()"#, "a,A,ä,b,B,z"),
    (r#""a".localeCompare("A", undefined, { sensitivity: "base" })"#, "0"),
    (r#""a".localeCompare("á", undefined, { sensitivity: "base" })"#, "0"),
    (r#""a".localeCompare("á", undefined, { sensitivity: "accent" })"#, "-1"),
    (r#""a".localeCompare("A")"#, "-1"),
    (r#""résumé".localeCompare("resume")"#, "1"),
    (r#"["_x", "-x", "1x", "x", " x"].sort(new Intl.Collator().compare).join()"#, " x,_x,-x,1x,x"),
    (r#""a 2".localeCompare("a 10", "en", { numeric: true })"#, "-1"),
    (r#"new URL("//other.com/x", "https://example.com").href"#, "https://other.com/x"),
    (
        r#"new URL("../c?d#e", "https://u:p@example.com:8080/a/b/").href"#,
        "https://u:p@example.com:8080/a/c?d#e",
    ),
    (r#"new URL("mailto:a@b.c").pathname"#, "a@b.c"),
    (r#"new URL("HTTPS://EXAMPLE.com:443/%7Ea b").href"#, "https://example.com/%7Ea%20b"),
    (
        r#"(() => { const u = new URL("https://a.b/c?x=1"); u.searchParams.set("y", "ä &"); u.hash = "z"; u.port = "81"; u.host = "q.r"; return u.href; })()"#,
        "https://q.r:81/c?x=1&y=%C3%A4+%26#z",
    ),
    (
        r#"(() => { const u = new URL("https://a.b/c?x=1"); u.search = "?k=2&k=3"; return [u.searchParams.getAll("k"), u.searchParams.size, u.origin, u.username].join(); })()"#,
        "2,3,2,https://a.b,",
    ),
    (r#"URL.canParse("nope")"#, "false"),
    (r#"new URLSearchParams("a=1&b=%20+x&a=2").toString()"#, "a=1&b=++x&a=2"),
    (r#"new URLSearchParams({ q: "x y", r: "é~!'()*" }).toString()"#, "q=x+y&r=%C3%A9%7E%21%27%28%29*"),
    (r#"[...new URLSearchParams("?a=1&b")].join(";")"#, "a,1;b,"),
    (r#"new TextDecoder("utf-16le").decode(new Uint8Array([104, 0, 105, 0]))"#, "hi"),
    ("new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97, 0xff]))", "a�"),
    (r#"new TextDecoder("utf-8", { fatal: true }).encoding"#, "utf-8"),
    (r#"JSON.stringify(new URL("https://a.b/"))"#, r#""https://a.b/""#),
];

#[test]
fn values_are_those_of_node() {
    for (expression, expected) in EXPRESSIONS {
        let text = run(&format!("return String({expression});"));
        assert_eq!(text, expected, "{expression}");
    }
}

#[test]
fn options_that_are_not_carried_out_throw() {
    for (expression, reason) in [
        ("new Date(0).toLocaleString('de-DE')", "only the locale en-US, not 'de-DE'"),
        ("new Date(0).toLocaleString('en-US', { timeZone: 'Mars/Base' })", "invalid time zone: Mars/Base"),
        ("new Date(0).toLocaleString('en-US', { era: 'long' })", "does not support the option era: long"),
        (
            "(1).toLocaleString('en-US', { notation: 'compact' })",
            "does not support the option notation: compact",
        ),
        ("(1).toLocaleString('en-US', { style: 'unit' })", "does not support the option style: unit"),
        ("'a'.localeCompare('b', 'sv')", "only the locale en-US, not 'sv'"),
        ("new TextDecoder('shift_jis')", "knows utf-8, utf-16le, utf-16be and latin1, not 'shift_jis'"),
        (
            "new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))",
            "the bytes are not utf-8",
        ),
        ("new URL('no')", "Invalid URL: 'no'"),
        ("new Intl.PluralRules()", "not a function"),
    ] {
        let (failed, text) = run_with(&format!("return {expression};"), 1_500, "{}");
        assert!(failed && text.contains(reason), "{expression}: {text}");
    }
    for (expression, expected) in [
        ("(0.145).toLocaleString('en-US', { style: 'percent' })", "15%"),
        ("(1.005).toLocaleString('en-US', { style: 'currency', currency: 'USD' })", "$1.01"),
        ("(0.1).toLocaleString('en-US', { maximumFractionDigits: 20 })", "0.1"),
        ("(5n).toLocaleString('en-US', { style: 'percent' })", "500%"),
        ("(9.999).toLocaleString('en-US', { maximumFractionDigits: 2 })", "10"),
        ("(1e-7).toLocaleString('en-US', { maximumFractionDigits: 10 })", "0.0000001"),
        ("Intl.DateTimeFormat().resolvedOptions().timeZone", "UTC"),
        (
            "new Date(1720000000000).toLocaleDateString('en-US', { timeZone: 'America/New_York', timeZoneName: 'short' })",
            "7/3/2024, EDT",
        ),
        ("structuredClone({ length: 120 }).length", "120"),
        (
            "(() => { const u = new URL('https://a/?x=1'); const p = u.searchParams; u.search = '?y=2'; p.append('z', '3'); return u.href; })()",
            "https://a/?y=2&z=3",
        ),
    ] {
        assert_eq!(run(&format!("return String({expression});")), expected, "{expression}");
    }
    let text = run("return new TextDecoder('latin1').decode(new Uint8Array([0xe9, 0x80]));");
    assert_eq!(text, "é€");
}
