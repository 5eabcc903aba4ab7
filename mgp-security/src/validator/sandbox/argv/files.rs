//! The rules about files: those that no command may touch, from the same table as for the validator of paths, and those
//! that a command writes to.

use crate::Finding;
use crate::validator::path::{PathAccess, ProtectedKind, ProtectedPaths};

use super::super::finding::{Danger, refuse, refuse_if};
use super::super::known::{Kind, Reading, RuleEffect, rules};
use super::super::place::Place;
use super::super::value::Arg;
use super::{Call, is_network_device, kernel};

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
    fn check_write(&self, path: &str) -> Result<(), Finding> {
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

/// Judges a redirection into `target`.
pub(in super::super) fn check_output(target: &Arg, files: &Files<'_>) -> Result<(), Finding> {
    refuse_if(is_network_device(&target.text), Danger::ReverseShell)?;
    written(&target.text, files)
}

/// Judges the files that `call` writes to: those of the table, and all operands by a rule.
pub(super) fn check(call: &Call<'_>, reading: Option<&Reading<'_>>) -> Result<(), Finding> {
    let mut targets: Vec<&str> = Vec::new();
    if let Some(reading) = reading {
        let directory = reading.given.iter().any(|given| matches!(given.name, "-t" | "--target-directory"));
        let operands = reading.kinds().filter(|(_, kind)| *kind == Some(Kind::Out) && !directory);
        let values = reading.values(Kind::Out).chain(reading.values(Kind::Pipe));
        targets.extend(values.chain(operands.map(|(arg, _)| arg)).map(|arg| arg.text.as_str()));
    }
    if rules(call).any(|effect| matches!(effect, RuleEffect::Writes)) {
        targets.extend(call.operands().map(|arg| arg.text.as_str()));
    }
    // A remote target is not a file of this machine.
    let remote =
        |path: &&str| path.split_once(':').is_some_and(|(host, _)| host.len() > 1 && !host.contains('/'));
    targets.into_iter().filter(|path| !remote(path)).try_for_each(|path| written(path, &call.files))
}

fn written(path: &str, files: &Files<'_>) -> Result<(), Finding> {
    let place = Place::new(path, files.directory);
    refuse_if(kernel::is_own_file(path), Danger::Decision)?;
    refuse_if(place.is_device(), Danger::Device)?;
    refuse_if(place.runs_later() || place.shadows_program(), Danger::Persistence)?;
    refuse_if(place.is_trail(), Danger::LogWiping)?;
    refuse_if(place.is_system(), Danger::SystemPath)?;
    files.check_write(path)
}
