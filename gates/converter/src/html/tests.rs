//! HTML conversion.

use super::markdown;

#[test]
fn structure_becomes_markdown() {
    let page = "<!doctype html><html><head><title>T &amp; U</title><style>x{}</style><script>if (a < b) {}</script></head>
        <body><h2>Head <em>two</em></h2><p>One\n  paragraph<br>with <a href='/x'>a link</a> and <code>code</code>.</p>
        <ul><li>a<ul><li>inner</li></ul></li><li>b</li></ul><ol><li>x</li><li>y</li></ol>
        <pre><code>let x = 1;\n  y &lt; 2\n</code></pre>
        <table><tr><th>K</th><th>V</th></tr><tr><td>a|b</td><td><p>1</p></td></tr></table></body></html>";
    let text = "T & U\n\n## Head two\n\nOne paragraph\nwith [a link](/x) and `code`.\n\n- a\n  - inner\n- b\n\n1. x\n2. y\n\n```\nlet x = 1;\n  y < 2\n```\n\n| K | V |\n| --- | --- |\n| a\\|b | 1 |\n";
    assert_eq!(markdown(page), text);
}

#[test]
fn marks_keep_their_meaning() {
    for (page, text) in [
        ("10<sup>-9</sup> m, H<sub>2</sub>O", "10^-9 m, H_2O"),
        ("<s>$9</s> <del>$8</del> $7", "~~$9~~ ~~$8~~ $7"),
        ("<a href='/a_(b)'>c</a> <a href='/d e'>f</a>", "[c](</a_(b)>) [f](</d e>)"),
        ("<a href='https://x.example/'>https://x.example/</a>", "https://x.example/"),
        ("<ol start=3><li>c<li value=7>g<li>h</ol>", "3. c\n7. g\n8. h"),
        ("hy&shy;phen and<wbr>more", "hyphen andmore"),
        (
            "<table><tr><td>a<table><tr><td>b</td><td>c</td></tr></table></td></tr></table>",
            "| a b c |\n| --- |",
        ),
    ] {
        assert_eq!(markdown(page).trim(), text, "{page}");
    }
}

#[test]
fn hidden_text_is_absent_and_ends_where_its_element_ends() {
    for page in [
        "<div hidden>x<div>y</div>z</div>end",
        "<p style='color: red; display : none'>x<p>end",
        "<template><p>x</p></template>end",
        "<ul><li hidden>x<li>end</ul>",
        "<div><span hidden>x</span>end</div>",
        "<input hidden>end",
        "<div><p hidden>x</div>end",
    ] {
        let text = markdown(page);
        assert!(!text.contains('x') && text.contains("end"), "{page}: {text}");
    }
    assert_eq!(markdown("<p hidden=until-found>found</p>"), "found\n");
}

#[test]
fn code_and_headings_in_tables_keep_their_lines() {
    let code = "for (;;) {\n\tx();\n}\n";
    let fence = format!("```\n{code}```");
    let gutter =
        format!("<table><tr><td><pre>1\n2\n3\n</pre></td><td><pre>{code}</pre></td></tr></table><p>end");
    assert_eq!(markdown(&gutter), format!("{fence}\n\nend\n"));
    let cell = format!("<table><tr><th>k<th>v</tr><tr><td>run<td><pre>{code}</pre></tr></table><p>end");
    assert_eq!(markdown(&cell), format!("| k | v |\n| --- | --- |\nrun\n\n{fence}\n\nend\n"));
    let layout = "<table><tr><td>menu</td><td><h2>Head</h2><p>text</p></td></tr></table><table><tr><td>1<td>2</tr></table>";
    assert_eq!(markdown(layout), "menu\n\n## Head\n\ntext\n\n| 1 | 2 |\n| --- | --- |\n");
}

#[test]
fn links_and_tables_of_loose_pages_keep_their_text() {
    for (page, text) in [
        ("<table><tr><td><a href=x><h1></a>end", "end"),
        ("<table><tr><td><a href=x>aü<h1>b</h1></a>", "[aü](x)\n\n# b"),
        ("<a href=/x><h3>Card</h3><p>text</p></a>", "### Card\n\ntext\n/x"),
        ("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "| 1 | 2 |\n| --- | --- |\n| 3 | 4 |"),
        ("<table><tr><td><ol><li>5</li><li>7</li></ol></td></tr></table>", "| 1. 5 2. 7 |\n| --- |"),
    ] {
        let converted = markdown(page);
        assert_eq!(
            converted.trim().trim_start_matches('#').trim(),
            text.trim_start_matches('#').trim(),
            "{page}"
        );
    }
}

#[test]
fn links_without_a_target_become_text() {
    let page = "<a href='#x'>one</a> <a href='javascript:alert(1)'>two</a> <a href='/y'></a><a>three</a> <a href='/z'>four";
    assert_eq!(markdown(page), "one two three [four](/z)\n");
}

#[test]
fn broken_and_hostile_pages_are_read_completely() {
    for page in [
        "<div>",
        "<table><tr><td>",
        "<ul><li>",
        "<b><i><pre>",
        "</p></table></ul>",
        "<a href=x>",
        "<",
        "&#x0;&bogus;",
    ] {
        let text = markdown(&page.repeat(100_000)) + &markdown(&(page.to_owned() + "<p>end"));
        assert!(text.len() < 8_000_000, "{page}");
        assert!(text.contains("end") || page == "<", "{page}: {text:.100}");
    }
    assert_eq!(markdown(""), "");
    assert_eq!(markdown("<script>never closed"), "");
}

#[test]
fn a_fence_in_code_does_not_end_it() {
    assert_eq!(markdown("<pre>```\n# x</pre>"), "````\n```\n# x\n````\n");
}
