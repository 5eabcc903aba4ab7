//! The confinement of a server's program, worked out from its configuration and its permissions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use mgp_discovery::config::model::ServerConfig;
use mgp_security::path::{PathAccess as FileUse, ProtectedPaths};
use mgp_security::permission::GrantTerms;
use mgp_types::mgp::Permission;

use super::program::{NAME_SERVICE, ProgramSearch, SETTINGS, SYSTEM, known};
use super::spec::{Confinement, PathAccess, Ports};
use crate::platform;
use crate::platform::program_files::{is_program_file, words_of};
use crate::settings::paths::expanded;

/// A program that is to be confined, and the facts that its confinement follows from.
pub(crate) struct Confined<'a> {
    pub(crate) config: &'a ServerConfig,
    pub(crate) command: &'a str,
    pub(crate) args: &'a [&'a str],
    /// The working directory of the program.
    pub(crate) folder: &'a Path,
    /// The folders in which programs are looked for, as in `PATH`.
    pub(crate) path: &'a str,
    /// The permissions that the server has now.
    pub(crate) granted: &'a [(Permission, GrantTerms)],
    /// The folders that the program may write to as its own.
    pub(crate) own_folders: [&'a Path; 2],
    /// The files and folders of its clients and of its entry that it may change; `None` if only what is named for its
    /// confinement is open to it.
    pub(crate) folders: Option<&'a [PathBuf]>,
    /// True if the system makes views for programs.
    pub(crate) has_views: bool,
    /// The folder that holds the code of the program, if the kernel keeps a copy of it.
    pub(crate) code: Option<&'a Path>,
    /// The files and folders of the kernel, which nobody else may touch.
    pub(crate) own: &'a [PathBuf],
    pub(crate) home: Option<&'a Path>,
}

/// Returns the file of a program and its confinement.
///
/// # Errors
/// Fails if there is no such program, or if it would get what is the kernel's own.
pub(crate) fn opened(confined: &Confined<'_>) -> Result<(PathBuf, Confinement), String> {
    let home = confined.home.map(real);
    let search = ProgramSearch { path: confined.path, folder: confined.folder, home: home.as_deref() };
    let program = search
        .program(confined.command)
        .ok_or_else(|| format!("there is no program `{}`", confined.command))?;
    let own = confined.own.iter().map(|path| real(path)).collect();
    let programs = known(SYSTEM).iter().map(PathBuf::from).chain(search.folders());
    let programs = programs.filter_map(|folder| folder.canonicalize().ok()).collect();
    let to =
        Confinement { has_view: confined.has_views && confined.folders.is_some(), ..Confinement::default() };
    let mut to = ConfinementBuilder { to, own, programs, home: home.clone() };
    let system = known(SYSTEM).iter().map(PathBuf::from).chain(of_interpreters());
    for path in system.chain(search.parts(&program)) {
        to.open(&path, PathAccess::Read, &[])?;
    }
    for device in known("empty devices") {
        to.to.open(device, PathAccess::Device);
    }
    match confined.code {
        Some(folder) => to.to.open(folder, PathAccess::Read),
        None => {
            if let Some(script) = search.script(confined.args) {
                to.open(&script, PathAccess::Read, &[])?;
            }
        }
    }
    // A folder that the operator configures as the server's working directory is the server's own to read.
    if let Some(folder) = confined.config.cwd.as_ref().map(|_| real(confined.folder))
        && !search.is_shared(&folder)
    {
        to.open(&folder, PathAccess::Read, &[])?;
    }
    for folder in confined.own_folders {
        to.to.open(folder, PathAccess::Write);
    }
    if let Some(folders) = confined.folders {
        // The programs of `PATH` find the rest of themselves beside their folder.
        let programs = search.folders().filter_map(|folder| folder.canonicalize().ok());
        let programs =
            programs.flat_map(|folder| [search.installation(&folder.join("program")), Some(folder)]);
        to.open_system(programs.flatten());
        // A shell or another program starts them.
        for word in confined.args.iter().flat_map(|arg| words_of(arg)) {
            let file = confined.folder.join(word);
            if is_program_file(&file) {
                let script = search.script(&[word]);
                for part in search.parts(&file).into_iter().chain(script) {
                    to.try_open(&part, PathAccess::Read);
                }
            }
        }
        for folder in folders {
            to.open_folder(folder);
        }
    }
    for (permission, terms) in confined.granted {
        to.grant(permission, terms, home.as_deref())?;
    }
    to.configured(confined.config, home.as_deref())?;
    if to.to.has_network() {
        for path in known("names of hosts") {
            to.to.open(path, PathAccess::Read);
        }
        if matches!(to.to.connect, Ports::Only(_)) {
            to.to.connect.add(&[NAME_SERVICE]);
        }
    }
    Ok((program, to.to))
}

/// Returns the settings of interpreters, to which links of their libraries lead.
fn of_interpreters() -> impl Iterator<Item = PathBuf> {
    let entries = Path::new(SETTINGS).read_dir().into_iter().flatten().flatten();
    let is_known = |name: &str| known("interpreters").iter().any(|begin| name.starts_with(begin));
    entries.filter(move |entry| entry.file_name().to_str().is_some_and(is_known)).map(|entry| entry.path())
}

struct ConfinementBuilder {
    to: Confinement,
    own: Vec<PathBuf>,
    /// The folders of programs and libraries, which no server may change.
    programs: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl ConfinementBuilder {
    /// Opens the files and ports of a permission, as far as its scope can be held: whole trees, and ports.
    fn grant(
        &mut self,
        permission: &Permission,
        terms: &GrantTerms,
        home: Option<&Path>,
    ) -> Result<(), String> {
        let scope = terms.scope.as_deref();
        let access = match permission {
            Permission::FilesystemRead => PathAccess::Read,
            Permission::FilesystemWrite => PathAccess::Write,
            Permission::NetworkOutbound | Permission::NetworkListen => {
                let Confinement { connect, listen, .. } = &mut self.to;
                let side = if *permission == Permission::NetworkOutbound { connect } else { listen };
                match scope.map(|scope| &scope.ports).filter(|ports| !ports.is_empty()) {
                    Some(ports) => side.add(ports),
                    None => *side = Ports::All,
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let denied = scope.map(|scope| scope.deny_paths.as_slice()).unwrap_or_default();
        // What a permission for files opens are files: devices and the system's views of processes are none.
        let mut closed: Vec<PathBuf> = known("no files").iter().map(PathBuf::from).collect();
        for pattern in denied {
            let Some(path) = tree(pattern, home) else {
                tracing::warn!(%permission, pattern, "a confined server is given no files: no folder is denied by this pattern");
                return Ok(());
            };
            closed.push(real(&path));
        }
        let Some(patterns) = scope.map(|scope| &scope.paths).filter(|paths| !paths.is_empty()) else {
            self.to.change_modes |= access == PathAccess::Write && denied.is_empty();
            return self.open(Path::new("/"), access, &closed);
        };
        for pattern in patterns {
            if let Some(path) = tree(pattern, home) {
                self.open(&path, access, &closed)?;
            } else {
                tracing::warn!(%permission, pattern, "nothing is opened to a confined server: no folder is meant by this pattern");
            }
        }
        Ok(())
    }

    /// Opens what belongs to the system and to no program alone, the programs of `PATH`, and the network.
    fn open_system(&mut self, programs: impl Iterator<Item = PathBuf>) {
        for folder in known("system beside").iter().map(Path::new) {
            self.to.open(folder, PathAccess::List);
            for entry in entries(folder).into_iter().filter(|entry| is_for_all(entry)) {
                let inner = entries(&entry);
                // What not everybody may read is a secret of the system; it lies at most one folder further down.
                if inner.iter().all(|path| is_for_all(path)) {
                    self.try_open(&entry, PathAccess::Read);
                } else {
                    for path in inner.iter().filter(|path| is_for_all(path)) {
                        self.try_open(path, PathAccess::Read);
                    }
                }
            }
        }
        for folder in programs {
            self.try_open(&folder, PathAccess::Read);
        }
        (self.to.connect, self.to.listen) = (Ports::All, Ports::All);
        self.to.change_modes = self.to.has_view;
        // Landlock keeps the memory, variables and files of other processes; without a namespace, root would have the rest.
        if self.to.has_view {
            for path in known("processes") {
                self.to.open(path, PathAccess::Read);
            }
        }
    }

    /// Opens a file or folder for changes, apart from the settings in it that other programs follow.
    fn open_folder(&mut self, path: &Path) {
        let path = real(path);
        if is_protected(&ProtectedPaths::default(), &path, FileUse::Write) {
            // The entry names it, as it names the file of a key.
            self.try_open(&path, PathAccess::Read);
            return;
        }
        if !self.to.has_view || self.own.iter().any(|own| own.is_dir() && own.starts_with(&path)) {
            self.try_open(&path, PathAccess::Write);
            return;
        }
        let is_programs = |folder: &PathBuf| path.starts_with(folder);
        if self.own.iter().any(is_programs) || self.programs.iter().any(is_programs) {
            tracing::debug!(path = %path.display(), "a folder is not opened to a server for writing");
            return;
        }
        let within = self.own.iter().chain(&self.programs).filter(|inner| inner.starts_with(&path));
        self.to.read_only.extend(within.cloned());
        self.to.read_only.extend(settings_in(&path));
        self.to.open(path, PathAccess::Write);
    }

    /// Opens a path unless it cannot be opened to any server.
    fn try_open(&mut self, path: &Path, access: PathAccess) {
        if let Err(why) = self.open(path, access, &[]) {
            tracing::debug!(path = %path.display(), why, "a path is not opened to a server");
        }
    }

    fn configured(&mut self, config: &ServerConfig, home: Option<&Path>) -> Result<(), String> {
        let Some(extra) = &config.confinement else { return Ok(()) };
        for (paths, access) in [(&extra.read, PathAccess::Read), (&extra.write, PathAccess::Write)] {
            for path in paths {
                self.open(&expanded(path, home), access, &[])?;
            }
        }
        self.to.change_modes |= extra.change_modes;
        self.to.unix_sockets |= extra.unix_sockets;
        self.to.connect.add(&extra.connect);
        self.to.listen.add(&extra.listen);
        Ok(())
    }

    /// Opens a path, apart from the `closed` paths below it, the kernel's own, and for writing also those from which other
    /// programs start: their folders, and the hidden files of the home unless one of them is named.
    fn open(&mut self, path: &Path, access: PathAccess, closed: &[PathBuf]) -> Result<(), String> {
        let path = real(path);
        let mut closed = closed.to_vec();
        if access == PathAccess::Write {
            if let Some(folder) = self.programs.iter().find(|folder| path.starts_with(folder)) {
                return Err(format!("programs start from {}, which no server may change", folder.display()));
            }
            closed.extend(self.programs.iter().cloned());
            closed.extend(
                self.home.iter().filter(|home| home.starts_with(&path)).flat_map(|home| hidden(home)),
            );
        }
        self.open_without(&path, access, &closed)
    }

    /// Opens a path, apart from the `closed` paths below it and the kernel's own.
    ///
    /// The system can open a folder with all that is below it and cannot close a part of it again; so if a folder holds
    /// something closed, its other entries are opened, one by one, as they are now.
    fn open_without(&mut self, path: &Path, access: PathAccess, closed: &[PathBuf]) -> Result<(), String> {
        if self.own.iter().any(|own| path.starts_with(own)) {
            return Err(format!("{} is the kernel's own and opened to no server", path.display()));
        }
        if closed.iter().any(|closed| path.starts_with(closed)) {
            return Ok(());
        }
        if !self.own.iter().chain(closed).any(|inner| inner.starts_with(path)) {
            self.to.open(path, access);
            return Ok(());
        }
        self.to.open(path, PathAccess::List);
        let Ok(entries) = path.read_dir() else { return Ok(()) };
        for entry in entries.flatten() {
            let inner = entry.path();
            // The target of a link is opened under its own name, or not at all.
            let is_closed = self.own.iter().chain(closed).any(|closed| inner.starts_with(closed));
            if !is_closed && !inner.is_symlink() {
                self.open_without(&inner, access, closed)?;
            }
        }
        Ok(())
    }
}

/// Returns the settings in a folder that other programs follow: of its repository, of editors, and of agents.
fn settings_in(folder: &Path) -> Vec<PathBuf> {
    let protected = ProtectedPaths::default();
    let is_hidden =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let there = entries(folder);
    let inner =
        there.iter().filter(|path| is_hidden(path)).flat_map(|path| entries(path)).collect::<Vec<_>>();
    there.into_iter().chain(inner).filter(|path| is_protected(&protected, path, FileUse::Write)).collect()
}

/// Returns whether every account of the machine may read a file or folder.
fn is_for_all(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| platform::is_readable_by_all(&found))
}

fn is_protected(protected: &ProtectedPaths, path: &Path, to: FileUse) -> bool {
    path.to_str().is_none_or(|path| protected.check(path, to).is_err())
}

/// Returns the paths in a folder; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Returns the files and folders of a home that hold settings, caches and programs.
fn hidden(home: &Path) -> Vec<PathBuf> {
    let entries = home.read_dir().into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_hidden = |name: &OsString| {
        name.to_str().is_none_or(|name| name.starts_with('.') || known("shared in a home").contains(&name))
    };
    entries.filter(is_hidden).map(|name| home.join(name)).collect()
}

/// Returns the folder or file that a pattern of a scope is about, if it is one with all that is below it.
fn tree(pattern: &str, home: Option<&Path>) -> Option<PathBuf> {
    let pattern = pattern.strip_suffix("/**").or_else(|| pattern.strip_suffix("/*")).unwrap_or(pattern);
    let path = expanded(if pattern.is_empty() { "/" } else { pattern }, home);
    (path.is_absolute() && !pattern.contains(['*', '?', '[', '\\'])).then_some(path)
}

/// Returns the path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real(folder).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests;
