//! Removes the directories of the host from errors for named people, who need not know how its disk is laid out. What
//! remains is the name of the file. The local user sees whole paths.

use std::path::Path;

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{Call, ContentPart, Outcome, Principal};

pub struct LocalPathsStage {
    /// Directories, each with a final separator, the longest first.
    directories: Vec<String>,
}

impl LocalPathsStage {
    /// Ignores relative directories and the root.
    pub fn new<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Self {
        let absolute = directories.into_iter().filter(|path| path.is_absolute() && path.parent().is_some());
        let mut directories: Vec<String> = absolute.map(|path| format!("{}/", path.display())).collect();
        directories.sort_by_key(|directory| std::cmp::Reverse(directory.len()));
        Self { directories }
    }

    fn clean(&self, text: &mut String) {
        for directory in &self.directories {
            if text.contains(directory) {
                *text = text.replace(directory, "");
            }
        }
    }
}

#[async_trait]
impl Stage for LocalPathsStage {
    fn applies(&self, call: &Call) -> bool {
        matches!(call.context.principal(), Principal::Named(_))
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        match next.run(call).await {
            Ok(mut reply) if reply.is_error => {
                for part in &mut reply.content {
                    if let ContentPart::Text(text) = part {
                        self.clean(text);
                    }
                }
                Ok(reply)
            }
            Ok(reply) => Ok(reply),
            Err(mut fault) => {
                self.clean(&mut fault.message);
                if let Some(hint) = &mut fault.hint {
                    self.clean(hint);
                }
                Err(fault)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{
        Caller, Fault, Pipeline, Reply,
        testing::{Fixture, context, tool},
    };

    struct Fails(bool);

    const TEXT: &str =
        "/srv/gatehouse/state/kg.db: the disk is full; see /srv/gatehouse/presets.toml and /srv/other";

    #[async_trait]
    impl Stage for Fails {
        async fn run(&self, _: &mut Call, _: Next<'_>) -> Outcome {
            match self.0 {
                true => Err(Fault::unavailable(TEXT).hint(TEXT)),
                false => Ok(Reply {
                    is_error: true,
                    content: vec![ContentPart::Text(TEXT.into())],
                    ..Reply::default()
                }),
            }
        }
    }

    async fn outcome(caller: Arc<Caller>, fails: bool) -> Outcome {
        let source = Fixture::gate("g", vec![tool("look", None)]);
        let mut context = context(Vec::new(), &source, "look").await;
        let directories = ["/srv/gatehouse", "/srv/gatehouse/state", "/", "state"].map(Path::new);
        let stages: Vec<Arc<dyn Stage>> =
            vec![Arc::new(LocalPathsStage::new(directories)), Arc::new(Fails(fails))];
        context.pipeline = Arc::new(Pipeline::new(stages));
        context.caller = caller;
        Call::new(context, json!({})).run().await
    }

    #[tokio::test]
    async fn named_people_see_names_of_files() {
        let short = "kg.db: the disk is full; see presets.toml and /srv/other";
        let ann = || Caller::named("key:ann");
        let fault = outcome(ann(), true).await.expect_err("a fault");
        assert_eq!((&*fault.message, fault.hint.as_deref()), (short, Some(short)));
        let reply = outcome(ann(), false).await.expect("a reply");
        assert_eq!(reply.content, [ContentPart::Text(short.into())]);
        assert_eq!(outcome(Caller::local(), true).await.expect_err("a fault").message, TEXT);
    }
}
