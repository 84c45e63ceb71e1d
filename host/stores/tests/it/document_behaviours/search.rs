//! Search by names and words: results, ranking, and arbitrary queries.

use gatehouse_core::ports::{
    DocumentReader as _,
    documents::{DocumentStore as _, LineRange, MatchQuality, NewFile, SearchMode},
};

use super::{add, file, find, paths, put, shelf, shelf_by_meaning};
use crate::{embedder::TestEmbedder, engines::DocumentFixture};

const TEXT: SearchMode = SearchMode::Text;

pub(crate) async fn words_are_found_in_paths_headings_and_bodies<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    add(
        &library,
        vec![
            file("guides/kneading_dough.md", "Nothing else."),
            file("a.md", "# SourdoughStarter\nFeed it."),
            file("b.md", "It rises while the leaven works."),
            file("c.md", "Unrelated words about a leaven and many other things that have no meaning here."),
        ],
    )
    .await;
    for (query, expected) in [
        ("how to knead", vec!["guides/kneading_dough.md"]),
        ("starter", vec!["a.md"]),
        ("rising leavens", vec!["b.md", "c.md"]),
        ("guides", vec!["guides/kneading_dough.md"]),
    ] {
        assert_eq!(paths(&find(&library, query, TEXT).await), expected, "{query}");
    }
    let found = find(&library, "the leaven quux zzz", TEXT).await;
    assert_eq!(
        (found.hits[0].score, found.unmatched_terms),
        (1.0, vec!["quux".to_owned(), "zzz".to_owned()])
    );
    assert_eq!((found.note, found.hits[0].tokens), (None, 6));
    let nothing = find(&library, "quux", TEXT).await;
    assert_eq!((nothing.hits, nothing.unmatched_terms), (vec![], vec!["quux".to_owned()]));
}

pub(crate) async fn beginnings_of_words_are_found_where_no_document_has_the_whole_word<F: DocumentFixture>(
    engine: F,
) {
    let library = shelf(&engine).await;
    add(
        &library,
        vec![
            file("a.md", "Encryption at rest is on."),
            file("benchmarks.md", "Figures of last week."),
            file("c.md", "Its configuration is short. The library is large."),
            file("d.md", "They backup the tables."),
        ],
    )
    .await;
    for (query, expected) in [
        ("encry", "a.md"),
        ("ENCRYPT", "a.md"),
        ("benchm", "benchmarks.md"),
        ("configurat", "c.md"),
        ("librar", "c.md"),
        ("encry zzz", "a.md"),
    ] {
        let found = find(&library, query, TEXT).await;
        assert_eq!(paths(&found), [expected], "{query}");
        assert!(found.hits[0].score > 0.0, "{query}: {found:?}");
    }
    let found = find(&library, "encry", TEXT).await;
    assert!(found.note.is_some_and(|note| note.contains("'encry'")), "the note names the word");
    // A document that contains a whole word ranks higher.
    assert_eq!(paths(&find(&library, "backup encry", TEXT).await), ["d.md"]);
    for nothing in ["zzz", "ncrypt"] {
        assert_eq!(find(&library, nothing, TEXT).await.hits, [], "{nothing}");
    }
    let named = find(&library, "be", TEXT).await;
    assert!(named.hits.iter().all(|hit| hit.score >= 0.005), "{named:?}");
}

pub(crate) async fn a_document_that_is_named_comes_first<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    let about = "model loading model loading model loading";
    add(
        &library,
        vec![
            file("src/model_loading.rs", "Something else."),
            file("model_loading_tips.md", "Another thing."),
            file("saving.md", about),
        ],
    )
    .await;
    for query in ["model loading", "MODEL_LOADING.rs", "src/model_loading.rs", "modelLoading"] {
        let found = find(&library, query, TEXT).await;
        let first = &found.hits[0];
        assert_eq!(
            (first.path.as_str(), first.score, first.fit),
            ("src/model_loading.rs", 1.0, MatchQuality::Names),
            "{query}"
        );
    }
    let found = find(&library, "model loading", TEXT).await;
    assert_eq!(paths(&found), ["src/model_loading.rs", "model_loading_tips.md", "saving.md"]);
}

pub(crate) async fn a_name_that_very_many_share_tells_nothing<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    let mut files: Vec<NewFile> = (0..80).map(|n| file(&format!("part{n}/notes.md"), "words")).collect();
    files.push(file("zebra.md", "notes of recipes"));
    add(&library, files).await;
    assert!(find(&library, "notes", TEXT).await.hits.iter().all(|hit| hit.fit != MatchQuality::Names));
    assert_eq!(paths(&find(&library, "notes recipes", TEXT).await)[0], "zebra.md");
    assert_eq!(find(&library, "part7/notes.md", TEXT).await.hits[0].fit, MatchQuality::Names);
}

pub(crate) async fn any_text_is_a_valid_query<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&engine, &embedder).await;
    add(&library, vec![file("a.md", "dough & bread"), file("b.md", "模型")]).await;
    super::until_complete(&library).await;
    for mode in [SearchMode::Text, SearchMode::Semantic] {
        for text in [
            "'",
            "&",
            "!",
            ":",
            "*",
            "( )",
            "<->",
            "' & ! : * ( ) <->",
            "\"",
            "dough\"",
            "NEAR(",
            "path:",
            "-",
            "a AND",
            "🙂",
            "\0",
            "a\0b",
            "'; --",
            "((()",
            "{a b}:c",
            "\\",
            "%",
            "_",
            "\u{202e}",
            "dough:*",
            "!dough",
            "$1",
            "模",
        ] {
            find(&library, text, mode).await;
        }
        for nothing in ["", " ", "\t\n", "🙂"] {
            assert_eq!(find(&library, nothing, mode).await.hits, [], "{nothing:?}");
        }
        for long in
            ["dough ".repeat(20_000), "模".repeat(50_000), "x".repeat(1_000_000), "a-".repeat(100_000)]
        {
            find(&library, &long, mode).await;
        }
        assert_eq!(paths(&find(&library, "(dough) & !'bread':*", mode).await), ["a.md"]);
    }
}

pub(crate) async fn other_scripts_are_found_in_parts_and_in_other_forms<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    add(
        &library,
        vec![
            file("保存模型.md", "训练之后如何保存模型的权重\n\n使用GGUF格式导出"),
            file("data.md", "# 数据准备\n准备训练数据, 整理图片和文字"),
            file("ru.md", "Как сохранить обученные модели. Экспорт весов"),
            file("ja.md", "# モデルの保存\n学習したモデルを保存する"),
        ],
    )
    .await;
    for (query, path) in [
        ("怎样保存权重", "保存模型.md"),
        ("图片", "data.md"),
        ("gguf", "保存模型.md"),
        ("导出gguf", "保存模型.md"),
        ("модель", "ru.md"),
        ("МОДЕЛЯМИ", "ru.md"),
        ("モデル", "ja.md"),
        ("保存模型", "保存模型.md"),
    ] {
        assert_eq!(paths(&find(&library, query, TEXT).await).first(), Some(&path), "{query}");
    }
    let found = find(&library, "模型 冰淇淋 мороженое quux", TEXT).await;
    assert_eq!(found.unmatched_terms, ["quux", "冰淇淋", "мороженое"]);
    add(&library, vec![file("保存模型.md", "别的")]).await;
    assert!(!paths(&find(&library, "权重", TEXT).await).contains(&"保存模型.md"));
}

pub(crate) async fn spellings_of_the_same_word_find_each_other<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    let pairs = [
        ("Nguyễn đã viết", "nguyen"),
        ("cre\u{300}me bru\u{302}le\u{301}e", "crème"),
        ("ｓｅｒｖｅｒ ｶﾞｲﾄﾞ", "server"),
        ("the oﬃce", "office"),
        ("Last\u{AD}kraft\u{AD}wagen", "lastkraftwagen"),
        ("Fußgänger", "FUSSGANGER"),
        ("smørrebrød", "smorrebrod"),
        ("σοφός", "ΣΟΦΌΣ"),
        ("H₂SO₄", "h2so4"),
        ("כָּתַב", "כתב"),
        ("كَتَبَ", "كتب"),
        ("\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}", "한글"),
    ];
    let files = pairs.iter().enumerate().map(|(at, (text, _))| file(&format!("{at}.md"), text)).collect();
    add(&library, files).await;
    for (at, (text, query)) in pairs.iter().enumerate() {
        let result = find(&library, query, TEXT).await;
        assert_eq!(paths(&result).first(), Some(&&*format!("{at}.md")), "{query} in {text}");
        assert!(result.unmatched_terms.is_empty(), "{query}");
        assert_eq!(library.read("shelf", &format!("./{at}.md"), None).await.unwrap().text, *text);
    }
    add(&library, vec![file("re\u{301}sume\u{301}.md", "text")]).await;
    assert_eq!(library.read("shelf", "résumé.md", None).await.unwrap().text, "text");
}

pub(crate) async fn equal_documents_come_in_the_order_of_their_paths<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    // More documents than are compared closely. The first by path is stored last.
    add(&library, (100..300).rev().map(|n| file(&format!("p{n}.md"), "The same words.")).collect()).await;
    for limit in [1, 3, 120] {
        let found = library.search("shelf", "same words", TEXT, limit).await.unwrap();
        let expected: Vec<String> = (100..100 + limit).map(|n| format!("p{n}.md")).collect();
        assert_eq!(paths(&found), expected);
    }
}

pub(crate) async fn a_search_sees_its_own_repository_alone<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&engine, &embedder).await;
    put(&library, "other").await;
    add(&library, vec![file("a.md", "bread"), file("same.md", "yeast")]).await;
    let files = vec![file("b.md", "bread bread bread"), file("same.md", "plums")];
    library.change("other", files, vec![]).await.unwrap();
    super::until_complete(&library).await;
    for mode in [SearchMode::Text, SearchMode::Semantic] {
        assert_eq!(paths(&find(&library, "bread", mode).await), ["a.md"]);
        assert_eq!(paths(&library.search("other", "bread", mode, 5).await.unwrap()), ["b.md"]);
        let found = find(&library, "plums", mode).await;
        assert_eq!((found.unmatched_terms, found.hits), (vec!["plums".to_owned()], vec![]));
    }
    assert_eq!(library.read("other", "same.md", None).await.unwrap().text, "plums");
}

pub(crate) async fn a_hit_says_how_well_it_fits_and_where<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    let filler = "Nothing of interest stands in this line at all.\n".repeat(200);
    let text = format!("# Start\n{filler}# Oven\nKnead the dough by machine.\n{filler}");
    add(&library, vec![file("long.md", &text), file("bread-baking.md", "Loaves.")]).await;
    for (query, fit) in [
        ("bread baking", MatchQuality::Names),
        ("knead dough by machine", MatchQuality::Good),
        ("dough for quantum computers of tomorrow", MatchQuality::Nothing),
    ] {
        assert_eq!(find(&library, query, TEXT).await.hits[0].fit, fit, "{query}");
    }
    let Some(LineRange { first, last }) = find(&library, "knead dough", TEXT).await.hits[0].best else {
        panic!("no lines")
    };
    assert!((first..=last).contains(&203) && last - first < 60, "{first} to {last}");
}
