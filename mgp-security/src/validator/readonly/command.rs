use crate::Finding;

use super::options::{OptionWord, unknown};
use super::programs::{self, ProgramRule};
use super::{git, sed, writes};

/// Decides on a command, split into its words: a program that is known to read, with options that are.
///
/// The words are those that the program gets. A shell's operators must have been taken out before; a program that
/// starts another one, be it `env`, `xargs` or `sudo`, is none that reads.
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

/// The program's name, if it stands alone or in a directory where only the system's programs are.
fn bare_name(program: &str) -> Option<&str> {
    match program.rsplit_once('/') {
        None => Some(program),
        Some((directory, name)) => matches!(directory, "/bin" | "/usr/bin").then_some(name),
    }
}

/// A program that reads with all its options but these, which are refused with what begins like them, too.
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

/// An expression of find: tests, and actions that print.
fn check_find(arguments: &[&str]) -> Result<(), Finding> {
    for argument in arguments {
        let Some(name) = argument.strip_prefix('-') else { continue };
        // The number of a test like `-mtime -7`.
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
        // What it writes out can be sent to a file.
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

/// Other protocols write with nothing but a URL, like gopher; without a scheme, curl takes the name for one.
fn check_curl_url(url: &str) -> Result<(), Finding> {
    let reads = if let Some((scheme, _)) = url.split_once("://") {
        ["http", "https"].iter().any(|own| own.eq_ignore_ascii_case(scheme))
    } else {
        let host = url.rsplit_once('@').map_or(url, |(_, host)| host).to_ascii_lowercase();
        !["ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3."].iter().any(|own| host.starts_with(own))
    };
    if reads { Ok(()) } else { Err(writes("only HTTP is known to read: use a URL with https")) }
}
