//! The check that a command only reads.

use crate::Finding;

use super::options::{OptionWord, unknown};
use super::programs::{self, ProgramRule};
use super::{git, sed, writes};

/// Checks that a command, split into its words, only reads: its program and all its options must be known to read.
///
/// The words are those that the program receives; the operators of the shell must have been removed before. A program
/// that starts another one, such as `env`, `xargs` or `sudo`, does not count as reading.
pub(crate) fn check_command_reads(argv: &[&str]) -> Result<(), Finding> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(writes("there is no command: name a program that reads"));
    };
    let name = bare_name(program)
        .ok_or_else(|| writes("the program is not one of the system's: name it without its directory"))?;
    match programs::find(name) {
        Some(ProgramRule::Reads) => Ok(()),
        Some(ProgramRule::With(options)) => options.read(arguments, |_| Ok(())),
        Some(ProgramRule::Without(refused)) => check_without(arguments, refused),
        Some(ProgramRule::Find) => check_find(arguments),
        Some(ProgramRule::Date) => programs::DATE.read(arguments, |word| match word {
            OptionWord::Operand(format) if !format.starts_with('+') => {
                Err(writes("that sets the clock: write +FORMAT"))
            }
            _ => Ok(()),
        }),
        Some(ProgramRule::Curl) => check_curl(arguments),
        Some(ProgramRule::Git) => git::check(arguments),
        Some(ProgramRule::Sed) => sed::check(arguments),
        None => {
            Err(writes("nothing says that the program only reads: use one that does, like cat, grep or ls"))
        }
    }
}

/// Returns the name of the program if it is written without a directory, or with one that only holds programs of the
/// system.
fn bare_name(program: &str) -> Option<&str> {
    match program.rsplit_once('/') {
        None => Some(program),
        Some((directory, name)) => matches!(directory, "/bin" | "/usr/bin").then_some(name),
    }
}

/// Checks the arguments of a program that reads with all its options except `refused`. Abbreviations of these options
/// are refused as well.
fn check_without(arguments: &[&str], refused: &[&str]) -> Result<(), Finding> {
    for argument in arguments {
        let Some(option) = argument.strip_prefix("--") else { continue };
        let name = option.split('=').next().unwrap_or_default();
        if !name.is_empty() && refused.iter().any(|own| own.starts_with(name)) {
            return Err(unknown(argument));
        }
    }
    Ok(())
}

/// Checks an expression of find: only tests, and actions that print, are allowed.
fn check_find(arguments: &[&str]) -> Result<(), Finding> {
    for argument in arguments {
        let Some(name) = argument.strip_prefix('-') else { continue };
        // The number is the argument of a test, as in `-mtime -7`.
        let is_number = name.starts_with(|first: char| first.is_ascii_digit());
        if !name.is_empty() && !is_number && !programs::FIND.contains(&name) && !name.starts_with("newer") {
            return Err(unknown(argument));
        }
    }
    Ok(())
}

fn check_curl(arguments: &[&str]) -> Result<(), Finding> {
    programs::CURL.read(arguments, |word| match word {
        OptionWord::Value("X" | "request", method) => super::check_http_method(method),
        // The format of `--write-out` can redirect its output to a file.
        OptionWord::Value("w" | "write-out", format) if format.contains("output{") => {
            Err(unknown("--write-out"))
        }
        OptionWord::Value("w" | "write-out", format) if format.starts_with('@') => {
            Err(unknown("--write-out"))
        }
        OptionWord::Value("o" | "output", "-" | "/dev/null") => Ok(()),
        OptionWord::Value("o" | "output", _) => {
            Err(writes("that writes a file: let curl print what it gets"))
        }
        OptionWord::Operand(url) | OptionWord::Value("url", url) => check_curl_url(url),
        _ => Ok(()),
    })
}

/// Checks a URL for curl. Other protocols, such as gopher, can write with nothing but a URL. Without a scheme, curl
/// derives the protocol from the host name.
fn check_curl_url(url: &str) -> Result<(), Finding> {
    let reads = if let Some((scheme, _)) = url.split_once("://") {
        ["http", "https"].iter().any(|own| own.eq_ignore_ascii_case(scheme))
    } else {
        let host = url.rsplit_once('@').map_or(url, |(_, host)| host).to_ascii_lowercase();
        !["ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3."].iter().any(|own| host.starts_with(own))
    };
    if reads { Ok(()) } else { Err(writes("only HTTP is known to read: use a URL with https")) }
}
