//! Limits that the system sets for memory and address space, read once at the start.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use gatehouse_sandbox::{SystemLimits, format_bytes};

use crate::cli::CommandError;

const MIN_MEMORY: u64 = 128 << 20;

/// Smallest value that means "no limit"; version 1 reports a huge number.
const UNLIMITED: u64 = 1 << 60;

const GROUPS: &str = "/sys/fs/cgroup";

pub(crate) fn read() -> SystemLimits {
    static LIMITS: OnceLock<SystemLimits> = OnceLock::new();
    *LIMITS.get_or_init(|| {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let address_space = rustix::process::getrlimit(rustix::process::Resource::As).current;
        let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine_memory(&text));
        SystemLimits { memory: memory(Path::new(GROUPS), &groups), address_space, machine }
    })
}

/// Refuses to serve if the first calls would exhaust the memory.
pub(crate) fn check(limits: SystemLimits) -> Result<(), CommandError> {
    let Some(memory) = limits.memory else { return Ok(()) };
    let size = format_bytes(memory);
    if memory < MIN_MEMORY {
        bail!(
            "the memory of this process is limited to {size} (by its control group), and a host needs {}. Raise the \
            limit: `--memory` of docker and podman, `MemoryMax` of systemd, `limits.memory` of Kubernetes.",
            format_bytes(MIN_MEMORY)
        );
    }
    tracing::info!("memory is limited to {size}: gates and calls share it");
    Ok(())
}

/// Returns the lowest memory limit of the process's control group and its ancestors.
///
/// `groups` is the content of `/proc/self/cgroup`: a line `number:controllers:path` per hierarchy. The controllers are
/// empty for version 2.
fn memory(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (hierarchy, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        // In a container, the path may be relative to the machine, and only the container's own part exists.
        let around = Path::new(path.trim_start_matches('/')).ancestors();
        let files = around.map(|group| hierarchy.join(group).join(file));
        files.filter_map(|file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()).collect()
    });
    limits.filter(|limit| *limit < UNLIMITED).min()
}

/// Returns the bytes of the machine's memory. `text` is the content of `/proc/meminfo`, in KiB.
fn machine_memory(text: &str) -> Option<u64> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (file, content) in files {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, content).expect("written");
        }
        root
    }

    #[test]
    fn the_lowest_limit_around_the_process_counts() {
        let two = groups(&[
            ("memory.max", "max\n"),
            ("a/memory.max", "209715200\n"),
            ("a/b/memory.max", "536870912\n"),
        ]);
        assert_eq!(memory(two.path(), "0::/a/b\n"), Some(200 << 20));
        assert_eq!(memory(two.path(), "0::/\n"), None, "no limit");
        let container = groups(&[("memory.max", "134217728\n")]);
        assert_eq!(memory(container.path(), "0::/system.slice/docker-1.scope\n"), Some(128 << 20));
    }

    #[test]
    fn control_groups_of_version_1_are_read_too() {
        let one = groups(&[
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/docker/x/memory.limit_in_bytes", "104857600\n"),
            ("cpu/docker/x/memory.limit_in_bytes", "1\n"),
        ]);
        let cgroup_text = "5:cpu:/docker/x\n4:hugetlb,memory:/docker/x\n0::/\n";
        assert_eq!(memory(one.path(), cgroup_text), Some(100 << 20));
        assert_eq!(memory(one.path(), "4:memory:/\n"), None, "no limit");
        assert_eq!(memory(one.path(), ""), None);
    }

    #[test]
    fn the_memory_of_the_machine_is_read_from_meminfo() {
        let text = "MemFree:          100 kB\nMemTotal:       24689520 kB\n";
        assert_eq!(machine_memory(text), Some(24_689_520 << 10));
        for text in ["", "MemTotal:\n", "MemTotal: much kB\n", "MemTotal: 18446744073709551615 kB\n"] {
            assert_eq!(machine_memory(text), None, "{text}");
        }
    }

    #[test]
    fn too_little_memory_is_refused_with_the_limit_to_raise() {
        let limited = |memory| check(SystemLimits { memory, ..SystemLimits::default() });
        assert!(limited(None).is_ok() && limited(Some(MIN_MEMORY)).is_ok());
        let refused = limited(Some(100 << 20)).err().map(|failure| failure.message);
        let refused = refused.expect("refused");
        assert!(refused.starts_with("the memory of this process is limited to 100 MiB"), "{refused}");
        assert!(refused.contains("a host needs 128 MiB") && refused.contains("Raise the limit"), "{refused}");
    }
}
