//! The rules about files: those that no command may touch, from the same table as for the validator of paths, those that
//! hold passwords, keys and tokens, and writing to disks, to the system, and to files that run later.

use crate::Finding;
use crate::path::{PathAccess, ProtectedKind, ProtectedPaths};
use crate::shell::syntax::Body;

use super::super::{
    Arg, Danger, Facts, HOLE, Kind, Marks, Place, Reading, RuleEffect, Trait, holds_listed, is_fitted,
    refuse, refuse_if, rules,
};
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
    fn hides(&self, path: &str) -> bool {
        use ProtectedKind::{Accounts, Browser, History, Kernel, Key, Secret};
        let secret = [Kernel, Key, Secret, Browser, History, Accounts];
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
pub(super) fn check_written(call: &Call<'_>, reading: Option<&Reading<'_>>) -> Result<(), Finding> {
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

/// Judges a redirection from `target`.
pub(in super::super) fn check_input(target: &Arg, files: &Files<'_>, body: &Body) -> Result<(), Finding> {
    refuse_if(is_network_device(&target.text), Danger::ReverseShell)?;
    refuse_if(kernel::is_own_file(&target.text), Danger::Decision)?;
    let place = Place::new(&target.text, files.directory);
    refuse_if(place.is_secret() || files.hides(&target.text), Danger::Secret)?;
    // `cat` with a redirection is a disguise here; the usual way is `cat file`.
    let only_cat =
        matches!(body, Body::Simple(simple) if simple.words.len() == 1 && simple.source.starts_with("cat"));
    refuse_if(only_cat && place.as_str().starts_with("/etc/"), Danger::Obfuscation)
}

pub(super) fn check_secrets(call: &Call<'_>, reading: Option<&Reading<'_>>) -> Result<(), Finding> {
    if call.program == "scp" && call.operands().count() < 2 {
        return Ok(());
    }
    let shows = reading.is_some_and(|reading| reading.program.has(Trait::Shows));
    let reads = reading.is_some_and(|reading| {
        let kinds = [reading.facts.first, reading.facts.every, reading.facts.last];
        kinds.contains(&Some(Kind::File))
            || reading.program.has(Trait::Client)
            || reading.facts.last == Some(Kind::Out)
    });
    for arg in candidates(call, reading) {
        let is_hidden =
            arg.marks.has(Marks::CRAFTED) && (arg.text.contains(HOLE) || arg.text.starts_with('/')) && shows;
        refuse_if(is_hidden, Danger::Undecidable)?;
        refuse_if(reads && arg.marks.has(Marks::SENSITIVE) && arg.text.contains(HOLE), Danger::Secret)?;
        if is_key_option(call, &arg.text) {
            continue;
        }
        let hidden = |piece: &str| {
            let place = call.place(piece);
            let is_pattern = arg.marks.has(Marks::PATTERN);
            place.is_secret() || if is_pattern { may_be_secret(&place) } else { call.files.hides(piece) }
        };
        refuse_if(pieces(&arg.text).any(hidden), Danger::Secret)?;
    }
    Ok(())
}

/// Returns the arguments whose files a program may show: all arguments of an unknown program, and for other programs
/// those that the table does not know as something else.
fn candidates<'a>(call: &Call<'a>, reading: Option<&'a Reading<'a>>) -> Vec<&'a Arg> {
    let Some(reading) = reading else { return call.args.iter().collect() };
    let looks = |facts: &Facts| facts.has(Trait::Looks) || facts.has(Trait::Texts);
    if looks(reading.facts) || looks(reading.program) && !reading.program.has(Trait::Shows) {
        return Vec::new();
    }
    let read = |kind: Option<Kind>| {
        matches!(kind, None | Some(Kind::File | Kind::Script | Kind::Library | Kind::Setting | Kind::Escapes))
    };
    let operands = reading.kinds().filter(|(_, kind)| read(*kind)).map(|(arg, _)| arg);
    let values = reading.given.iter().filter(|given| read(Some(given.kind))).map(|given| &given.value);
    let sent = reading.program.has(Trait::Client);
    // Data that is sent may be a file, `@file`, whatever the option is for.
    let sent = reading.given.iter().filter(move |given| sent && given.value.text.contains('@'));
    let values = values.chain(reading.others.iter().copied());
    operands.chain(values).chain(sent.map(|given| &given.value)).collect()
}

/// Returns the parts of an argument that may be a path: the whole argument, and the parts after `=`, `:`, `@` or a
/// comma.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() > 1);
    let attached = short.and_then(|rest| rest.get(1..)).into_iter();
    std::iter::once(text).chain(text.split(['=', ':', '@', ','])).chain(attached)
}

/// Returns whether the file is the value of an option that uses it without showing it: a key in the working directory,
/// as in `--ssl-keyfile key.pem`, or the key that a program logs in with.
fn is_key_option(call: &Call<'_>, text: &str) -> bool {
    let names_key = |option: &str| {
        let option = option.trim_start_matches('-').to_ascii_lowercase();
        holds_listed("key-options", &option)
    };
    if let Some((option, value)) = text.split_once('=') {
        return option.starts_with('-') && names_key(option) && !value.starts_with(['/', '~', '.']);
    }
    let logs_in = matches!(call.program, "scp" | "rsync" | "sftp" | "curl" | "openssl");
    let short = |option: &str| matches!(option, "-i" | "-E" | "-e" | "-sign");
    call.args.windows(2).any(|two| {
        let option = two[0].text.as_str();
        two[1].text == text
            && option.starts_with('-')
            && (names_key(option) && (logs_in || !text.starts_with(['/', '~'])) || logs_in && short(option))
    })
}

/// Returns whether the place is a pattern that matches a secret file.
fn may_be_secret(place: &Place) -> bool {
    let pattern = place.as_str();
    // A pattern that matches many other files as well does not indicate this one.
    let letters = |part: &str| part.chars().filter(char::is_ascii_alphabetic).count();
    let specific = pattern.rsplit('/').next().is_some_and(|name| name == "shadow" || letters(name) >= 2);
    (specific && pattern.starts_with(['/', '~'])) && is_fitted("shown-secrets", pattern)
}
