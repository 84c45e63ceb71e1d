//! Bounds of headings, blocks and lines in each kind of markup.

use super::*;

fn titles(text: &str) -> Vec<(usize, String)> {
    let layout = TextLayout::from_text(text);
    let joined: String = layout.spans.iter().map(|span| &text[span.start..span.end]).collect();
    assert_eq!(joined, text);
    let title = |h: &Heading| text[h.start..h.end].lines().map(str::trim).collect::<Vec<_>>().join("|");
    layout.headings.iter().map(|h| (layout.path(h.parent).count(), title(h))).collect()
}

fn kinds(text: &str) -> Vec<(SpanKind, &str)> {
    TextLayout::from_text(text).spans.iter().map(|span| (span.kind, &text[span.start..span.end])).collect()
}

#[test]
fn headings_of_each_kind_lead_to_what_stands_under_them() {
    let markdown = "# One\ntext\n## Two\n#nothing\n\nSetext\n------\n### Deep ###\n";
    assert_eq!(
        titles(markdown),
        [(0, "# One".into()), (1, "## Two".into()), (0, "Setext|------".into()), (1, "### Deep ###".into())]
    );
    let rst = "=====\nTitle\n=====\n\nPart\n====\n\nSub\n---\n\ntext\n\nPart two\n========\n";
    assert_eq!(
        titles(rst),
        [
            (0, "=====|Title|=====".into()),
            (1, "Part|====".into()),
            (2, "Sub|---".into()),
            (1, "Part two|========".into())
        ]
    );
    assert_eq!(titles("= Book\n\n== Part\ntext\n"), [(0, "= Book".into()), (1, "== Part".into())]);
    let manual = "TREE(1)   User Commands   TREE(1)\n\nNAME\n       tree - copies\n\nEXIT STATUS\n       0\n\nTREE(1)\n";
    assert_eq!(titles(manual), [(0, "NAME".into()), (0, "EXIT STATUS".into())]);
    assert_eq!(titles("Text\n\nEXIT STATUS\n       0\n"), [], "no manual page");
    assert_eq!(titles("---\ntitle: x\nother: y\n---\ntext\n\n***\n"), []);
}

#[test]
fn definitions_are_the_headings_of_code_with_the_comments_above() {
    let code = "use x;\n\n/// About A.\nstruct A {\n    b: u8,\n}\n\nimpl A {\n    /// # Panics\n    #[inline]\n    pub(crate) async fn b(&self) {\n        x();\n    }\n}\n";
    assert_eq!(
        titles(code),
        [(0, "struct A {".into()), (0, "impl A {".into()), (1, "pub(crate) async fn b(&self) {".into())]
    );
    let layout = TextLayout::from_text(code);
    let about = layout.spans.iter().find(|span| code[span.start..span.end].starts_with("/// About")).unwrap();
    assert_eq!(about.section, Some(0));
    let commented = "# A program\n\"\"\"Does this.\n\nclass of things\nIn words, and more words\n\"\"\"\nimport x\n\n# ---\n# Settings\nLIMIT = 3\n\n\nclass A:\n    # About b.\n    def b(self):\n        '''One\n        two\n        '''\n        # no heading\n        return x\n\n# About c\nasync def c():\n    pass\n";
    assert_eq!(
        titles(commented),
        [(0, "class A:".into()), (1, "def b(self):".into()), (0, "async def c():".into())]
    );
    let prose =
        "# One\n\nA class of words, such as\ntype is\n\n# Two\n\nclass of things, and\ntype of things.\n";
    assert_eq!(titles(prose), [(0, "# One".into()), (0, "# Two".into())]);
    let python = "import x\n\nclass A:\n    def b(self):\n        # Comment\n        return x(\n            1)\n\ndef c():\n    pass()\n";
    assert_eq!(titles(python).len(), 3);
}

#[test]
fn fences_and_tables_are_blocks() {
    let text = "Text.\n```rust\n# no heading\n\n| no table |\n```\nMore.\n\n| a | b |\n|---|---|\n| 1 | 2 |\nEnd.\n<table>\n\n<tr>\n</table>\n~~~~\n```\n~~~\n~~~~\n";
    let found: Vec<_> = kinds(text).into_iter().filter(|(kind, _)| *kind != SpanKind::Prose).collect();
    let expected = [
        (SpanKind::Code, "```rust\n# no heading\n\n| no table |\n```\n"),
        (SpanKind::Table, "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        (SpanKind::Table, "<table>\n\n<tr>\n</table>\n"),
        (SpanKind::Code, "~~~~\n```\n~~~\n~~~~\n"),
    ];
    assert_eq!(found, expected);
    assert_eq!(kinds("[source,c]\n----\nx\n----\n").last().unwrap().0, SpanKind::Code);
    assert_eq!(kinds("```\nnever closed\n").len(), 1);
}

#[test]
fn any_text_is_its_spans() {
    for text in ["", "\n\n", "```", "a\n===", "=\n=\n=\n", "| a", "\r\n# x\r\n\r\ny\r\n", "* * *\n"] {
        titles(text);
    }
}
