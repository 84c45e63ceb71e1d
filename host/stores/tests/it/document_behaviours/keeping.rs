//! Adding, replacing and removing documents.

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        DocumentReader as _,
        documents::{DocumentStore as _, FileHead, LineRange, Repository, RepositoryState, SearchMode},
    },
};

use super::{add, file, find, paths, put, repository, shelf, shelf_by_meaning};
use crate::{embedder::TestEmbedder, engines::DocumentFixture, support::NOW};

fn names(heads: Vec<FileHead>) -> Vec<String> {
    heads.into_iter().map(|head| head.path).collect()
}

pub(crate) async fn files_are_added_replaced_and_removed<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    add(&library, vec![file("b/two.md", "oranges"), file("a/one.md", "apples")]).await;
    assert_eq!(names(library.heads("shelf").await.unwrap()), ["a/one.md", "b/two.md"]);
    let (replaced, removed) = (file("a/one.md", "a pear tree"), vec!["b/two.md".into(), "none".into()]);
    library.change("shelf", vec![replaced.clone(), file("c", "plums")], removed).await.unwrap();
    assert_eq!(names(library.heads("shelf").await.unwrap()), ["a/one.md", "c"]);
    assert_eq!(library.heads("shelf").await.unwrap()[0], replaced.head);
    for (query, expected) in
        [("pears", vec!["a/one.md"]), ("apples", vec![]), ("oranges", vec![]), ("two", vec![])]
    {
        assert_eq!(paths(&find(&library, query, SearchMode::Text).await), expected, "{query}");
    }
    assert_eq!(library.read("shelf", "a/one.md", None).await.unwrap().text, "a pear tree");
    assert_eq!(library.read("shelf", "b/two.md", None).await.unwrap_err().kind, FaultKind::NotFound);
    assert_eq!(library.repositories(false).await.unwrap()[0].file_count, 2);
    let health = library.health().await.unwrap();
    assert_eq!((health.engine, health.address.as_str()), (F::NAME, engine.address().as_str()));
    assert_eq!((health.repositories, health.items, health.embedding), (1, 2, None));
}

pub(crate) async fn a_repository_keeps_its_id_and_names_are_compared_without_case<F: DocumentFixture>(
    engine: F,
) {
    let library = shelf(&engine).await;
    put(&library, "Other").await;
    add(&library, vec![file("a.md", "apples")]).await;
    let before = library.state("shelf").await.unwrap().unwrap();
    let day = NOW.split_once(' ').unwrap().0;
    assert!(before.repository.created_at.as_ref().unwrap().starts_with(day));
    let state = RepositoryState {
        repository: Repository {
            name: "SHELF".into(),
            url: Some("https://example.org/shelf".into()),
            commit: Some("c0ffee".into()),
            kind: Some("books".into()),
            navigation_guide: Some("# Guide".into()),
            ..Repository::default()
        },
        root: Some("/srv/shelf".into()),
        changed_since_guide: 7,
    };
    library.put_state(&state).await.unwrap();
    let after = library.state("Shelf").await.unwrap().unwrap();
    assert_eq!((&after.repository.id, after.repository.file_count), (&before.repository.id, 1));
    let expected = Repository {
        name: "shelf".into(),
        id: before.repository.id,
        file_count: 1,
        created_at: before.repository.created_at,
        updated_at: after.repository.updated_at.clone(),
        ..state.repository
    };
    assert_eq!(after, RepositoryState { repository: expected.clone(), ..state });
    let listed = library.repositories(true).await.unwrap();
    assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["Other", "shelf"]);
    assert_eq!(listed[1], expected);
    assert_eq!(library.repositories(false).await.unwrap()[1].navigation_guide, None);
    let read = library.read("sHELF", "a.md", None).await.unwrap();
    assert_eq!((read.repository.as_str(), read.text.as_str()), ("shelf", "apples"));
    assert_eq!(library.search("OTHER", "apples", SearchMode::Text, 5).await.unwrap().hits, []);
    assert_eq!(library.state("none").await.unwrap(), None);
    for name in ["", " ", "a\nb"] {
        assert_eq!(library.put_state(&repository(name)).await.unwrap_err().kind, FaultKind::InvalidArguments);
    }
}

pub(crate) async fn removing_a_repository_removes_all_of_it_and_nothing_else<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&engine, &embedder).await;
    put(&library, "other").await;
    let files = || vec![file("a.md", "bread and yeast"), file("b.md", "a machine")];
    add(&library, files()).await;
    library.change("other", vec![file("a.md", "some other bread")], vec![]).await.unwrap();
    super::until_complete(&library).await;
    assert_eq!((embedder.documents(), library.health().await.unwrap().items), (3, 3));
    assert!(library.remove("SHELF").await.unwrap());
    assert!(!library.remove("shelf").await.unwrap());
    for fault in [
        library.search("shelf", "bread", SearchMode::Text, 5).await.unwrap_err(),
        library.heads("shelf").await.unwrap_err(),
        library.change("shelf", files(), vec![]).await.unwrap_err(),
    ] {
        assert_eq!(fault.kind, FaultKind::NotFound, "{fault}");
        assert_eq!(fault.message, "repository 'shelf' not found; nearest: other");
    }
    for mode in [SearchMode::Text, SearchMode::Semantic] {
        assert_eq!(library.search("other", "bread", mode, 5).await.unwrap().hits.len(), 1);
    }
    let health = library.health().await.unwrap();
    assert_eq!((health.repositories, health.items, health.without_vector), (1, 1, 0));
    // A new repository does not reuse the old vectors.
    put(&library, "shelf").await;
    assert_eq!(find(&library, "bread", SearchMode::Semantic).await.hits, []);
    add(&library, files()).await;
    super::until_complete(&library).await;
    assert_eq!(embedder.documents(), 5);
    assert_eq!(paths(&find(&library, "loaf", SearchMode::Semantic).await), ["a.md"]);
}

pub(crate) async fn what_was_stored_is_there_after_a_restart<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    add(&library, vec![file("a.md", "# Fruit\napples\n\n# Bread\nloaves")]).await;
    let state = library.state("shelf").await.unwrap();
    let found = find(&library, "apples", SearchMode::Text).await;
    library.close().await;
    drop(library);
    let library = engine.open_documents(None);
    assert_eq!(library.state("shelf").await.unwrap(), state);
    assert_eq!(find(&library, "apples", SearchMode::Text).await, found);
    assert_eq!(
        library.read("shelf", "a.md", Some(LineRange { first: 4, last: 4 })).await.unwrap().text,
        "# Bread\n"
    );
}

pub(crate) async fn a_change_is_stored_whole_or_not_at_all<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    add(&library, vec![file("kept.md", "kept words")]).await;
    let mut wrong = file("wrong.md", "é");
    wrong.chunks[0].end = 1;
    let files = vec![file("new.md", "new words"), wrong];
    library.change("shelf", files, vec!["kept.md".into()]).await.unwrap_err();
    assert_eq!(names(library.heads("shelf").await.unwrap()), ["kept.md"]);
    assert_eq!(paths(&find(&library, "words", SearchMode::Text).await), ["kept.md"]);
}

pub(crate) async fn paths_and_texts_of_any_kind_come_back_as_they_were<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    let long = "x".repeat(1_000_000);
    let texts = [
        ("it's \"quoted\" 100%_.md", "'; DROP TABLE file; --"),
        ("привет/世界 🙂.txt", "\u{202e}bidi\u{feff} \u{1}\r\n\r\n🙂"),
        ("empty", ""),
        ("long", &long),
        ("-flag", "\n\n\n"),
    ];
    add(&library, texts.iter().map(|(path, text)| file(path, text)).collect()).await;
    for (path, text) in texts {
        let read = library.read("shelf", path, None).await.unwrap();
        assert_eq!((read.path.as_str(), read.text == text), (path, true), "{path}");
    }
    let mut made = file("page.html", "# Title\n## Page 1\nsun\n");
    made.made_from = Some("HTML".into());
    add(&library, vec![made]).await;
    let read = library.read("shelf", "page.html", None).await.unwrap();
    assert_eq!((read.made_from.as_deref(), read.total_tokens), (Some("HTML"), 6));
    let lines = Some(LineRange { first: 3, last: 3 });
    let read = library.read("shelf", "page.html", lines).await.unwrap();
    assert_eq!((read.text.as_str(), read.part.as_deref()), ("sun\n", Some("Page 1")));
}
