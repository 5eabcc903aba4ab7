//! The locations of configuration files.

use std::path::{Path, PathBuf};

use super::trust::{FolderFile, FolderTrust, TrustedFolders, UntrustedFile};
use crate::secrets::Environment;

/// The locations of configuration files (MGP §15.2): one file that the user named, or the file of a folder and the file
/// of the user. The folder's file counts only if the user trusts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locations {
    folder: Option<PathBuf>,
    /// The file that the user named, or the user's.
    own: Option<PathBuf>,
    /// Set if the user named the file, which has to exist then.
    is_named: bool,
    trusted: Option<TrustedFolders>,
}

impl Locations {
    /// Creates the usual locations: only the file that `$MGP_CONFIG_PATH` names, if it is set; else `mgp.toml` in
    /// `directory`, and `mgp/servers.toml` in `$XDG_CONFIG_HOME`, `~/.config` or `%APPDATA%`. Trusted folders are noted [in the
    /// user's state directory](TrustedFolders::from_env).
    pub fn from_env(environment: &dyn Environment, directory: &Path) -> Self {
        if let Some(file) = environment.variable("MGP_CONFIG_PATH").filter(|file| !file.is_empty()) {
            return Self::only(directory.join(file));
        }
        Self::of_folder(environment, directory)
    }

    /// Creates the same locations as [`from_env`](Self::from_env), without regard to `$MGP_CONFIG_PATH`.
    pub fn of_folder(environment: &dyn Environment, directory: &Path) -> Self {
        let config = environment.own_directory("XDG_CONFIG_HOME", ".config");
        let user = config.map(|config| config.join("servers.toml"));
        let locations = Self::of(Some(directory.join("mgp.toml")), user);
        Self { trusted: TrustedFolders::from_env(environment), ..locations }
    }

    /// Creates the location of this file only, which has to exist.
    pub fn only(file: impl Into<PathBuf>) -> Self {
        Self { folder: None, own: Some(file.into()), is_named: true, trusted: None }
    }

    /// Creates the locations of a folder's file and its user's file, either of which may be missing. No folder is
    /// trusted.
    pub fn of(folder: Option<PathBuf>, user: Option<PathBuf>) -> Self {
        Self { folder, own: user, is_named: false, trusted: None }
    }

    /// Trusts the folders that are noted in `trusted`.
    #[must_use]
    pub fn trusting(self, trusted: TrustedFolders) -> Self {
        Self { trusted: Some(trusted), ..self }
    }

    /// Returns the files, whether they exist or not, that of a folder first.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.folder_file().into_iter().chain(self.own_file())
    }

    /// Returns whether a missing file is an error.
    pub fn required(&self) -> bool {
        self.is_named
    }

    /// Returns the file of a folder, which counts only if it is trusted.
    pub fn folder_file(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the file that counts in any case: the one that the user named, or the user's.
    pub fn own_file(&self) -> Option<&Path> {
        self.own.as_deref()
    }

    /// Returns an `mgp.toml` beside the user's file, where nothing reads it.
    pub(super) fn misnamed(&self) -> Option<PathBuf> {
        let file = self.own_file().filter(|_| !self.required())?.with_file_name("mgp.toml");
        (self.folder.as_ref() != Some(&file) && file.is_file()).then_some(file)
    }

    /// Returns the notes of trusted folders; `None` if there is no home for them.
    pub fn trusted(&self) -> Option<&TrustedFolders> {
        self.trusted.as_ref()
    }

    /// Returns the folder's file, if it exists and is not trusted.
    pub fn untrusted(&self) -> Option<UntrustedFile> {
        self.trusted_file().err()
    }

    /// Returns the folder's file, if it exists, or the notice that it is not trusted.
    pub(super) fn trusted_file(&self) -> Result<Option<FolderFile>, UntrustedFile> {
        let Some(path) = self.folder_file() else { return Ok(None) };
        let file = FolderFile::read(path).map_err(|error| UntrustedFile::unreadable(path, &error))?;
        let untrusted = file.as_ref().and_then(|file| UntrustedFile::of(file, self.trust_of(file)));
        untrusted.map_or(Ok(file), Err)
    }

    /// Returns whether the user trusts this file of a folder.
    pub fn trust_of(&self, file: &FolderFile) -> FolderTrust {
        self.trusted.as_ref().map_or(FolderTrust::Never, |trusted| trusted.trust_of(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(variables: &[(&str, &str)]) -> Vec<PathBuf> {
        let environment = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Locations::from_env(&environment, Path::new("/project"))
            .files()
            .map(Path::to_path_buf)
            .collect::<Vec<_>>()
    }

    // covers: MGP-15.2-02, MGP-15.2-03
    #[test]
    fn the_projects_file_goes_before_the_users() {
        let user = PathBuf::from("/users/u/.config/mgp/servers.toml");
        assert_eq!(at(&[("HOME", "/users/u")]), [PathBuf::from("/project/mgp.toml"), user]);
        assert_eq!(
            at(&[("HOME", "/users/u"), ("XDG_CONFIG_HOME", "/x")])[1],
            Path::new("/x/mgp/servers.toml")
        );
        assert_eq!(
            at(&[]),
            [PathBuf::from("/project/mgp.toml")],
            "without a home there is no file of the user"
        );
    }

    // covers: MGP-15.2-04
    #[test]
    fn a_file_named_in_the_environment_is_the_only_one() {
        assert_eq!(
            at(&[("HOME", "/users/u"), ("MGP_CONFIG_PATH", "/etc/mgp.toml")]),
            [PathBuf::from("/etc/mgp.toml")]
        );
        assert_eq!(at(&[("MGP_CONFIG_PATH", "other.toml")]), [PathBuf::from("/project/other.toml")]);
        assert_eq!(at(&[("MGP_CONFIG_PATH", "")]).len(), 1, "an empty variable says nothing");
    }
}
