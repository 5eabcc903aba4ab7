//! The path of this program.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns the path by which this program was called, or found in `PATH`: a link that leads to the installed version stays
/// a link, so that whoever keeps the path finds the next version, too.
///
/// # Errors
/// The system does not tell where the program lies.
pub(super) fn called_as() -> std::io::Result<PathBuf> {
    let own = env::current_exe()?;
    let name = env::args_os().next().unwrap_or_default();
    Ok(found(&name, env::var_os("PATH").as_deref(), &own).unwrap_or(own))
}

/// Returns the path that `name` stands for, if it leads to the program `own`.
fn found(name: &OsStr, path: Option<&OsStr>, own: &Path) -> Option<PathBuf> {
    let is_own = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|found| found == own);
    if Path::new(name).components().count() > 1 {
        return std::path::absolute(name).ok().filter(is_own);
    }
    env::split_paths(path?).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_program_stays_a_link_and_another_program_of_the_name_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        for dir in ["1.0", "bin", "other"] {
            std::fs::create_dir(root.join(dir)).unwrap();
        }
        let own = root.join("1.0/mgp");
        std::fs::write(&own, "").unwrap();
        std::fs::write(root.join("other/mgp"), "").unwrap();
        std::os::unix::fs::symlink(&own, root.join("bin/mgp")).unwrap();
        let path = env::join_paths([root.join("other"), root.join("bin")]).unwrap();
        let found = |name: &Path| found(name.as_os_str(), Some(&path), &own);
        assert_eq!(found(Path::new("mgp")), Some(root.join("bin/mgp")));
        assert_eq!(found(&root.join("bin/mgp")), Some(root.join("bin/mgp")));
        assert_eq!(found(&root.join("other/mgp")), None);
        assert_eq!(found(Path::new("other")), None);
    }
}
