//! Checks of the form of a path: variables, schemes, drives, streams, devices and system files.

use crate::Finding;

use super::segments::is_separator;
use super::{AbsolutePaths, Refusal, refuse_if};

/// Refuses paths in which a shell, a runtime or Windows would substitute a part.
pub(super) fn check_variables(path: &str) -> Result<(), Finding> {
    let expands = path.contains(['`']) || path.contains("$(") || path.contains("${");
    refuse_if(expands || path.split(is_separator).any(is_variable) || has_percent_variable(path), VARIABLE)?;
    if let Some(rest) = path.strip_prefix('~') {
        let user = rest.split(is_separator).next().unwrap_or_default();
        let names_user = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+');
        // A file name may begin with a tilde too; `~name` is a home only if a path below it or nothing follows.
        let hidden = rest[user.len()..].trim_start_matches(is_separator).starts_with('.');
        let known = user.is_empty() || ACCOUNTS.contains(&user) || matches!(user, "+" | "-");
        let is_home =
            user.bytes().all(names_user) && (user.is_empty() || rest.len() > user.len()) && (known || hidden);
        refuse_if(is_home, HOME)?;
    }
    Ok(())
}

/// Refuses paths that do not begin in the directory they are resolved in, or do not end at an ordinary file in it.
pub(super) fn check(path: &str, absolute: AbsolutePaths) -> Result<(), Finding> {
    let begins_at_root = path.starts_with(is_separator) || has_drive(path);
    refuse_if(begins_at_root && absolute == AbsolutePaths::Refused, ABSOLUTE)?;
    // Windows uses backslashes as separators, but there `Roots` has already replaced them with slashes.
    refuse_if(path.contains('\\'), BACKSLASH)?;
    refuse_if(has_scheme(path), SCHEME)?;
    refuse_if(path.contains(":$") || names_stream(path), STREAM)?;
    refuse_if(path.starts_with(['"', '\'', '|', '<', '>', '&', ' ']) || path.ends_with('|'), WRAPPED)?;
    refuse_if(!begins_at_root && is_system_file(path), SYSTEM_FILE)?;
    check_names(path)
}

fn check_names(path: &str) -> Result<(), Finding> {
    refuse_if(path.split('/').any(|name| !name.is_empty() && name.trim().is_empty()), BLANK_NAME)?;
    let name = path.rsplit('/').find(|name| !name.is_empty()).unwrap_or_default();
    // Windows drops dots and spaces from the end of a name, so the name could evade a rule for another file. The check
    // of protected paths ignores them by itself.
    let is_dropped = |last: char| last == ' ' || (cfg!(windows) && last == '.');
    refuse_if(!matches!(name, "." | "...") && name.ends_with(is_dropped), DROPPED_END)?;
    let device = name.strip_suffix(':').unwrap_or(name);
    // With an extension, these names are devices only on Windows. Elsewhere `aux.rs` is a common name, but `NUL.txt` is
    // not.
    let (stem, has_extension) = device.split_once('.').map_or((device, false), |(stem, _)| (stem, true));
    let shouted = stem.bytes().all(|byte| !byte.is_ascii_lowercase()) || stem.eq_ignore_ascii_case("nul");
    let device = if has_extension && shouted { stem } else { device };
    let is_device = DEVICES.iter().any(|own| own.eq_ignore_ascii_case(device)) || is_numbered_device(device);
    refuse_if(is_device, DEVICE)
}

const VARIABLE: Refusal = ("expansion", "the path names a variable or a command: write what it stands for");
const HOME: Refusal = ("expansion", "the path begins at a home directory: write it from the open one");
const ABSOLUTE: Refusal = ("absolute-path", "the path begins at the root: write it from the open directory");
const BACKSLASH: Refusal = ("backslash", "the path contains a backslash: write slashes");
const SCHEME: Refusal = ("scheme", "the path is a URL or is read by a wrapper: write the plain path");
const STREAM: Refusal = ("alternate-stream", "the path names a stream of a file: name the file");
const WRAPPED: Refusal =
    ("ambiguous-path", "the path has quotes, spaces or operators around it: write it alone");
const BLANK_NAME: Refusal = ("ambiguous-path", "a name in the path consists of spaces: leave it out");
const DROPPED_END: Refusal = ("ambiguous-path", "the path ends in a dot or space: leave it out");
const SYSTEM_FILE: Refusal =
    ("system-file", "the path is one of the system's: write one of the open directory");
const DEVICE: Refusal = ("device-name", "the path names a device of Windows: choose another name");

/// Returns whether the whole segment is a variable: `$HOME`, `$env:TEMP`. A dollar sign before lower-case letters is
/// part of a name, as the routers of web frameworks use it.
fn is_variable(segment: &str) -> bool {
    let Some(name) = segment.strip_prefix('$') else { return false };
    let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (name.len() > 1 && name.bytes().all(upper))
        || name.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("env:"))
}

/// Returns whether the path contains a variable of Windows, such as `%APPDATA%`.
fn has_percent_variable(path: &str) -> bool {
    let mut parts = path.split('%');
    parts.next();
    let mut rest = parts.peekable();
    while let Some(name) = rest.next() {
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'(' | b')');
        if rest.peek().is_some() && name.len() > 2 && name.bytes().all(named) && !is_escape(name) {
            return true;
        }
    }
    false
}

/// Returns whether the text after a percent sign is an escape: two hexadecimal digits, or `u` and four.
fn is_escape(name: &str) -> bool {
    let code = match name.strip_prefix(['u', 'U']) {
        Some(code) => code.get(..4),
        None => name.get(..2),
    };
    code.is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns whether the path begins at a drive. On systems without drives, `a:b` is an ordinary name.
fn has_drive(path: &str) -> bool {
    let [letter, b':', rest @ ..] = path.as_bytes() else { return false };
    letter.is_ascii_alphabetic() && (cfg!(windows) || matches!(rest, [] | [b'/' | b'\\', ..]))
}

fn has_scheme(path: &str) -> bool {
    let Some((scheme, rest)) = path.split_once(':') else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let named = scheme.len() > 1 && scheme.bytes().all(plain);
    named && (rest.starts_with("//") || WRAPPERS.iter().any(|own| own.eq_ignore_ascii_case(scheme)))
}

/// Returns whether the path is that of a system file without its leading slash, which some program might add.
fn is_system_file(path: &str) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if name == ".." {
            names.pop();
        } else {
            names.push(name);
        }
    }
    let (Some(first), second) = (names.first(), names.get(1)) else { return false };
    // Parameters and queries may follow the name.
    let bare = |name: &str| name.split(['?', ';', '#', '|']).next().unwrap_or_default().to_ascii_lowercase();
    match (bare(first).as_str(), second.map(|name| bare(name)).as_deref()) {
        ("boot.ini", _) => true,
        ("etc", Some(file)) => SYSTEM_ETC.contains(&file),
        ("windows" | "winnt", Some(file)) => SYSTEM_WINDOWS.contains(&file),
        ("proc", Some(process)) => {
            matches!(
                process,
                "self" | "thread-self" | "version" | "cmdline" | "environ" | "mounts" | "net" | "kcore"
            ) || process.bytes().all(|byte| byte.is_ascii_digit())
        }
        ("root", Some(file)) => matches!(file, ".ssh" | ".bash_history" | ".bashrc" | ".aws" | ".gnupg"),
        _ => false,
    }
}

/// Returns whether the name of a stream follows a file with an extension: `a.txt:hidden`. A number there is a line.
fn names_stream(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split_once(':').is_some_and(|(file, stream)| {
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        (1..=5).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && stream.starts_with(|first: char| first.is_ascii_alphabetic())
    })
}

fn is_numbered_device(name: &str) -> bool {
    let (port, number) = name.split_at_checked(3).unwrap_or((name, ""));
    (port.eq_ignore_ascii_case("com") || port.eq_ignore_ascii_case("lpt"))
        && matches!(number, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
}

/// The devices that Windows finds in every directory. With an extension, as in `aux.rs`, such a name is a common
/// ordinary file on every system except old versions of Windows.
const DEVICES: [&str; 7] = ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"];

/// The accounts that systems come with, at whose homes a path may begin.
const ACCOUNTS: [&str; 14] = [
    "root", "admin", "administrator", "user", "ubuntu", "debian", "ec2-user", "git", "postgres", "www-data",
    "nobody", "daemon", "deploy", "guest",
];

/// The schemes for which runtimes open something other than a file, even without slashes after the colon.
const WRAPPERS: [&str; 14] = [
    "file", "data", "php", "phar", "zip", "zlib", "compress.zlib", "compress.bzip2", "glob", "expect", "jar",
    "rar", "ssh2.sftp", "netdoc",
];

/// The names in the `/etc` of systems that seldom occur in a directory of that name in a repository.
const SYSTEM_ETC: [&str; 17] = [
    "passwd", "passwd-", "shadow", "shadow-", "group", "gshadow", "sudoers", "sudoers.d", "issue",
    "issue.net", "motd", "master.passwd", "hosts", "hostname", "fstab", "crontab", "ssh",
];

/// The names in the Windows directory that seldom occur in a directory of that name in a repository.
const SYSTEM_WINDOWS: [&str; 8] =
    ["system32", "syswow64", "system", "win.ini", "system.ini", "repair", "php.ini", "my.ini"];
