//! In-memory document store and files for tests.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    FaultKind,
    conversion::{ConvertedFile, DocumentFormat, SourceFile},
    outcome::Fault,
    page::MatchQuality,
    ports::{
        DocumentConverter,
        documents::{
            Document, DocumentHit, DocumentReader, DocumentSearchResult, DocumentStore, FileHead, LineRange,
            NewFile, Repository, RepositoryState, SearchMode,
        },
    },
};

use crate::Converter;

/// A converter of `.card` files: upper case, or a fault that the file names.
pub(crate) struct CardConverter;

#[async_trait]
impl DocumentConverter for CardConverter {
    async fn convert(&self, file: SourceFile) -> Result<ConvertedFile, Fault> {
        let text = String::from_utf8_lossy(&file.bytes).to_uppercase();
        match &*text {
            "LOCKED" => Err(Fault::invalid("is protected by a password")),
            "LOOP" => Err(Fault::new(FaultKind::TimedOut, "took gate 'cards' longer than 60 s")),
            "HUGE" => Ok(ConvertedFile { text: "x".repeat(5 << 20), losses: Vec::new() }),
            _ => Ok(ConvertedFile { text, losses: vec!["has 1 picture, which is left out".into()] }),
        }
    }
}

pub(crate) fn cards(digest: &str) -> Converter {
    let endings = vec!["card".to_owned()];
    let format = DocumentFormat { name: "recipe card".into(), endings, media_type: "text/x-card".into() };
    Converter { gate: Arc::new(CardConverter), digest: digest.to_owned(), formats: vec![format] }
}

/// Writes a file below `root`, and creates its directories.
pub(crate) fn put(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("created");
    fs::write(path, text).expect("written");
}

#[derive(Default)]
pub(crate) struct MemoryStore {
    pub(crate) states: Mutex<BTreeMap<String, RepositoryState>>,
    pub(crate) files: Mutex<BTreeMap<String, NewFile>>,
    /// Stored batches. The store fails after `down_after` of them.
    pub(crate) changes: Mutex<usize>,
    pub(crate) down_after: Option<usize>,
}

impl MemoryStore {
    pub(crate) fn texts(&self) -> BTreeMap<String, String> {
        let files = self.files.lock().expect("whole");
        files.iter().map(|(path, file)| (path.clone(), file.text.clone())).collect()
    }

    pub(crate) fn state_of(&self, name: &str) -> RepositoryState {
        self.states.lock().expect("whole")[name].clone()
    }
}

#[async_trait]
impl DocumentReader for MemoryStore {
    async fn repositories(&self, _: bool) -> Result<Vec<Repository>, Fault> {
        Ok(self.states.lock().expect("whole").values().map(|state| state.repository.clone()).collect())
    }

    async fn search(
        &self,
        _: &str,
        query: &str,
        _: SearchMode,
        limit: usize,
    ) -> Result<DocumentSearchResult, Fault> {
        let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let texts = self.texts();
        let found =
            texts.into_iter().filter(|(_, text)| words.iter().all(|word| text.to_lowercase().contains(word)));
        let hit = |path| DocumentHit { path, score: 1.0, fit: MatchQuality::Good, tokens: 1, best: None };
        Ok(DocumentSearchResult {
            hits: found.map(|(path, _)| hit(path)).take(limit).collect(),
            ..DocumentSearchResult::default()
        })
    }

    async fn read(&self, repository: &str, path: &str, _: Option<LineRange>) -> Result<Document, Fault> {
        let text = self.texts().remove(path).ok_or_else(|| Fault::not_found(path))?;
        Ok(Document {
            repository: repository.into(),
            path: path.into(),
            text,
            lines: LineRange { first: 1, last: 1 },
            total_lines: 1,
            total_tokens: 1,
            made_from: None,
            part: None,
        })
    }
}

#[async_trait]
impl DocumentStore for MemoryStore {
    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        Ok(self.states.lock().expect("whole").get(repository).cloned())
    }

    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault> {
        let mut state = state.clone();
        state.repository.file_count = u32::try_from(self.files.lock().expect("whole").len()).expect("few");
        self.states.lock().expect("whole").insert(state.repository.name.clone(), state);
        Ok(())
    }

    async fn heads(&self, _: &str) -> Result<Vec<FileHead>, Fault> {
        Ok(self.files.lock().expect("whole").values().map(|file| file.head.clone()).collect())
    }

    async fn change(&self, _: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault> {
        let mut changes = self.changes.lock().expect("whole");
        if self.down_after.is_some_and(|most| *changes >= most) {
            return Err(Fault::unavailable("The store is down."));
        }
        *changes += 1;
        let mut files = self.files.lock().expect("whole");
        put.into_iter().for_each(|file| drop(files.insert(file.head.path.clone(), file)));
        remove.iter().for_each(|path| drop(files.remove(path)));
        Ok(())
    }

    async fn remove(&self, repository: &str) -> Result<bool, Fault> {
        self.files.lock().expect("whole").clear();
        Ok(self.states.lock().expect("whole").remove(repository).is_some())
    }

    async fn wait_for_vectors(&self, _: Duration) -> bool {
        true
    }
}
