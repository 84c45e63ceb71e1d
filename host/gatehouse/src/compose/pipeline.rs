//! The pipeline of this host, outermost stage first, and workflow marks as files. `presets.toml` lists the allowed
//! directories for marks; links cannot escape them.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ledger_observer::LedgerObserver,
    names::quoted,
    pipeline::{
        AdmitStage, ApprovalQueue, ApproveStage, AuditStage, CallCounter, CallLog, CallObserver,
        CompactStage, ConformStage, ConvertStage, DeadlineStage, LocalPaths, LocalPathsStage, ObserveStage,
        PermitStage, Pipeline, QuotaStage, RescueStage, RespondStage, SpliceStage, ValidateStage,
        WorkflowStage,
    },
    ports::{Clock as _, WorkflowMarks},
};

use super::{Composition, SystemClock};

/// Kind of unauthenticated callers.
pub(crate) enum AnonymousCallers {
    /// Clients of this host. Each host process has its own.
    HostClients,
    /// Shell commands, which are the same caller in every process.
    Commands,
}

impl AnonymousCallers {
    /// Returns the number that identifies these callers across hosts.
    fn number(&self) -> u64 {
        match self {
            Self::HostClients => (SystemClock.now_ms() << 22) | u64::from(std::process::id()),
            Self::Commands => 0,
        }
    }
}

impl Composition {
    /// Creates the pipeline that every call passes. [`gatehouse_core::pipeline`] explains the order.
    /// Calls that need an approval wait in `queue`, once it is open.
    pub(crate) fn stages(&self, callers: &AnonymousCallers, queue: Arc<ApprovalQueue>) -> Pipeline {
        let ledger = self.stores.ledger.clone().map(|ledger| {
            let observer = LedgerObserver::new(ledger, Arc::new(SystemClock), callers.number());
            Box::new(observer) as Box<dyn CallObserver>
        });
        let always: [Box<dyn CallObserver>; 2] = [Box::new(CallLog), Box::new(CallCounter)];
        let observers = always.into_iter().chain(ledger).collect();
        let audit = self.stores.audit_log();
        let marks = Arc::new(FileMarks);
        let paths = LocalPaths::new([&*self.config.state]);
        Pipeline::new(vec![
            Arc::new(LocalPathsStage::new(Arc::clone(&paths))),
            Arc::new(RespondStage),
            Arc::new(ConvertStage),
            Arc::new(ObserveStage::new(observers, self.config.ledger.bodies)),
            Arc::new(AuditStage::new(audit, self.config.audit.reads)),
            Arc::new(QuotaStage::new(Arc::clone(&self.stores.quotas))),
            Arc::new(AdmitStage),
            Arc::new(DeadlineStage),
            Arc::new(SpliceStage::new(Arc::clone(&self.stores.artifacts) as _)),
            Arc::new(ValidateStage),
            Arc::new(PermitStage),
            Arc::new(WorkflowStage::new(marks)),
            Arc::new(ApproveStage::new(queue)),
            Arc::new(CompactStage::default()),
            Arc::new(RescueStage),
            Arc::new(ConformStage),
        ])
        .with_quotas(Arc::clone(&self.stores.quotas))
        .with_local_paths(paths)
    }
}

struct FileMarks;

#[async_trait]
impl WorkflowMarks for FileMarks {
    async fn project(&self, origin: &str, root: &str, allowed: &[PathBuf]) -> Result<PathBuf, Fault> {
        let (origin, root, allowed) = (origin.to_owned(), root.to_owned(), allowed.to_vec());
        blocking(move || project(&origin, &root, &allowed)).await
    }

    async fn exists(&self, project: &Path, file: &str) -> Result<bool, Fault> {
        let path = project.join(file);
        blocking(move || match fs::symlink_metadata(&path) {
            Ok(about) => Ok(about.is_file()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Fault::unavailable(format!("{}: {error}", path.display()))),
        })
        .await
    }

    async fn create(&self, project: &Path, file: &str) -> Result<(), Fault> {
        let path = project.join(file);
        blocking(move || make(&path)).await
    }
}

fn project(origin: &str, root: &str, allowed: &[PathBuf]) -> Result<PathBuf, Fault> {
    let display_root = quoted(root, 200);
    if !Path::new(root).is_absolute() {
        return Err(Fault::invalid(format!("{origin} '{display_root}' is not absolute")));
    }
    let real = Path::new(root)
        .canonicalize()
        .map_err(|error| Fault::invalid(format!("{origin} '{display_root}' cannot be used: {error}")))?;
    if !real.is_dir() {
        return Err(Fault::invalid(format!("{origin} '{display_root}' is not a directory")));
    }
    if !allowed
        .iter()
        .filter_map(|allowed_root| allowed_root.canonicalize().ok())
        .any(|allowed_root| real.starts_with(allowed_root))
    {
        return Err(Fault::denied(format!("{origin} '{display_root}' is not in any root of the workflow"))
            .hint("Add its directory to `roots` of the workflow in presets.toml."));
    }
    Ok(real)
}

fn make(path: &Path) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::unavailable(format!("{}: {error}", path.display()));
    // `create_new` does not follow an existing link.
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            writeln!(file, "{at}").map_err(failed)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let plain = fs::symlink_metadata(path).map_err(failed)?.is_file();
            if plain {
                Ok(())
            } else {
                Err(Fault::unavailable(format!("{}: exists and is not a regular file", path.display())))
            }
        }
        Err(error) => Err(failed(error)),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Fault::internal(error.to_string())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[tokio::test]
    async fn projects_stay_in_the_roots_despite_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        for made in [&inside.join("project"), &outside] {
            fs::create_dir_all(made).expect("made");
        }
        symlink(&outside, inside.join("link")).expect("linked");
        fs::write(inside.join("file"), "").expect("written");
        let allowed = [inside.clone()];
        let project = |path: PathBuf| {
            let allowed = allowed.clone();
            async move { FileMarks.project("context.project_root", &path.display().to_string(), &allowed).await }
        };
        let real = project(inside.join("project")).await.expect("allowed");
        assert!(project(inside.join("project/../project")).await.is_ok_and(|same| same == real));
        for (path, reason) in [
            (outside.clone(), "not in any root of the workflow"),
            (inside.join("link"), "not in any root of the workflow"),
            (inside.join("../outside"), "not in any root of the workflow"),
            (inside.join("nowhere"), "cannot be used"),
            (inside.join("file"), "is not a directory"),
            (PathBuf::from("inside"), "is not absolute"),
        ] {
            let fault = project(path.clone()).await.expect_err("refused");
            assert!(fault.message.contains(reason), "{}: {fault}", path.display());
        }
        let marks = FileMarks;
        assert!(!marks.exists(&real, ".w-done").await.expect("looked"));
        marks.create(&real, ".w-done").await.expect("made");
        marks.create(&real, ".w-done").await.expect("it is there");
        assert!(marks.exists(&real, ".w-done").await.expect("looked"));
        // A link is not a mark, and nothing is written through it.
        symlink(outside.join("victim"), real.join(".w-planted")).expect("linked");
        assert!(!marks.exists(&real, ".w-planted").await.expect("looked"));
        assert!(marks.create(&real, ".w-planted").await.is_err());
        assert!(!outside.join("victim").exists());
    }
}
