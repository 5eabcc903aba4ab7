//! The operating system's facts about this process and its children.

use std::fs;

/// The resources that this process holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) descriptors: usize,
    pub(crate) resident_pages: usize,
}

impl Held {
    pub(crate) fn now() -> Self {
        let statm = fs::read_to_string("/proc/self/statm").unwrap();
        Self {
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            resident_pages: statm.split(' ').nth(1).unwrap().parse().unwrap(),
        }
    }
}

/// Returns the group of a process; `None` if there is no such process.
pub(crate) fn group_of(pid: u32) -> Option<u32> {
    Some(stat(pid)?.group)
}

/// Returns the children of this process, and the processes in one of `groups`. Those that nobody has waited for count,
/// too.
pub(crate) fn left_behind(groups: &[u32]) -> Vec<u32> {
    let own = std::process::id();
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| stat(pid).is_some_and(|stat| stat.parent == own || groups.contains(&stat.group)))
        .collect()
}

/// Kills a process, or with it all of its group.
pub(crate) fn kill(pid: u32, whole_group: bool) {
    let target = match group_of(pid) {
        Some(group) if whole_group => format!("-{group}"),
        _ => pid.to_string(),
    };
    // It may have been killed before.
    let _ = std::process::Command::new("/bin/sh")
        .args(["-c", "kill -s KILL -- \"$1\" 2>/dev/null", "sh", &target])
        .status();
}

struct Stat {
    parent: u32,
    group: u32,
}

fn stat(pid: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(1).map(|field| field.parse().ok());
    Some(Stat { parent: fields.next()??, group: fields.next()?? })
}
