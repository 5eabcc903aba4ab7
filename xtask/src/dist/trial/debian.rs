//! The archive, and the packages of Debian and Fedora, in a fresh Debian that has no Rust.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};

use super::{
    Trial,
    place::Place,
    report::{Outcome, missing_for_root, unfetched},
};
use crate::{
    dist::{archive, deb, rpm},
    process,
};

/// Unpacks the archive, uses it, and removes it.
pub(super) fn archive(trial: &Trial<'_>) -> Result<Outcome> {
    in_fresh_root(trial, &[], |root| {
        let before = listing(root)?;
        let folder = format!("/opt/{}", trial.release.name_for(&trial.target.triple));
        let place = Place::root(root, "0:0", &format!("{folder}/mgp"))?;
        let package = trial.release.folder.join(archive::name(trial.release, trial.target));
        process::run_quietly(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(root.join("opt")))?;
        place.works(&trial.release.version)?;
        fs::remove_dir_all(root.join(folder.trim_start_matches('/')))?;
        fs::remove_dir_all(&place.home)?;
        left_nothing(&before, &listing(root)?)
    })
}

/// Installs the package of Debian, uses it, removes and purges it.
pub(super) fn deb(trial: &Trial<'_>) -> Result<Outcome> {
    in_fresh_root(trial, &[], |root| {
        let before = listing(root)?;
        let place = Place::root(root, "0:0", "/usr/bin/mgp")?;
        let name = deb::name(trial.release, trial.target);
        fs::copy(trial.release.folder.join(&name), root.join("mgp.deb"))?;
        let dpkg =
            |arguments: &[&str]| process::run_quietly(&mut place.command(&[&["dpkg"], arguments].concat()));
        dpkg(&["--install", "/mgp.deb"])?;
        let users = fs::read_to_string(root.join("etc/passwd"))?;
        ensure!(users.contains("\nmgp:"), "the package made no user");
        ensure!(root.join("usr/lib/systemd/system/mgp.service").is_file(), "the package brought no service");
        place.works(&trial.release.version)?;
        let configuration = root.join("etc/mgp/mgp.toml");
        fs::write(&configuration, "# changed\n")?;
        fs::create_dir_all(root.join("var/lib/mgp"))?;
        dpkg(&["--remove", &trial.release.names.system])?;
        ensure!(configuration.is_file(), "the configuration went before the purge");
        dpkg(&["--purge", &trial.release.names.system])?;
        fs::remove_file(root.join("mgp.deb"))?;
        fs::remove_dir_all(&place.home)?;
        left_nothing(&before, &listing(root)?)
    })
}

/// Installs the package of Fedora by `rpm`, uses it and removes it.
pub(super) fn rpm(trial: &Trial<'_>) -> Result<Outcome> {
    in_fresh_root(trial, &[("rpm", "rpm")], |root| {
        let before = listing(root)?;
        let place = Place::root(root, "0:0", "/usr/bin/mgp")?;
        let package = trial.release.folder.join(rpm::name(trial.release, trial.target));
        let rpm = |words: &[&str], last: &Path| {
            process::run_quietly(Command::new("rpm").arg("--root").arg(root).args(words).arg(last))
        };
        // The root has no package that rpm knows of, so `/bin/sh` is missing to it.
        rpm(&["--install", "--nodeps"], &package)?;
        ensure!(root.join("usr/lib/systemd/system/mgp.service").is_file(), "the package brought no service");
        place.works(&trial.release.version)?;
        rpm(&["--erase"], Path::new(&trial.release.names.system))?;
        fs::remove_dir_all(&place.home)?;
        let mut after = listing(root)?;
        // There is no purge, so users stay: they may own files elsewhere.
        after.retain(|path, _| ACCOUNTS.iter().all(|account| path != Path::new(account)));
        left_nothing(&before, &after)
    })
}

/// Makes a trial in a root of Debian that nothing was done in: a copy of one that is made once.
fn in_fresh_root(
    trial: &Trial<'_>,
    programs: &[(&str, &str)],
    run: impl FnOnce(&Path) -> Result<Outcome>,
) -> Result<Outcome> {
    if let Some(left_out) = missing_for_root(&[&[MMDEBSTRAP], programs].concat()) {
        return Ok(left_out);
    }
    let made = trial.release.work.join("debian");
    if !made.exists()
        && let Err(error) = make_root(trial, &made)
    {
        return Ok(unfetched("the packages of Debian", &error));
    }
    let root = trial.release.empty("trial/root")?;
    process::run_quietly(Command::new("cp").args(["-a", "--reflink=auto"]).arg(made.join(".")).arg(&root))?;
    run(&root)
}

/// Makes a root of Debian: the whole of it, or nothing.
fn make_root(trial: &Trial<'_>, goal: &Path) -> Result<()> {
    let unfinished = trial.release.empty("debian.part")?;
    let words = ["--quiet", "--variant=minbase", "--include=systemd-standalone-sysusers", "bookworm"];
    process::run_quietly(Command::new("mmdebstrap").args(words).arg(&unfinished))?;
    Ok(fs::rename(unfinished, goal)?)
}

/// Returns the files of a root, and the users and groups; without what package managers note for themselves.
fn listing(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let inner = path.strip_prefix(root)?.to_owned();
            if NOTED.iter().any(|noted| inner.starts_with(noted)) {
                continue;
            }
            let is_account = ACCOUNTS.iter().any(|account| inner == Path::new(account));
            found.insert(inner, if is_account { fs::read_to_string(&path)? } else { String::new() });
            if entry.file_type()?.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

fn left_nothing(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Result<Outcome> {
    let differs = |(path, text): &(&PathBuf, &String)| before.get(*path) != Some(*text);
    let left: Vec<_> = after.iter().filter(differs).map(|(path, _)| path.display().to_string()).collect();
    ensure!(left.is_empty(), "it leaves {}", left.join(", "));
    Ok(Outcome::Passed)
}

const MMDEBSTRAP: (&str, &str) = ("mmdebstrap", "mmdebstrap");
const ACCOUNTS: [&str; 2] = ["etc/passwd", "etc/group"];

/// What package managers and the tools of accounts keep of what was, and where a system is entered.
const NOTED: [&str; 11] = [
    "var/lib/dpkg", "var/lib/rpm", "var/log", "var/cache", "root/.rpmdb", "etc/passwd-", "etc/group-",
    "etc/shadow-", "etc/gshadow-", "dev", "proc",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_named() {
        let of = |paths: &[&str]| paths.iter().map(|path| (PathBuf::from(path), String::new())).collect();
        assert!(left_nothing(&of(&["a"]), &of(&["a"])).is_ok());
        let error = left_nothing(&of(&["a"]), &of(&["a", "var/lib/mgp"])).unwrap_err().to_string();
        assert_eq!(error, "it leaves var/lib/mgp");
    }
}
