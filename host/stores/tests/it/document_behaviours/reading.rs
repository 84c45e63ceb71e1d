//! Reading documents whole and by lines.

use gatehouse_core::{
    outcome::FaultKind,
    ports::{DocumentReader as _, documents::LineRange},
};

use super::{add, file, shelf};
use crate::engines::DocumentFixture;

pub(crate) async fn documents_are_read_whole_and_by_lines<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    let text = "# Fruit\r\napples\n\n# Bread\nloaves";
    add(&library, vec![file("a.md", text), file("empty.md", "")]).await;
    let whole = library.read("shelf", "a.md", None).await.unwrap();
    assert_eq!((whole.text.as_str(), whole.total_lines, whole.total_tokens), (text, 5, 6));
    let read = async |first, last| library.read("shelf", "a.md", Some(LineRange { first, last })).await;
    let part = read(2, 3).await.unwrap();
    assert_eq!(
        (part.text.as_str(), part.lines, part.total_tokens),
        ("apples\n\n", LineRange { first: 2, last: 3 }, 6)
    );
    assert_eq!(read(5, 900).await.unwrap().lines, LineRange { first: 5, last: 5 });
    let fault = read(6, 7).await.unwrap_err();
    assert_eq!((fault.kind, fault.message.contains("has 5 lines")), (FaultKind::InvalidArguments, true));
    assert_eq!(read(0, 1).await.unwrap_err().kind, FaultKind::InvalidArguments);
    assert_eq!(read(3, 2).await.unwrap_err().kind, FaultKind::InvalidArguments);
    assert_eq!(library.read("shelf", "empty.md", None).await.unwrap().total_lines, 0);
}

pub(crate) async fn unknown_repositories_and_paths_are_reported_with_the_nearest<F: DocumentFixture>(
    engine: F,
) {
    let empty = engine.open_documents(None);
    let fault = empty.read("shelf", "a", None).await.unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::NotFound, "repository 'shelf' not found"));
    assert!(fault.hint.unwrap().contains("gatehouse docs add"));
    let library = shelf(&engine).await;
    let fault = library.read("shelv", "a", None).await.unwrap_err();
    assert_eq!(fault.message, "repository 'shelv' not found; nearest: shelf");
    let fault = library.read("shelf", "a.md", None).await.unwrap_err();
    assert_eq!(fault.message, "document 'a.md' not found in repository 'shelf'");
    add(
        &library,
        vec![file("docs/install.md", "x"), file("src/installer.rs", "x"), file("src/main.rs", "x")],
    )
    .await;
    let fault = library.read("SHELF", "install.MD", None).await.unwrap_err();
    let expected =
        "document 'install.MD' not found in repository 'shelf'; nearest: docs/install.md, src/installer.rs";
    assert_eq!((fault.kind, fault.message.starts_with(expected)), (FaultKind::NotFound, true), "{fault}");
}
