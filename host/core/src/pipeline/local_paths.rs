//! Removes the directories of the host from errors for named people, who need not know how its disk is laid out. What
//! remains is the name of the file. The local user sees whole paths.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{Call, CallContext, ContentPart, Fault, Outcome, Principal, SourceId};

/// The directories, each with a final separator, the longest first.
pub struct LocalPaths(Vec<String>);

pub struct LocalPathsStage(Arc<LocalPaths>);

impl LocalPaths {
    /// Ignores relative directories and the root.
    pub fn new<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Arc<Self> {
        let absolute = directories.into_iter().filter(|path| path.is_absolute() && path.parent().is_some());
        let mut directories: Vec<String> = absolute.map(|path| format!("{}/", path.display())).collect();
        directories.sort_by_key(|directory| std::cmp::Reverse(directory.len()));
        Arc::new(Self(directories))
    }

    /// Cleans the fault of a request.
    pub(crate) fn clean_fault(&self, context: &CallContext, mut fault: Fault) -> Fault {
        if matches!(context.principal(), Principal::Named(_)) {
            self.clean(&mut fault.message);
            fault.hint.iter_mut().for_each(|hint| self.clean(hint));
        }
        fault
    }

    fn clean(&self, text: &mut String) {
        for directory in &self.0 {
            let mut from = 0;
            while let Some(found) = text[from..].find(directory) {
                let at = from + found;
                let is_part = |c: char| c.is_alphanumeric() || "/.-_:".contains(c);
                if text[..at].ends_with(is_part) {
                    // The end of another path, or of a URL.
                    from = at + directory.len();
                } else {
                    text.replace_range(at..at + directory.len(), "");
                    from = at;
                }
            }
        }
    }
}

impl LocalPathsStage {
    pub fn new(paths: Arc<LocalPaths>) -> Self {
        Self(paths)
    }
}

#[async_trait]
impl Stage for LocalPathsStage {
    fn applies(&self, call: &Call) -> bool {
        matches!(call.context.principal(), Principal::Named(_))
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let mut reply = next.run(call).await.map_err(|fault| self.0.clean_fault(&context, fault))?;
        // Paths of a server are its own.
        let is_of_gate = context.entry().is_ok_and(|entry| matches!(entry.id.source, SourceId::Gate(_)));
        if reply.is_error && is_of_gate {
            for part in &mut reply.content {
                if let ContentPart::Text(text) = part {
                    self.0.clean(text);
                }
            }
        }
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Caller, Pipeline, Reply,
        testing::{Fixture, context, tool},
    };

    struct Fails(bool);

    const TEXT: &str =
        "/srv/gatehouse/state/kg.db: the disk is full; see /srv/other, /mnt/srv/gatehouse/state/x";

    #[async_trait]
    impl Stage for Fails {
        async fn run(&self, _: &mut Call, _: Next<'_>) -> Outcome {
            match self.0 {
                true => Err(Fault::unavailable(TEXT).hint(TEXT)),
                false => {
                    let content = vec![ContentPart::Text(TEXT.into())];
                    Ok(Reply { is_error: true, content, ..Reply::default() })
                }
            }
        }
    }

    async fn outcome(caller: Arc<Caller>, fails: bool) -> Outcome {
        let source = Fixture::gate("g", vec![tool("look", None)]);
        let mut context = context(Vec::new(), &source, "look").await;
        let directories = ["/srv/gatehouse/state", "/", "state"].map(Path::new);
        let stage = LocalPathsStage::new(LocalPaths::new(directories));
        context.pipeline = Arc::new(Pipeline::new(vec![Arc::new(stage), Arc::new(Fails(fails))]));
        context.caller = caller;
        Call::new(context, json!({})).run().await
    }

    #[tokio::test]
    async fn named_people_see_names_of_files() {
        let short = "kg.db: the disk is full; see /srv/other, /mnt/srv/gatehouse/state/x";
        let ann = || Caller::named("key:ann");
        let fault = outcome(ann(), true).await.expect_err("a fault");
        assert_eq!((&*fault.message, fault.hint.as_deref()), (short, Some(short)));
        let reply = outcome(ann(), false).await.expect("a reply");
        assert_eq!(reply.content, [ContentPart::Text(short.into())]);
        assert_eq!(outcome(Caller::local(), true).await.expect_err("a fault").message, TEXT);
    }
}
