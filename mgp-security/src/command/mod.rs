//! The judgement of shell commands (MGP §4.5, `sandbox`), by what is known rather than by what is feared.
//!
//! | verdict | about |
//! |---|---|
//! | refused | what no command may do, by the table `never.txt`, and files that no call may touch |
//! | known | each program of a plain line is in the table `commands.txt`, and its files are in open folders |
//! | unknown | everything else: a person is asked |
//!
//! Nothing is run, looked up or read: the verdict is a function of the text and of the folders of the client.

mod never;
mod plain;
mod table;
#[cfg(test)]
mod tests;
mod word;

use std::borrow::Cow;
use std::path::Path;

use mgp_types::ClientFolders;
use mgp_types::mgp::{CallEffect, UnknownCommand};

use self::plain::{NotPlain, PlainCommand, PlainWord, WriteMode, plain_commands};
pub(crate) use self::table::Deed;
use self::table::KnownCommand;
pub(crate) use self::word::{check_word, is_more_than_data};
use crate::Finding;
use crate::network::{host_of, is_metadata};
use crate::path::{PathAccess, ProtectedKind, ProtectedPaths, ROOT_FOLDERS, is_run_later, may_be_there};
use crate::text;

/// The additional protections that apply to command lines.
#[derive(Debug, Clone, Default)]
pub struct CommandPolicy {
    protected: ProtectedPaths,
}

impl CommandPolicy {
    mgp_types::setters! { self =>
        /// Keeps commands away from the files of `protected`, in addition to those that are known by their names.
        pub fn with_protected(protected: ProtectedPaths) => self.protected = protected;
    }
}

/// Checks a command line that a shell is going to run.
///
/// The finding names the class of what no command may do, such as `recursive-delete`, `download-and-run` or
/// `reverse-shell`, and the way to avoid it. A line that passes may be one that nobody knows.
pub fn check_command(command: &str, policy: &CommandPolicy) -> Result<(), Finding> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(Finding::new(
            "too-complex",
            "the command is too long: write a script, and run it by its name",
        ));
    }
    for reading in readings(command) {
        text::check(&reading)
            .map_err(|_| Finding::new("invisible-character", "leave out characters that cannot be seen"))?;
        let commands = plain_commands(&reading);
        if let Ok(commands) = &commands {
            never::check(&shown(commands))?;
        } else {
            never::check(&reading)?;
            never::check(&reading.replace(['\'', '"', '\\'], ""))?;
        }
        let is_between = |sign: char| sign.is_whitespace() || "'\"`;|&<>(){}=,".contains(sign);
        if reading.split(is_between).any(is_metadata_address) {
            return Err(Finding::new("cloud-metadata", "do not ask for the credentials of this machine"));
        }
        check_files(&reading, commands.as_deref().ok(), policy)?;
    }
    Ok(())
}

/// Returns the line as it is written, and as it reads where its signs only look like those of a shell.
fn readings(line: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let is_dash = |sign| matches!(sign, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}');
    let folded = text::fold(line);
    let folded = if folded.contains(is_dash) { Cow::Owned(folded.replace(is_dash, "-")) } else { folded };
    let other = Some(folded).filter(|folded| folded != line);
    std::iter::once(Cow::Borrowed(line)).chain(other)
}

/// Returns plain commands as one text. What a known program gets in quotes is a text for people.
fn shown(commands: &[PlainCommand]) -> String {
    let shown = commands.iter().map(|command| {
        let name = program(&command.words[0].text);
        let is_known = KnownCommand::has(name) && !RUNS_ANYTHING.contains(&name);
        let words = command.words.iter().map(|word| &*word.text);
        let words = words.filter(|word| !is_known || !word.contains(char::is_whitespace));
        let written = command.writes.iter().map(|(file, _)| format!("> {}", file.text));
        words.map(str::to_owned).chain(written).collect::<Vec<_>>().join(" ")
    });
    shown.collect::<Vec<_>>().join(" | ")
}

/// Returns whether a word is the address of a metadata service, or a URL there.
fn is_metadata_address(word: &str) -> bool {
    is_metadata(host_of(word.split_once("://").map_or(word, |(_, rest)| rest)))
}

/// Checks that a line touches no file of the kernel, and that no program that is known to show, copy or change files is given
/// one that no call may touch. About every other program a person is asked, who sees the file.
fn check_files(line: &str, commands: Option<&[PlainCommand]>, policy: &CommandPolicy) -> Result<(), Finding> {
    let check = |text: &str, access, kinds: &[ProtectedKind]| {
        // A pattern may mean anything, and a person sees it.
        let names = parts(text).filter(|part| !part.contains(['*', '?', '[']));
        let mut found = names.filter_map(|part| policy.protected.judge(part, access));
        let refused = found.find(|reason| kinds.contains(&reason.kind));
        refused.map_or(Ok(()), |reason| Err(Finding::from(reason)))
    };
    let is_between = |sign: char| sign.is_whitespace() || "'\"`;|&<>(){}".contains(sign);
    // A plain word is the name of no file of the kernel.
    let placed = line.split(is_between).filter(|token| token.contains(['/', '\\', '.', '~', '$', '%', ':']));
    placed.into_iter().try_for_each(|token| check(token, PathAccess::Read, &[ProtectedKind::Kernel]))?;
    for command in commands.into_iter().flatten() {
        let (access, kinds) = match KnownCommand::of(&command.words).map(|known| known.deed) {
            Some(Deed::Reads) => (PathAccess::Read, &SECRETS[..]),
            Some(Deed::Makes | Deed::Destroys) => (PathAccess::Write, &UNWRITTEN[..]),
            _ => (PathAccess::Read, &[][..]),
        };
        let placed = command.words[1..].iter().chain(&command.reads).filter(|word| is_placed(&word.text));
        placed.into_iter().try_for_each(|word| check(&word.text, access, kinds))?;
        command.writes.iter().try_for_each(|(file, _)| check(&file.text, PathAccess::Write, &UNWRITTEN))?;
    }
    Ok(())
}

/// Returns whether a word says in which folder a file is. About a secret of the open folder, such as `.env`, a person is asked.
fn is_placed(word: &str) -> bool {
    word.contains('/') || word.starts_with(['~', '$'])
}

/// The kinds of files that are shown and copied to nobody.
const SECRETS: [ProtectedKind; 6] = [
    ProtectedKind::Kernel,
    ProtectedKind::Key,
    ProtectedKind::Secret,
    ProtectedKind::History,
    ProtectedKind::Browser,
    ProtectedKind::Accounts,
];

/// The kinds of files that are not written.
const UNWRITTEN: [ProtectedKind; 6] = [
    ProtectedKind::Kernel,
    ProtectedKind::Key,
    ProtectedKind::Startup,
    ProtectedKind::Git,
    ProtectedKind::Client,
    ProtectedKind::Accounts,
];

/// The verdict on a line that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandVerdict {
    /// The effect of running the line.
    pub(crate) effect: CallEffect,
    /// The worst of its commands, if all are known.
    pub(crate) deed: Option<Deed>,
    /// The first thing that is not known.
    pub(crate) unknown: Option<UnknownCommand>,
}

impl CommandVerdict {
    /// Judges a line that runs for a client with these folders.
    pub(crate) fn of(line: &str, folders: Option<&ClientFolders>) -> Self {
        Self::of_read(plain_commands(line), folders)
    }

    /// Judges a program with its arguments, which no shell reads.
    pub(crate) fn of_words(words: &[String], folders: Option<&ClientFolders>) -> Self {
        let words: Vec<_> =
            words.iter().map(|word| PlainWord { text: word.clone(), ..PlainWord::default() }).collect();
        let command = PlainCommand { words, ..PlainCommand::default() };
        Self::of_read(if command.words.is_empty() { Err("no command") } else { Ok(vec![command]) }, folders)
    }

    /// Returns the verdict on settings beside a command, such as its environment, which may have it run anything.
    pub(crate) fn of_settings(name: &str) -> Self {
        Self::unknown(unknown(format!("runs with `{name}`, which mgp does not judge"), Vec::new()), None)
    }

    /// Returns the verdict on what has no bounds, such as code or the input of a program.
    pub(crate) fn of_code() -> Self {
        Self::of_read(Err("code, which mgp does not judge"), None)
    }

    fn of_read(commands: Result<Vec<PlainCommand>, NotPlain>, folders: Option<&ClientFolders>) -> Self {
        let judged: Vec<_> = match commands {
            Err(why) => vec![Self::unknown(unknown(format!("has {why}"), Vec::new()), None)],
            Ok(commands) => {
                let place = Place { folders, is_temporary: commands.iter().any(goes_to_temporary) };
                commands.iter().map(|command| judge(command, place)).collect()
            }
        };
        let unknowns = judged.iter().filter(|verdict| verdict.unknown.is_some()).count();
        let known = Self { effect: CallEffect::Reads, deed: Some(Deed::Names), unknown: None };
        let mut whole = judged.into_iter().fold(known, |whole, one| Self {
            effect: whole.effect.max(one.effect),
            deed: whole.deed.zip(one.deed).map(|(whole, one)| whole.max(one)),
            unknown: whole.unknown.or(one.unknown),
        });
        // A rule for one of several would let the others pass.
        if let Some(unknown) = whole.unknown.as_mut().filter(|_| unknowns > 1) {
            unknown.prefixes.clear();
        }
        whole
    }

    fn unknown(unknown: UnknownCommand, deed: Option<Deed>) -> Self {
        Self { effect: CallEffect::RunsUnknown, deed, unknown: Some(unknown) }
    }
}

/// Returns what a person is told who is asked about a line of a client without folders; `None` if all of its commands are
/// known and have at `most` this effect.
#[cfg(feature = "code-safety")]
pub(crate) fn question_about(line: &str, most: CallEffect) -> Option<String> {
    let verdict = CommandVerdict::of(line, None);
    let known = (verdict.effect > most).then(|| verdict.effect.phrase().to_owned());
    verdict.unknown.map(|unknown| unknown.why.into()).or(known)
}

/// Where a command runs.
#[derive(Clone, Copy)]
struct Place<'a> {
    folders: Option<&'a ClientFolders>,
    /// True if the line begins with `cd /tmp`: any program can have put code there.
    is_temporary: bool,
}

/// Judges one command.
fn judge(command: &PlainCommand, place: Place<'_>) -> CommandVerdict {
    let files = command.reads.iter().chain(command.writes.iter().map(|(file, _)| file));
    let paths = || command.words[1..].iter().chain(files.clone()).flat_map(|word| parts(&word.text));
    let outside = paths().find(|part| leads_outside(part, place.folders));
    let is_temporary = place.is_temporary || paths().any(is_temporary);
    let mut words = wrapped(&command.words).unwrap_or(&command.words).to_vec();
    let first = PlainWord { text: program(&words[0].text).to_owned(), ..PlainWord::default() };
    words[0] = first;
    // Options of git before its subcommand that choose the folder and the output.
    while words[0].text == "git"
        && words.get(1).is_some_and(|word| matches!(&*word.text, "-C" | "--no-pager"))
    {
        let length = if words[1].text == "-C" { 2 } else { 1 };
        words.drain(1..(1 + length).min(words.len()));
    }
    let name = &*words[0].text;
    // Where a home is, nobody knows.
    let goes_home = name == "cd" && !matches!(&words[1..], [folder] if folder.text != "-");
    let Some(known) = KnownCommand::of(&words).filter(|_| !goes_home) else {
        let why = if KnownCommand::has(name) {
            format!("runs `{}` in a way that mgp does not know", title(&words))
        } else {
            format!("runs `{name}`, which mgp does not know")
        };
        let may_be_allowed = outside.is_none() && !is_temporary && command.writes.is_empty();
        let prefixes = if may_be_allowed { prefixes(&words) } else { Vec::new() };
        return CommandVerdict::unknown(unknown(why, prefixes), None);
    };
    let writes = command.writes.iter().any(|(file, _)| file.text != NULL);
    let deed = if writes { known.deed.max(Deed::Makes) } else { known.deed };
    if let Some(outside) = outside.filter(|_| known.deed <= Deed::Builds) {
        let why = format!("runs `{}` with `{outside}`, which is outside of the open folders", title(&words));
        return CommandVerdict::unknown(unknown(why, Vec::new()), Some(deed));
    }
    if known.deed == Deed::Builds && is_temporary {
        let why = format!("runs `{}` in a folder for temporary files", title(&words));
        return CommandVerdict::unknown(unknown(why, Vec::new()), Some(deed));
    }
    let operands = || words[1..].iter().filter(|word| !word.text.starts_with('-'));
    let of_deed = match known.deed {
        Deed::Reads if operands().any(|word| is_secret(&word.text)) => CallEffect::GivesAccess,
        Deed::Names | Deed::Reads => CallEffect::Reads,
        Deed::Makes if operands().any(|word| is_run_later(Path::new(&word.text))) => CallEffect::RunsLater,
        Deed::Makes => CallEffect::Writes,
        Deed::Inspects | Deed::Builds => CallEffect::Runs,
        Deed::Sends => CallEffect::Sends,
        Deed::Destroys => CallEffect::Destroys,
        Deed::Reveals => CallEffect::GivesAccess,
    };
    let of_writes = command.writes.iter().map(|(file, mode)| of_written(&file.text, *mode));
    let of_reads = command.reads.iter().filter(|file| is_secret(&file.text)).map(|_| CallEffect::GivesAccess);
    let effect = of_writes.chain(of_reads).fold(of_deed, CallEffect::max);
    CommandVerdict { effect, deed: Some(deed), unknown: None }
}

/// Returns the command that a program of the line runs with more operands: `xargs`, and `timeout`.
fn wrapped(words: &[PlainWord]) -> Option<&[PlainWord]> {
    let first = program(&words.first()?.text);
    let own = match first {
        // Options with a value in a word of its own are not known.
        "xargs" => words[1..].iter().take_while(|word| is_flag_of_xargs(&word.text)).count(),
        "timeout" => words
            .get(1)
            .filter(|limit| limit.text.starts_with(|sign: char| sign.is_ascii_digit()))
            .map(|_| 1)?,
        _ => return None,
    };
    let inner = words.get(own + 1..).filter(|inner| !inner.is_empty())?;
    // What `xargs` adds may be read as options.
    let is_safe = first != "xargs" || KnownCommand::of(inner).is_some_and(KnownCommand::takes_anything);
    is_safe.then_some(inner)
}

fn is_flag_of_xargs(word: &str) -> bool {
    matches!(word, "-0" | "-r" | "-t" | "--null" | "--no-run-if-empty")
        || ["-n", "-P", "-L", "-I"].iter().any(|flag| word.len() > 2 && word.starts_with(flag))
}

/// Returns the name of a program without the folder where systems have their programs.
fn program(word: &str) -> &str {
    let name = ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/", "/usr/local/bin/"]
        .iter()
        .find_map(|it| word.strip_prefix(it));
    name.filter(|name| !name.contains('/')).unwrap_or(word)
}

/// Returns a program and the word behind it that may be its subcommand.
fn title(words: &[PlainWord]) -> String {
    match words {
        [program, subcommand, ..] if is_subcommand(&subcommand.text) => {
            format!("{} {}", program.text, subcommand.text)
        }
        [program, ..] => program.text.clone(),
        [] => String::new(),
    }
}

fn is_subcommand(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_ascii_lowercase())
        && word.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'_')
        })
}

/// Returns the beginnings that a person may allow from now on: the program with its subcommand, and the program. What runs
/// any code that it is given, or reaches any host, has none.
fn prefixes(words: &[PlainWord]) -> Vec<Box<str>> {
    let (name, title) = (&*words[0].text, title(words));
    let family = name.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte));
    if !is_name || RUNS_ANYTHING.contains(&family) {
        return Vec::new();
    }
    let program = Some(name).filter(|name| *name != title && !NEEDS_SUBCOMMAND.contains(name));
    let longest = Some(&*title).filter(|title| !NEEDS_SUBCOMMAND.contains(title));
    longest.into_iter().chain(program).map(Into::into).collect()
}

/// Returns whether a rule can be about the commands that begin with `text`: a program, or a program and its subcommand, that
/// does not run whatever it is given.
pub fn can_begin_a_rule(text: &str) -> bool {
    let commands = plain_commands(text).unwrap_or_default();
    matches!(&commands[..], [command] if prefixes(&command.words).iter().any(|prefix| **prefix == *text))
}

fn unknown(why: String, prefixes: Vec<Box<str>>) -> UnknownCommand {
    let mut unknown = UnknownCommand::new(why.into_boxed_str());
    unknown.prefixes = prefixes;
    unknown
}

/// The programs that run whatever they are given.
const RUNS_ANYTHING: [&str; 68] = [
    "sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "busybox", "pwsh", "powershell", "cmd",
    "python", "pypy", "perl", "ruby", "node", "deno", "bun", "php", "lua", "tclsh", "expect", "osascript",
    "awk", "gawk", "mawk", "sed", "env", "sudo", "doas", "su", "nohup", "nice", "time", "timeout", "xargs",
    "watch", "parallel", "strace", "ltrace", "gdb", "script", "screen", "tmux", "eval", "exec", "source",
    ".", "find", "vi", "vim", "ed", "emacs", "less", "more", "man", "ssh", "scp", "curl", "wget", "nc",
    "npx", "uvx", "pipx", "dnx", "tar", "zip",
];

/// The programs of which only a subcommand can be allowed.
const NEEDS_SUBCOMMAND: [&str; 16] = [
    "git", "docker", "podman", "kubectl", "npm", "pnpm", "yarn", "cargo", "go", "gh", "aws", "gcloud", "az",
    "helm", "terraform", "make",
];

/// Returns the parts of a word that a program may read as a path.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    // As in `-f/etc/x`.
    let joined = word.find(['/', '~']).filter(|_| word.starts_with('-')).map(|at| &word[at..]);
    word.split(['=', ':', ',', '@']).chain(joined).filter(|part| !part.is_empty())
}

/// Returns whether a path may lead out of the folders of the client, or of the folder where the line runs.
fn leads_outside(path: &str, folders: Option<&ClientFolders>) -> bool {
    let goes_up = path.split('/').any(|part| part == "..");
    let holds = |path: &Path| !goes_up && folders.is_some_and(|folders| folders.hold(path));
    if let Some(rest) = path.strip_prefix('~') {
        let home = std::env::home_dir().filter(|_| rest.starts_with('/'));
        return !home.is_some_and(|home| holds(&home.join(&rest[1..])));
    }
    if let Some(rest) = path.strip_prefix('/') {
        let first = rest.split('/').next().unwrap_or_default();
        // What begins in no folder that systems have is no path, as in `grep /api/v1`.
        let is_path =
            goes_up || first.is_empty() || first.contains(['*', '?', '[']) || ROOT_FOLDERS.contains(&first);
        return is_path && path != NULL && !is_temporary(path) && !holds(Path::new(path));
    }
    climbs(path) || matches!(path.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic())
}

fn is_temporary(path: &str) -> bool {
    (path == "/tmp" || path.starts_with("/tmp/")) && path.split('/').all(|part| part != "..")
}

fn goes_to_temporary(command: &PlainCommand) -> bool {
    matches!(&command.words[..], [program, folder, ..] if program.text == "cd" && is_temporary(&folder.text))
}

/// Returns whether a path leads above where it begins, or may.
fn climbs(path: &str) -> bool {
    let mut depth = 0_usize;
    path.split('/').any(|part| {
        let is_up = part == ".." || part.starts_with('.') && part.contains(['*', '?', '[']);
        match part {
            "" | "." => false,
            _ if is_up && depth == 0 => true,
            _ if is_up => {
                depth -= 1;
                false
            }
            _ => {
                depth += 1;
                false
            }
        }
    })
}

/// Returns whether a file that is named without its folder holds secrets, such as `.env`.
fn is_secret(path: &str) -> bool {
    ProtectedPaths::default().check(path, PathAccess::Read).is_err()
}

fn of_written(file: &str, mode: WriteMode) -> CallEffect {
    let path = Path::new(file);
    match mode {
        _ if file == NULL => CallEffect::Reads,
        WriteMode::Replaces if may_be_there(path) => CallEffect::Destroys,
        _ if is_run_later(path) => CallEffect::RunsLater,
        _ => CallEffect::Writes,
    }
}

const NULL: &str = "/dev/null";

/// The largest length of a command line in bytes; longer text is a program and not a line.
const MAX_COMMAND_BYTES: usize = 64 * 1024;
