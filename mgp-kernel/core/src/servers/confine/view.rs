//! The view of the file system that a confined program has: in a mount namespace, only what is open to it for writing can be
//! changed.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

use super::spec::{Confinement, PathAccess};

/// Gives this process, which must have a single thread, a view in which nothing but the open paths of `to` can be changed,
/// and of those not what is read-only.
///
/// # Errors
/// Fails if the system makes no such namespaces for this user.
pub(super) fn enter(to: &Confinement) -> io::Result<()> {
    let folder = std::env::current_dir()?;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    #[expect(deprecated, reason = "its successor is unsafe for tables of files, which stay shared here")]
    rustix::thread::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    // A process may map its group only once it can no longer change its groups.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let open: Vec<&Path> = to
        .paths
        .iter()
        .filter(|opened| opened.access == PathAccess::Write && opened.path.exists())
        .map(|opened| opened.path.as_path())
        .collect();
    for path in &open {
        mount_bind_recursive(*path, *path)?;
    }
    let kept: Vec<&Path> = to.read_only.iter().map(PathBuf::as_path).filter(|path| path.exists()).collect();
    for path in &kept {
        // A folder that is no mount point could be moved away with what is kept in it, and another one put there.
        let above: Vec<_> = path.ancestors().skip(1).take_while(|above| !open.contains(above)).collect();
        for above in above.into_iter().rev().filter(|above| open.iter().any(|open| above.starts_with(open))) {
            mount_bind_recursive(above, above)?;
        }
        mount_bind(*path, *path)?;
    }
    let is_in = |paths: &[&Path], point: &Path| paths.iter().any(|path| point.starts_with(path));
    for (point, flags) in mounts()? {
        if is_in(&open, &point) && !is_in(&kept, &point) {
            continue;
        }
        match mount_remount(&point, flags | MountFlags::BIND | MountFlags::RDONLY, "") {
            // Another mount lies over it, so that nobody can reach it.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT | Errno::ACCESS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The folder from before lies in the mount below.
    std::env::set_current_dir(folder)
}

/// Returns the mount points of this process and the flags of each that a further mount has to keep.
fn mounts() -> io::Result<Vec<(PathBuf, MountFlags)>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let lines = table.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(mount).collect())
}

/// Reads a line of the table of mounts.
fn mount(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut columns = line.split(|byte| *byte == b' ').skip(POINT);
    let (point, options) = (columns.next()?, columns.next()?);
    let flag = |option: &[u8]| match option {
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"noatime" => MountFlags::NOATIME,
        b"nodiratime" => MountFlags::NODIRATIME,
        b"relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    };
    let flags = options.split(|byte| *byte == b',').map(flag).collect();
    Some((PathBuf::from(std::ffi::OsString::from_vec(unescaped(point))), flags))
}

/// Returns the text with the octal escapes for blanks and backslashes resolved.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    plain
}

/// The column of the mount point in the table of mounts.
const POINT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_keeps_its_flags_and_its_name_with_blanks() {
        let line = b"36 35 98:0 /root /mnt/my\\040disk rw,nosuid,relatime shared:1 - ext4 /dev/sda1 rw";
        let (point, flags) = mount(line).unwrap();
        assert_eq!(point, Path::new("/mnt/my disk"));
        assert_eq!(flags, MountFlags::NOSUID | MountFlags::RELATIME);
        assert_eq!(mount(b""), None);
    }
}
