//! The files that no command may touch, from the same table as for the validator of paths.

use crate::Finding;
use crate::path::{PathAccess, ProtectedKind, ProtectedPaths};

use super::super::finding::{Danger, refuse};
use super::super::place::Place;

/// The protected files, seen from a directory.
#[derive(Clone, Copy)]
pub(crate) struct Files<'a> {
    pub(crate) protected: &'a ProtectedPaths,
    /// The directory, as far as it is known; empty if no command changed it.
    pub(crate) directory: &'a str,
}

impl Files<'_> {
    /// Returns whether `path` is a file whose contents must stay secret. Devices, processes and lists of accounts are
    /// not included, because they have rules of their own that know what programs do with them.
    pub(super) fn hides(&self, path: &str) -> bool {
        let secret = [
            ProtectedKind::Kernel,
            ProtectedKind::Key,
            ProtectedKind::Secret,
            ProtectedKind::Browser,
            ProtectedKind::History,
            ProtectedKind::Accounts,
        ];
        self.judge(path, PathAccess::Read).is_some_and(|kind| secret.contains(&kind))
    }

    /// Judges writing to `path`.
    pub(super) fn check_write(&self, path: &str) -> Result<(), Finding> {
        let danger = match self.judge(path, PathAccess::Write) {
            Some(ProtectedKind::Kernel) => Danger::Decision,
            // Creating new keys is common. Files that decide who may log in here are refused below.
            Some(ProtectedKind::Key) if !path.contains(".ssh") && !path.contains(".gnupg") => return Ok(()),
            Some(
                ProtectedKind::Key | ProtectedKind::Startup | ProtectedKind::Git | ProtectedKind::Client,
            ) => Danger::Persistence,
            Some(ProtectedKind::Accounts) => Danger::SystemPath,
            Some(ProtectedKind::Socket) => Danger::Privilege,
            // A sample that is copied to `.env` becomes one, and is not read by that.
            Some(ProtectedKind::Secret | ProtectedKind::Browser) if !is_dotenv(path) => Danger::Secret,
            _ => return Ok(()),
        };
        Err(refuse(danger))
    }

    fn judge(&self, path: &str, access: PathAccess) -> Option<ProtectedKind> {
        // Options and longer texts are not paths.
        if path.is_empty()
            || path.starts_with('-')
            || path.contains(['\n', '|', ';', '{', '('])
            || path.contains("://")
        {
            return None;
        }
        let place = Place::new(path, self.directory);
        self.protected.judge(place.as_str(), access).map(|reason| reason.kind)
    }
}

fn is_dotenv(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.split('.').skip(1).any(|part| part == "env"))
}
