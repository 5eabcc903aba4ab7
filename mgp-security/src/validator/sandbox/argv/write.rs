//! The rules about writing: to disks, to files of the system, and to files that run later.

use crate::Finding;

use super::super::finding::{Danger, refuse_if};
use super::super::known::{Kind, Reading, RuleEffect, rules};
use super::super::place::Place;
use super::super::value::Arg;
use super::{Call, Files, is_network_device, kernel};

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
