use std::path::{Path, PathBuf};

use super::environment::Environment;

/// Where configuration may lie (MGP §15.2): one file that somebody named, or that of the project and that of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locations {
    files: Vec<PathBuf>,
    required: bool,
}

impl Locations {
    /// The file that `$MGP_CONFIG_PATH` names and no other, if it is set; else `mgp.toml` in `directory`, and
    /// `mgp/servers.toml` in `$XDG_CONFIG_HOME` or in `~/.config`.
    pub fn from_env(environment: &dyn Environment, directory: &Path) -> Self {
        let set = |name| environment.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = set("MGP_CONFIG_PATH") {
            return Self::only(directory.join(file));
        }
        // The XDG specification has relative paths ignored.
        let config = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let home = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".config"));
        let user = config.or_else(home).map(|config| config.join("mgp").join("servers.toml"));
        Self::of(Some(directory.join("mgp.toml")), user)
    }

    /// This file, which there has to be.
    pub fn only(file: impl Into<PathBuf>) -> Self {
        Self { files: vec![file.into()], required: true }
    }

    /// The file of a project, and that of its user, either of which need not be there.
    pub fn of(project: Option<PathBuf>, user: Option<PathBuf>) -> Self {
        Self { files: project.into_iter().chain(user).collect(), required: false }
    }

    /// The files, the one that wins first, whether they are there or not.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether it is an error if the file is not there.
    pub fn required(&self) -> bool {
        self.required
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(variables: &[(&str, &str)]) -> Vec<PathBuf> {
        let environment = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Locations::from_env(&environment, Path::new("/project")).files().to_vec()
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
