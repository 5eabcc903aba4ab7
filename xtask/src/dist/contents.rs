//! The contents of the packages for a target: the programs, what `mgp` writes about itself, and the licences.

use std::{fs, path::Path, process::Command, rc::Rc};

use anyhow::{Context, Result};

use super::{
    linked::LinkedCrates,
    programs::Programs,
    release::Release,
    targets::Target,
    tree::{FileTree, gzip},
};
use crate::{process, workspace::Workspace};

/// The texts that `mgp` writes about itself, which are the same for every target.
#[derive(Debug)]
pub(super) struct OwnTexts {
    pages: FileTree,
    /// The completion scripts, each by the name of the file that its shell looks for.
    completions: FileTree,
    /// The files of the service of the system, each by its name.
    units: FileTree,
}

/// The files of the packages of a target.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) programs: FileTree,
    pub(super) pages: FileTree,
    pub(super) completions: FileTree,
    units: FileTree,
    pub(super) licences: FileTree,
    /// The first configuration, in which every line is a comment.
    pub(super) configuration: Rc<[u8]>,
}

impl OwnTexts {
    /// Has a program that runs here write its texts.
    pub(super) fn of(mgp: &Path, release: &Release) -> Result<Self> {
        let folder = release.empty("texts")?;
        // The user's configuration and environment have no part in them.
        let output = |arguments: &[&str]| {
            let mut mgp = Command::new(mgp);
            process::output(mgp.args(arguments).current_dir(&folder).env_clear().env("HOME", &folder))
        };
        let pages_folder = folder.join("man");
        output(&["man", "--dir", "man", "--json"])?;
        let mut pages = FileTree::default();
        for entry in fs::read_dir(pages_folder)? {
            let path = entry?.path();
            pages.add(name_of(&path), fs::read(&path)?);
        }
        let mut completions = FileTree::default();
        for (shell, file) in SHELLS {
            completions.add(file, output(&["completions", shell])?.into_bytes());
        }
        let mut units = FileTree::default();
        // The program is named as it was started, in quotes.
        let own = std::path::absolute(mgp)?.display().to_string();
        let printed = output(&["service", "install", "--system", "--print"])?.replace(&own, "/usr/bin/mgp");
        for file in printed.split("# /").skip(1) {
            let (path, text) =
                file.split_once('\n').context("`mgp service install --print` names no file")?;
            units.add(name_of(Path::new(path)), text.as_bytes());
        }
        Ok(Self { pages, completions, units })
    }
}

impl Contents {
    pub(super) fn of(
        workspace: &Workspace,
        release: &Release,
        target: &Target,
        programs: &Programs,
        own: &OwnTexts,
    ) -> Result<Self> {
        let linked = LinkedCrates::of(workspace, target)?;
        let mut licences = FileTree::default();
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            licences.add(name, fs::read(workspace.root.join(name))?);
        }
        licences.add("LINKED.txt", linked.licences()?.into_bytes());
        let bill = linked.bill_of_materials(release, target);
        release.write(&format!("{}.cdx.json", release.name_for(&target.triple)), bill.as_bytes())?;
        licences.add(BILL, bill.into_bytes());
        let mut both = FileTree::default();
        both.add_program(format!("mgp{}", target.ending()), programs.mgp.clone());
        both.add_program(format!("mgp-patterns{}", target.ending()), programs.patterns.clone());
        Ok(Self {
            programs: both,
            pages: own.pages.clone(),
            completions: own.completions.clone(),
            units: own.units.clone(),
            licences,
            configuration: fs::read(workspace.root.join("mgp-kernel/src/cli/init.toml"))?.into(),
        })
    }

    /// Returns contents with one small file of each kind.
    #[cfg(test)]
    pub(super) fn sample() -> Self {
        let of = |names: &[&str]| {
            let mut files = FileTree::default();
            for name in names {
                files.add(*name, name.as_bytes());
            }
            files
        };
        let mut programs = FileTree::default();
        programs.add_program("mgp", b"program".as_slice());
        Self {
            programs,
            pages: of(&["mgp.1"]),
            completions: of(&SHELLS.map(|(_, file)| file)),
            units: of(&["mgp.conf", "mgp.service"]),
            licences: of(&["LICENSE-APACHE", "LICENSE-MIT", "LINKED.txt", BILL]),
            configuration: b"# nothing\n".as_slice().into(),
        }
    }

    /// Returns the files as they are installed on a Linux system with systemd, without the completions of zsh: systems have
    /// folders of their own for them.
    pub(super) fn installed(&self, release: &Release) -> Result<FileTree> {
        let mut files = FileTree::default();
        files.add_tree("usr/bin", &self.programs);
        for (page, text) in self.pages.files() {
            files.add(format!("usr/share/man/man1/{page}.gz"), gzip(text, release.compression)?);
        }
        for (name, text) in self.completions.files() {
            let path = match name {
                "mgp.bash" => "usr/share/bash-completion/completions/mgp",
                "mgp.fish" => "usr/share/fish/vendor_completions.d/mgp.fish",
                _ => continue,
            };
            files.add(path, text);
        }
        for (name, text) in self.units.files() {
            let folder = if name == "mgp.conf" { "sysusers.d" } else { "systemd/system" };
            files.add(format!("usr/lib/{folder}/{name}"), text);
        }
        files.add(CONFIGURATION, self.configuration.clone());
        files.add_tree(&format!("usr/share/doc/{}", release.names.system), &self.licences);
        Ok(files)
    }

    /// Returns the completion script of zsh.
    pub(super) fn zsh(&self) -> Result<&[u8]> {
        let (_, text) =
            self.completions.files().find(|(name, _)| *name == ZSH).context("there is none for zsh")?;
        Ok(text)
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Where the configuration of the system's service lies, from the root of the system.
pub(super) const CONFIGURATION: &str = "etc/mgp/mgp.toml";

/// The name of the bill of materials among the licences.
pub(super) const BILL: &str = "mgp.cdx.json";

/// The name of the completion script of zsh.
pub(super) const ZSH: &str = "_mgp";

/// The shells, and the files that have their completion scripts.
const SHELLS: [(&str, &str); 4] =
    [("bash", "mgp.bash"), ("fish", "mgp.fish"), ("powershell", "mgp.ps1"), ("zsh", ZSH)];
