//! The check that one argument cannot become more than data.
//!
//! A word that is passed on unchanged does no harm, whatever it says. The danger is a later program that inserts it
//! into a command line, a template or a script. Signs alone are no evidence, because prose is full of them. The check
//! therefore looks for a sign after which a command could follow, with a command behind it.

mod decode;
mod disguise;
mod evidence;
mod separator;

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::Finding;

use decode::{decode, hides_line_end};
use disguise::{begins_disguised, check_option, is_cut_for_windows, is_formula, is_ready_to_run};
use evidence::{Evidence, Kind, first_name, has_arguments, is_command, kind_of};

use super::finding::{Danger, REFUSE_COMPLEX, REFUSE_METADATA, REFUSE_SECRET, refuse};
use super::place::Place;

use super::{argv, check_visible, fold_dash, pattern};

/// Checks one argument that is going to be a single word of a command: a path, a host, a name, a text.
pub(crate) fn check_word(word: &str) -> Result<(), Finding> {
    if word.len() > MAX_WORD_BYTES {
        return Err(refuse(REFUSE_COMPLEX));
    }
    check_visible(word)?;
    judge(word)?;
    if !word.is_ascii() {
        let folded: String = word.nfkc().map(fold_dash).collect();
        if folded != word {
            judge(&folded)?;
        }
    }
    let mut current = Cow::Borrowed(word);
    for _ in 0..MAX_DECODINGS {
        let Some(decoded) = decode(&current) else { return Ok(()) };
        if hides_line_end(&current) || decoded.contains('\0') {
            return Err(refuse(REFUSE_ENCODED));
        }
        judge(&decoded)?;
        current = Cow::Owned(decoded);
    }
    // More layers of encoding than this are only used to hide something.
    if decode(&current).is_some() { Err(refuse(REFUSE_ENCODED)) } else { Ok(()) }
}

fn judge(text: &str) -> Result<(), Finding> {
    check_option(text)?;
    if is_cut_for_windows(text) {
        return Err(refuse(REFUSE_EMBEDDED_CODE));
    }
    if !text.contains(SIGNS) && !text.contains(' ') {
        return place(text);
    }
    let template = text.trim().strip_prefix("{{").is_some_and(|rest| rest.ends_with("}}"));
    if is_formula(text) || is_function_export(text) {
        return Err(refuse(REFUSE_EMBEDDED_CODE));
    }
    if template || MARKERS.is_match(text) {
        return Err(refuse(REFUSE_EMBEDDED_CODE));
    }
    calls(text)?;
    substitutions(text)?;
    separator::check(text)?;
    redirections(text)?;
    whole_command(text)?;
    place(text)
}

/// Returns whether a function definition such as `() { :;}; command`, which old shells run, stands where a value can
/// begin. A definition with a name before it does not count.
fn is_function_export(text: &str) -> bool {
    ["() {", "(){"].iter().any(|sign| {
        text.match_indices(sign).any(|(at, _)| {
            !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | '>' | '$'))
                && !text[..at].trim_end().ends_with("function")
        })
    })
}

/// Refuses function calls of scripting languages in positions where a statement can begin.
fn calls(text: &str) -> Result<(), Finding> {
    for found in CALLS.find_iter(text) {
        let before = text[..found.start()].trim_end();
        if before.is_empty()
            || before.ends_with(BOUNDARY)
            || before.ends_with("'.")
            || before.ends_with("\".")
        {
            return Err(refuse(REFUSE_EMBEDDED_CODE));
        }
    }
    Ok(())
}

/// Refuses the substitutions `$(..)` and `${..}`, and backticks.
fn substitutions(text: &str) -> Result<(), Finding> {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        match rest.as_bytes().first() {
            Some(b'(') => {
                if rest.starts_with('(') && is_spoken_of(text, at) {
                    continue;
                }
                if let Some(inner) = rest[1..].split(')').next()
                    && !rest.starts_with("()")
                    && (at == 0
                        || inner.contains(['`', '$', '|', ';', '/'])
                        || is_command(inner.trim_start(), Evidence::Any))
                {
                    return Err(refuse(REFUSE_SUBSTITUTION));
                }
                if rest.starts_with("()") && at > 0 && bytes[at - 1].is_ascii_alphanumeric() {
                    return Err(refuse(REFUSE_SUBSTITUTION));
                }
            }
            Some(b'{') => {
                let inner = rest[1..].split('}').next().unwrap_or("");
                let name = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                let operator = &inner[name..];
                let plain = (name > 0 && operator.is_empty()) || inner.starts_with(['#', '!', '*', '@']);
                if inner.eq_ignore_ascii_case("IFS")
                    || !(plain || (name > 0 && operator.starts_with(['.', '[', ' ', '-', '%', '#'])))
                {
                    return Err(refuse(REFUSE_SUBSTITUTION));
                }
            }
            Some(b'\'') if rest[1..].contains("\\x") || rest[1..].contains("\\u") => {
                return Err(refuse(REFUSE_SUBSTITUTION));
            }
            Some(b'@') if at > 0 && bytes[at - 1].is_ascii_alphanumeric() && rest.len() > 1 => {
                let glued = rest.as_bytes()[1].is_ascii_alphanumeric();
                if glued && !text.contains(' ') {
                    return Err(refuse(REFUSE_SUBSTITUTION));
                }
            }
            _ if rest.starts_with("IFS") => return Err(refuse(REFUSE_SUBSTITUTION)),
            _ => {}
        }
    }
    backticks(text)
}

/// Returns whether the `$(..)` at `at` is only mentioned: it is a word of its own in a sentence, and contains nothing
/// that would be refused.
fn is_spoken_of(text: &str, at: usize) -> bool {
    let Some(length) = text[at..].find(')') else { return false };
    let (inner, after) = (&text[at + 2..at + length], &text[at + length + 1..]);
    // A few words before it are enough to recognize a sentence.
    let spoken = text[..at]
        .rsplit(char::is_whitespace)
        .take(MAX_SPOKEN)
        .filter(|word| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic() || b",.'`".contains(&b))
        })
        .count();
    let behind = after.trim_start_matches(['"', '\'', '.', ',', ')', ';', ':', '?', '!']);
    text[..at].ends_with([' ', '(', '"', '\''])
        && (behind.starts_with(' ') || after.len() <= 2)
        && spoken >= 4
        && !inner.contains(['`', '$', '|', ';', '<', '>', '&', '/'])
        && !dangerous(inner)
}

/// Refuses backticks around a command. In prose, backticks quote; a quoted command is refused if it is dangerous, or if
/// there is no sentence around it.
fn backticks(text: &str) -> Result<(), Finding> {
    let words = text.split_whitespace().count();
    // The fences of code blocks quote the text between them, and have no such meaning in a shell.
    let fence =
        |at: usize| text[at..].starts_with("```") || text[..at].ends_with('`') && text[..=at].ends_with("``");
    let fenced = text.contains("```\n") || text.contains("\n```");
    let mut marks = text.match_indices('`').map(|(at, _)| at).filter(|&at| !(fenced && fence(at)));
    while let (Some(open), Some(close)) = (marks.next(), marks.next()) {
        let inner = text[open + 1..close].trim();
        let around = words.saturating_sub(inner.split_whitespace().count());
        // A name in backticks within a sentence is a quotation.
        let sentence = around >= 3
            && text[..open].chars().next_back().is_none_or(|c| c.is_whitespace() || "(\"'".contains(c))
            && text[close + 1..]
                .chars()
                .next()
                .is_none_or(|c| c.is_whitespace() || ".,:;!?)'\"s".contains(c));
        let hard = inner.contains("$(") || inner.contains("http") || dangerous(inner);
        if !sentence && (inner.is_empty() || is_command(inner, Evidence::Any) || inner.starts_with('/'))
            || (sentence && hard)
        {
            return Err(refuse(REFUSE_SUBSTITUTION));
        }
    }
    Ok(())
}

/// Refuses redirections such as `> /path`, `< /path` and `>& file`.
fn redirections(text: &str) -> Result<(), Finding> {
    let quote = text.find('"').unwrap_or(text.len());
    let mut seen = 0;
    for (at, _) in text.match_indices(['<', '>']) {
        if at < seen {
            continue;
        }
        let rest = text[at + 1..].trim_start_matches(['>', '<', '&', ' ']);
        seen = text.len() - rest.len();
        let path = rest.split(|c: char| c.is_whitespace() || "\"';|&<>".contains(c)).next().unwrap_or("");
        let arrow = text[..at].ends_with(['-', '=']);
        let device = argv::is_network_device(path);
        let rooted = path.starts_with("/dev/")
            || path.starts_with("/etc/")
            || path.starts_with("/proc/")
            || path.starts_with("~/.");
        let opened = at < quote && (rooted || path.starts_with('/') && path[1..].contains('/'));
        let descriptor =
            text[at + 1..].starts_with('&') && path.len() == 1 && path.bytes().all(|b| b.is_ascii_digit());
        let process = text[at + 1..].starts_with('(')
            && text[at + 2..].contains(')')
            && is_command(&text[at + 2..], Evidence::Any);
        if device || (opened && !arrow) || descriptor || process {
            return Err(refuse(REFUSE_REDIRECTION));
        }
    }
    Ok(())
}

/// Refuses a text that is a command line from its first word on.
fn whole_command(text: &str) -> Result<(), Finding> {
    let text = text.trim_start_matches(['*', '\'', '"', ' ']);
    if is_ready_to_run(text) || begins_disguised(text) || text.starts_with("ext::") {
        return Err(refuse(REFUSE_COMMAND));
    }
    let name = first_name(text);
    let rest = &text[name.len().min(text.len())..];
    if kind_of(name).is_none() {
        return Ok(());
    }
    let lower = rest.to_ascii_lowercase();
    let windows = matches!(
        name.to_ascii_lowercase().as_str(),
        "type" | "dir" | "copy" | "del" | "echo" | "cd" | "more" | "attrib"
    ) && (DRIVE.is_match(rest) || lower.contains("%system") || lower.contains("%windir"));
    let listed =
        ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"].iter().any(|directory| name.starts_with(directory));
    if windows || (listed && has_arguments(rest, Kind::Name) && !rest.trim().is_empty()) || dangerous(text) {
        return Err(refuse(REFUSE_COMMAND));
    }
    Ok(())
}

/// Returns whether `text` is a command line that would be refused as one.
fn dangerous(text: &str) -> bool {
    let name = first_name(text);
    if kind_of(name).is_none() && !name.contains('/') {
        return false;
    }
    // A text without options, paths or addresses is a sentence that begins with a verb.
    if !text.contains(['-', '/', '\\', '$', '|']) || text.matches(['\'', '"']).count() % 2 == 1 {
        return false;
    }
    let prose = kind_of(name) == Some(Kind::Word) && name.starts_with(|c: char| c.is_ascii_uppercase());
    !prose
        && super::check_command(text, &super::CommandPolicy::default())
            .is_err_and(|finding| finding.rule != "undecidable")
}

/// Refuses secret files, network devices and metadata services, which are not plain data either.
fn place(text: &str) -> Result<(), Finding> {
    if text.contains(' ') {
        return Ok(());
    }
    if argv::address_of_metadata(text, false) {
        return Err(refuse(REFUSE_METADATA));
    }
    if argv::is_network_device(text) {
        return Err(refuse(REFUSE_REDIRECTION));
    }
    if (text.starts_with("/etc/") || text.starts_with("/proc/") || text.contains("../"))
        && Place::new(text, "").is_secret()
    {
        return Err(refuse(REFUSE_SECRET));
    }
    Ok(())
}

const SIGNS: [char; 14] = [';', '|', '&', '`', '$', '<', '>', '(', '{', '\n', '\r', '%', '\'', '"'];

/// The characters behind which a statement may begin.
const BOUNDARY: [char; 10] = [';', '|', '&', '\'', '"', '`', '{', '(', '\n', '*'];

const MAX_WORD_BYTES: usize = 64 * 1024;
const MAX_DECODINGS: usize = 3;
/// The largest number of words before a substitution that are examined.
const MAX_SPOKEN: usize = 12;

/// Texts that are code of another language, whatever stands around them.
static MARKERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let markers = [
        "<?php", "<?=", "<!--#", "<%=", "<script", "<%@", "%pipe%", "{%", "<? ", "<% ", "getruntime(",
        "${jndi:", "#{", "{{[", "{{'", "{{\"", "{{config", "{{self", "{{request", "{{ get_", "{${", "{$",
        "{php}", "{{7", "#set(", "*{", "__class__", "__subclasses__", "$(`", "<#assign", "%24(", "\u{1b}[",
        "{{=", "@{", "%{(", "${@", "%comspec%", "xp_cmdshell",
    ];
    let builder = AhoCorasickBuilder::new().ascii_case_insensitive(true).build(markers);
    builder.expect("the markers are constants, and far fewer than it takes")
});

static CALLS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)@?\b(?:system|exec|eval|passthru|shell_exec|popen|proc_open|pcntl_exec|assert|phpinfo|sleep|require|include|",
        r"os\.system|os\.popen|subprocess\.\w+|__import__|file_get_contents|fopen|readfile|var_dump|call_user_func|child_process\.\w+)\s?\(\s*(?:['\x22$\d`)_]|[a-z_.]+\()",
    ))
});

static DRIVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^\s+(?:/\w\s+)*\x22?[a-z]:(?:\\|/|\s|$)"));

const REFUSE_SUBSTITUTION: Danger =
    ("substitution", "the value holds a substitution that a shell would run; send the plain text instead");
const REFUSE_REDIRECTION: Danger =
    ("redirection", "the value holds a redirection to a file or a socket; send the value alone");
const REFUSE_COMMAND: Danger =
    ("command", "the value is a command and not an argument; send the value the parameter asks for");
const REFUSE_EMBEDDED_CODE: Danger =
    ("embedded-code", "the value holds code of a script or template language; send plain text");
const REFUSE_ENCODED: Danger =
    ("encoded", "the value hides line ends or signs behind an encoding; send it without encoding");
