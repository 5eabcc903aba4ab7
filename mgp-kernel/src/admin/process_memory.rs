//! The memory of servers' programs, with all processes that they have started.

use std::collections::HashMap;

/// The processes of the system, by process group. Only Linux shows them.
#[derive(Debug, Default)]
pub(super) struct ProcessGroups {
    members: HashMap<u32, Vec<u32>>,
    groups: HashMap<u32, u32>,
}

impl ProcessGroups {
    pub(super) fn read() -> Self {
        let mut all = Self::default();
        let Ok(processes) = std::fs::read_dir("/proc") else { return all };
        for process in processes.flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let stat = std::fs::read(process.path().join("stat")).unwrap_or_default();
            let Some(group) = group(&String::from_utf8_lossy(&stat)) else { continue };
            all.groups.insert(pid, group);
            all.members.entry(group).or_default().push(pid);
        }
        all
    }

    /// Returns the resident memory of this process and all others of its group, in bytes; `None` if the system does not
    /// show it.
    pub(super) fn memory(&self, pid: u32) -> Option<u64> {
        let members = self.members.get(self.groups.get(&pid)?)?;
        let resident = |pid: &u32| {
            let status = std::fs::read(format!("/proc/{pid}/status")).ok()?;
            resident(&String::from_utf8_lossy(&status))
        };
        members.iter().filter_map(resident).reduce(u64::saturating_add)
    }
}

/// Returns the process group in a line of `/proc/PID/stat`. The name stands in parentheses and may itself contain some.
fn group(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    // The state is the third field of the line, and the first after the name.
    rest.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// Returns the resident memory in the text of `/proc/PID/status`, in bytes.
fn resident(status: &str) -> Option<u64> {
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim();
    kibibytes.strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_memory_are_read_from_what_the_system_writes() {
        assert_eq!(group("7 (a (b) c) S 1 42 7 0 -1"), Some(42));
        assert_eq!(group("7 (a) S 1"), None);
        assert_eq!(resident("Name:\tx\nVmRSS:\t    1234 kB\n"), Some(1234 << 10));
        assert_eq!(resident("Name:\tkthreadd\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory() {
        assert!(ProcessGroups::read().memory(std::process::id()).unwrap() > 1 << 20);
    }
}
