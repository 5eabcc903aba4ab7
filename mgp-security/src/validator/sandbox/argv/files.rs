//! The files that no command may touch, as the validators of paths know them.

use crate::Finding;
use crate::validator::path::{Kind, PathAccess, Protected};

use super::super::finding::{
    REFUSE_DECISION, REFUSE_PRIVILEGE, REFUSE_RUNS_LATER, REFUSE_SECRET, REFUSE_SYSTEM_PATH, refuse,
};
use super::super::place::Place;

/// The protected files, seen from a directory.
#[derive(Clone, Copy)]
pub(in super::super) struct Files<'a> {
    pub(in super::super) protected: &'a Protected,
    pub(in super::super) directory: &'a str,
}

impl Files<'_> {
    /// Whether `path` is a file whose contents nobody should see. Devices, processes and lists of accounts have rules of
    /// their own, which know what programs do with them.
    pub(super) fn hides(&self, path: &str) -> bool {
        let secret = [Kind::Kernel, Kind::Key, Kind::Secret, Kind::Browser, Kind::History, Kind::Accounts];
        self.judge(path, PathAccess::Read).is_some_and(|kind| secret.contains(&kind))
    }

    /// Judges writing `path`.
    pub(super) fn check_write(&self, path: &str) -> Result<(), Finding> {
        let danger = match self.judge(path, PathAccess::Write) {
            Some(Kind::Kernel) => REFUSE_DECISION,
            // New keys are made every day; who may log in here is something else.
            Some(Kind::Key) if !path.contains(".ssh") && !path.contains(".gnupg") => return Ok(()),
            Some(Kind::Key | Kind::Startup | Kind::Git | Kind::Client) => REFUSE_RUNS_LATER,
            Some(Kind::Accounts) => REFUSE_SYSTEM_PATH,
            Some(Kind::Socket) => REFUSE_PRIVILEGE,
            // A sample that is copied to `.env` becomes one, and is not read.
            Some(Kind::Secret | Kind::Browser) if !is_dotenv(path) => REFUSE_SECRET,
            _ => return Ok(()),
        };
        Err(refuse(danger))
    }

    fn judge(&self, path: &str, access: PathAccess) -> Option<Kind> {
        // Neither an option nor a text is a path.
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
