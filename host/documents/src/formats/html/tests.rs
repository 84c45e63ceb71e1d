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
