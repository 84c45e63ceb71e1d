//! `wasi:filesystem` with guards: opens only files and folders, limits nesting, charges host memory to the budget, and
//! blocks only the gate's own threads.

use std::{path::PathBuf, sync::Arc};

use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::{
    filesystem::{Descriptor, WasiFilesystemCtxView},
    p2::{
        DynInputStream, DynOutputStream, FsError, FsResult,
        bindings::filesystem::types::{self, DescriptorType, ErrorCode},
    },
};

use super::{BudgetExceeded, FileThreads, ResourceLedger, ThreadedStream, tree, within};

pub(crate) struct GuardedFilesystem<'a> {
    pub(crate) inner: WasiFilesystemCtxView<'a>,
    pub(crate) guard: &'a mut FileGuard,
    pub(crate) ledger: &'a mut ResourceLedger,
}

/// Marks [`GuardedFilesystem`] for the linker.
pub(crate) struct HasGuardedFilesystem;

impl HasData for HasGuardedFilesystem {
    type Data<'a> = GuardedFilesystem<'a>;
}

pub(crate) struct FileGuard {
    pub(crate) gate: Arc<str>,
    pub(crate) threads: Arc<FileThreads>,
    pub(crate) roots: Vec<PathBuf>,
    /// True once a refusal has been logged.
    pub(crate) warned: bool,
}

impl FileGuard {
    fn refuse(&mut self, path: &str, reason: &str) {
        if !self.warned {
            self.warned = true;
            let path = gatehouse_core::names::quoted(path, 200);
            tracing::warn!(target: "gate", gate = &*self.gate, path, "refused an operation in a folder of the gate: {reason}");
        }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> FsResult<T> {
        self.threads.run(work).await.map_err(FsError::from)
    }
}

type Fd = Resource<Descriptor>;
type DirectoryStream = Resource<types::DirectoryEntryStream>;
type Result<T> = wasmtime::Result<T>;

fn budget_error(error: BudgetExceeded) -> FsError {
    FsError::trap(wasmtime::Error::new(error))
}

fn reborrow<T: 'static>(resource: &Resource<T>) -> Resource<T> {
    Resource::new_borrow(resource.rep())
}

/// Calls wasmtime's function on the gate's threads.
macro_rules! pass_on {
    ($guarded:ident.$name:ident($($argument:expr),*)) => {{
        let threads = $guarded.guard.threads.handle()?.clone();
        within(&threads, types::HostDescriptor::$name(&mut $guarded.inner, $($argument),*)).await
    }};
}

/// Functions that are passed through, on the gate's threads.
macro_rules! on_threads {
    ($($name:ident($($argument:ident: $type:ty),*) -> $out:ty;)*) => {
        $(async fn $name(&mut self, $($argument: $type),*) -> $out {
            pass_on!(self.$name($($argument),*))
        })*
    };
}

impl GuardedFilesystem<'_> {
    fn folder(&self, fd: &Fd) -> FsResult<Arc<std::fs::File>> {
        match self.inner.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(Arc::clone(&dir.dir)),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Opens the parent folder of a path and returns it with the last component. `None` if there is only one component.
    async fn parent(&mut self, fd: &Fd, path: &str) -> FsResult<(Option<Fd>, String)> {
        let path = path.trim_end_matches('/');
        let Some((parent, name)) = path.rsplit_once('/') else { return Ok((None, path.to_owned())) };
        let (follow, folder) = (types::PathFlags::SYMLINK_FOLLOW, types::OpenFlags::DIRECTORY);
        let read = types::DescriptorFlags::READ;
        // An absolute path stays absolute, so that opening it fails.
        let parent = if parent.is_empty() { "/" } else { parent };
        let opened =
            types::HostDescriptor::open_at(self, reborrow(fd), follow, parent.to_owned(), folder, read)
                .await?;
        Ok((Some(opened), name.to_owned()))
    }

    /// Checks the depth of a new entry in this folder that has `below` levels of folders itself.
    async fn check_depth(&mut self, fd: &Fd, below: usize, path: &str) -> FsResult<()> {
        let (folder, roots) = (self.folder(fd)?, self.guard.roots.clone());
        let depth = self.guard.run(move || tree::depth(&folder, &roots)).await?;
        if depth + 1 + below > tree::MAX_DEPTH {
            let max_depth = tree::MAX_DEPTH;
            self.guard.refuse(path, &format!("folders can be nested at most {max_depth} deep"));
            return Err(ErrorCode::NameTooLong.into());
        }
        Ok(())
    }

    /// Returns the levels of folders at a path, including itself; 0 if it is not a folder.
    async fn tree_height(&mut self, fd: &Fd, path: &str) -> FsResult<usize> {
        let as_it_is = types::PathFlags::empty();
        let stat = self.stat_at(reborrow(fd), as_it_is, path.to_owned()).await?;
        if stat.type_ != DescriptorType::Directory {
            return Ok(0);
        }
        let (open, read) = (types::OpenFlags::DIRECTORY, types::DescriptorFlags::READ);
        let opened = self.open_at(reborrow(fd), as_it_is, path.to_owned(), open, read).await?;
        let folder = self.folder(&opened)?;
        self.close(Some(opened))?;
        let tree = self.guard.run(move || tree::count_in(&folder, crate::folders::MAX_ENTRIES)).await?;
        Ok(1 + tree.depth)
    }

    fn close(&mut self, fd: Option<Fd>) -> FsResult<()> {
        if let Some(fd) = fd {
            self.inner.table.delete(fd)?;
        }
        Ok(())
    }

    /// Moves a stream to the gate's threads. `boxed` converts it to the table's type.
    fn on_threads<S: Send + 'static>(
        &mut self,
        stream: Resource<S>,
        boxed: fn(ThreadedStream<S>) -> S,
    ) -> FsResult<Resource<S>> {
        let (stream, threads) = (self.inner.table.delete(stream)?, self.guard.threads.handle()?);
        let stream = ThreadedStream::new(stream, threads, self.ledger.reserve()).map_err(budget_error)?;
        Ok(self.inner.table.push(boxed(stream))?)
    }
}

use types::HostDescriptor as _;

impl types::Host for GuardedFilesystem<'_> {
    fn convert_error_code(&mut self, error: FsError) -> Result<ErrorCode> {
        types::Host::convert_error_code(&mut self.inner, error)
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> Result<Option<ErrorCode>> {
        types::Host::filesystem_error_code(&mut self.inner, error)
    }
}

impl types::HostDescriptor for GuardedFilesystem<'_> {
    on_threads! {
        advise(fd: Fd, offset: u64, length: u64, advice: types::Advice) -> FsResult<()>;
        sync_data(fd: Fd) -> FsResult<()>;
        get_flags(fd: Fd) -> FsResult<types::DescriptorFlags>;
        get_type(fd: Fd) -> FsResult<DescriptorType>;
        set_size(fd: Fd, size: u64) -> FsResult<()>;
        set_times(fd: Fd, read: types::NewTimestamp, written: types::NewTimestamp) -> FsResult<()>;
        read(fd: Fd, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)>;
        write(fd: Fd, bytes: Vec<u8>, offset: u64) -> FsResult<u64>;
        sync(fd: Fd) -> FsResult<()>;
        stat(fd: Fd) -> FsResult<types::DescriptorStat>;
        stat_at(fd: Fd, flags: types::PathFlags, path: String) -> FsResult<types::DescriptorStat>;
        set_times_at(fd: Fd, flags: types::PathFlags, path: String, read: types::NewTimestamp, written: types::NewTimestamp) -> FsResult<()>;
        link_at(fd: Fd, flags: types::PathFlags, path: String, to: Fd, to_path: String) -> FsResult<()>;
        readlink_at(fd: Fd, path: String) -> FsResult<String>;
        remove_directory_at(fd: Fd, path: String) -> FsResult<()>;
        symlink_at(fd: Fd, target: String, path: String) -> FsResult<()>;
        unlink_file_at(fd: Fd, path: String) -> FsResult<()>;
        is_same_object(one: Fd, other: Fd) -> Result<bool>;
        metadata_hash(fd: Fd) -> FsResult<types::MetadataHashValue>;
        metadata_hash_at(fd: Fd, flags: types::PathFlags, path: String) -> FsResult<types::MetadataHashValue>;
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: types::PathFlags,
        path: String,
        how: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> FsResult<Fd> {
        // Opening a pipe blocks, and opening a device can have side effects, so check the type first. The gate itself
        // can create neither.
        let stat = self.stat_at(reborrow(&fd), path_flags, path.clone()).await;
        let kind = stat.map_or(DescriptorType::RegularFile, |stat| stat.type_);
        if !matches!(
            kind,
            DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink
        ) {
            self.guard.refuse(&path, "not a file or folder");
            return Err(ErrorCode::NotPermitted.into());
        }
        pass_on!(self.open_at(fd, path_flags, path, how, flags))
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let (parent, name) = self.parent(&fd, &path).await?;
        let within_it = reborrow(parent.as_ref().unwrap_or(&fd));
        let created = async {
            self.check_depth(&within_it, 0, &path).await?;
            pass_on!(self.create_directory_at(within_it, name))
        };
        let created = created.await;
        self.close(parent)?;
        created
    }

    async fn rename_at(&mut self, fd: Fd, path: String, to: Fd, to_path: String) -> FsResult<()> {
        let height = self.tree_height(&fd, &path).await?;
        if height == 0 {
            return pass_on!(self.rename_at(fd, path, to, to_path));
        }
        let (parent, name) = self.parent(&to, &to_path).await?;
        let within_it = reborrow(parent.as_ref().unwrap_or(&to));
        let moved = async {
            self.check_depth(&within_it, height - 1, &to_path).await?;
            pass_on!(self.rename_at(fd, path, within_it, name))
        };
        let moved = moved.await;
        self.close(parent)?;
        moved
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<DirectoryStream> {
        // wasmtime reads the whole listing into memory and holds it until the guest drops it.
        let (folder, most) = (self.folder(&fd)?, crate::limits::HOST_MEMORY);
        let bytes = self.guard.run(move || tree::listing(&folder, most)).await?;
        let mut held = self.ledger.reserve();
        if !held.take(bytes) {
            return Err(budget_error(BudgetExceeded));
        }
        let listing = pass_on!(self.read_directory(fd))?;
        self.ledger.hand_over(Some(held), listing.rep());
        Ok(listing)
    }

    fn read_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynInputStream>> {
        let stream = types::HostDescriptor::read_via_stream(&mut self.inner, fd, offset)?;
        self.on_threads(stream, |stream| Box::new(stream))
    }

    fn write_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynOutputStream>> {
        let stream = types::HostDescriptor::write_via_stream(&mut self.inner, fd, offset)?;
        self.on_threads(stream, |stream| Box::new(stream))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        let stream = types::HostDescriptor::append_via_stream(&mut self.inner, fd)?;
        self.on_threads(stream, |stream| Box::new(stream))
    }

    fn drop(&mut self, fd: Fd) -> Result<()> {
        types::HostDescriptor::drop(&mut self.inner, fd)
    }
}

impl types::HostDirectoryEntryStream for GuardedFilesystem<'_> {
    async fn read_directory_entry(
        &mut self,
        listing: DirectoryStream,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        types::HostDirectoryEntryStream::read_directory_entry(&mut self.inner, listing).await
    }

    fn drop(&mut self, listing: DirectoryStream) -> Result<()> {
        self.ledger.release(listing.rep());
        types::HostDirectoryEntryStream::drop(&mut self.inner, listing)
    }
}
