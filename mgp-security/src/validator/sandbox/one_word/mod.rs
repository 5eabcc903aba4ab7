//! One argument: can it become more than data?
//!
//! A word that is passed on as it is does no harm, whatever it says. The danger is a program further on that
//! puts it into a command line, a template or a script. So what is looked for is not the presence of signs,
//! which prose is full of, but a sign where a command could follow and something behind it that is a command.

mod decode;
mod disguise;
mod evidence;

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::Finding;

use decode::{decode, hides_line_end};
use disguise::{begins_disguised, is_cut_for_windows, is_formula, is_ready_to_run};
use evidence::{Evidence, first_name, has_arguments, is_command};

use super::finding::{Danger, REFUSE_COMPLEX, REFUSE_METADATA, REFUSE_OPTION, REFUSE_SECRET, refuse};
use super::pattern::pattern;
use super::place::Place;
use super::program::{Kind, kind_of};

use super::{argv, check_visible, fold_dash};

/// Judges one argument value that is going to be a single word of a command: a path, a host, a name, a text.
pub fn check_word(word: &str) -> Result<(), Finding> {
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
    // Who encodes that often hides something.
    if decode(&current).is_some() { Err(refuse(REFUSE_ENCODED)) } else { Ok(()) }
}

fn judge(text: &str) -> Result<(), Finding> {
    option(text)?;
    if !text.contains(SIGNS) && !text.contains(' ') {
        return place(text);
    }
    let template = text.trim().strip_prefix("{{").is_some_and(|rest| rest.ends_with("}}"));
    if is_cut_for_windows(text) || is_formula(text) || is_function_export(text) {
        return Err(refuse(REFUSE_EMBEDDED_CODE));
    }
    if template || MARKERS.is_match(text) {
        return Err(refuse(REFUSE_EMBEDDED_CODE));
    }
    calls(text)?;
    substitutions(text)?;
    separators(text)?;
    redirections(text)?;
    whole_command(text)?;
    place(text)
}

/// Options that run something, where a file or a name is expected.
fn option(text: &str) -> Result<(), Finding> {
    if !text.starts_with(['-', '+']) {
        return Ok(());
    }
    let lower = text.to_ascii_lowercase();
    if OPTIONS.iter().any(|option| lower.starts_with(option)) {
        return Err(refuse(REFUSE_OPTION));
    }
    if text.starts_with('-')
        && let Some((_, path)) = text.split_once('/')
        && text.split('/').next().is_some_and(|flag| flag.len() == 2)
        && SHELLS.iter().any(|shell| path.rsplit('/').next() == Some(*shell))
    {
        return Err(refuse(REFUSE_OPTION));
    }
    // `-o|program` and its like: a short option with a command for a value.
    let value = text.trim_start_matches(|c: char| c == '-' || c.is_alphanumeric());
    if value.trim_start_matches(['=', ' ', '\'', '"']).starts_with(['|', '!', '`']) {
        return Err(refuse(REFUSE_OPTION));
    }
    Ok(())
}

/// `() { :;}; command` where a value begins, as old shells take it for a function; no name stands before it.
fn is_function_export(text: &str) -> bool {
    ["() {", "(){"].iter().any(|sign| {
        text.match_indices(sign).any(|(at, _)| {
            !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | '>' | '$'))
                && !text[..at].trim_end().ends_with("function")
        })
    })
}

/// Function calls of scripting languages where a statement can begin.
fn calls(text: &str) -> Result<(), Finding> {
    for found in CALLS.find_iter(text) {
        let before = text[..found.start()].trim_end();
        if before.is_empty() || before.ends_with(BOUNDARY) {
            return Err(refuse(REFUSE_EMBEDDED_CODE));
        }
    }
    Ok(())
}

/// `$(..)`, backticks and `${..}`.
fn substitutions(text: &str) -> Result<(), Finding> {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        match rest.as_bytes().first() {
            Some(b'(') => {
                if rest.starts_with("(") && is_spoken_of(text, at) {
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

/// Whether `$(..)` at `at` is a word of its own in a sentence, and holds nothing that would be refused.
fn is_spoken_of(text: &str, at: usize) -> bool {
    let Some(length) = text[at..].find(')') else { return false };
    let (inner, after) = (&text[at + 2..at + length], &text[at + length + 1..]);
    let words = |part: &str| {
        part.split_whitespace()
            .filter(|word| word.bytes().all(|b| b.is_ascii_alphabetic() || b",.'`".contains(&b)))
            .count()
    };
    text[..at].ends_with([' ', '(', '"', '\''])
        && after.trim_start_matches(['"', '\'', '.', ',', ')', ';', ':', '?', '!']).starts_with(' ')
            | after.len().le(&2)
        && words(&text[..at]) >= 4
        && !inner.contains(['`', '$', '|', ';', '<', '>', '&', '/'])
        && !dangerous(inner)
}

/// Backticks quote in prose; what is quoted runs if it is a command, and surely if nothing else is there.
fn backticks(text: &str) -> Result<(), Finding> {
    let words = text.split_whitespace().count();
    // Fences of code blocks quote what is between them, and quote nothing in a shell.
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

/// `;`, `|`, `&` and line ends, with a command behind them.
fn separators(text: &str) -> Result<(), Finding> {
    let trimmed = text.trim_start();
    let first = trimmed.trim_start_matches(['\'', '"', ')', '}', ']', '*']).trim_start();
    let second = text.starts_with(['\n', '\r']) && is_command(trimmed, Evidence::Some);
    if second || (leads(first) && !is_table_row(trimmed)) {
        return Err(refuse(REFUSE_SEPARATOR));
    }
    if text.contains('\n') || text.contains('\r') {
        for line in text.split(['\n', '\r']).skip(1) {
            if is_command(line.trim_start(), Evidence::Strong) || leads(line.trim_start()) {
                return Err(refuse(REFUSE_SEPARATOR));
            }
        }
    }
    // Separators in a row share what is behind them.
    let mut seen = 0;
    let mut commands = 0;
    for (at, sign) in text.match_indices([';', '|', '&']) {
        if at < seen {
            continue;
        }
        let rest = &text[at + sign.len()..];
        let behind = rest.trim_start_matches([';', '|', '&', ' ', '\t', '\'', '"', '(', '{', ')']);
        seen = text.len() - behind.len();
        let tight = text[..at].chars().next_back().is_some_and(|c| !c.is_whitespace())
            && !rest.starts_with([' ', '\t']);
        let dollar = behind.starts_with(['$', '`'])
            && !behind[1..].starts_with(|c: char| c.is_ascii_digit() && c != '0');
        if (dollar && behind.len() > 1) || begins_disguised(behind) || (tight && PIECES.is_match(behind)) {
            return Err(refuse(REFUSE_SEPARATOR));
        }
        let name = first_name(behind);
        if kind_of(name).is_some() {
            commands += 1;
        }
        // Nothing but a command follows a bracket or an option that is closed by a sign.
        let closes = text[..at].ends_with([')', '\'']) && !text[..at].contains(' ') && tight;
        let doubled = rest.starts_with(sign) && sign != ";";
        // A single word before the sign is no beginning of a sentence.
        let single = sign == ";" && !text[..at].trim().contains(' ');
        let prints = matches!(name, "echo" | "printf" | "sleep" | "start" | "touch");
        let evidence =
            if doubled || ((tight || single) && prints) || closes || (text.starts_with('-') && tight) {
                Evidence::Any
            } else {
                Evidence::Some
            };
        if commands > MAX_COMMANDS || (is_command(behind, evidence) && !quoted_list(text, at)) {
            return Err(refuse(REFUSE_SEPARATOR));
        }
    }
    let end = text.trim_end();
    if let Some(before) = end.strip_suffix([';', '|', '&', '`'])
        && is_command(before.trim_end(), Evidence::Some)
        && before.matches('`').count() % 2 == 0
    {
        return Err(refuse(REFUSE_SEPARATOR));
    }
    // `name|` makes some languages run the name.
    if let Some(before) = end.strip_suffix(['|', '&'])
        && !before.is_empty()
        && !before.trim_end().contains(' ')
        && (before.contains('/') || is_command(before.trim_end(), Evidence::Any))
    {
        return Err(refuse(REFUSE_SEPARATOR));
    }
    Ok(())
}

/// Whether a text begins with a separator that something follows, as no prose does.
fn leads(text: &str) -> bool {
    let rest = text.trim_start_matches([';', '|', '&', ' ', '\t']);
    let signs = text[..text.len() - rest.len()].trim_end();
    !signs.is_empty()
        && rest.starts_with(|c: char| c.is_alphanumeric() || "/\\.'\"$`({%@_~".contains(c))
        && !(signs == "&" && rest.contains(';') && !rest.contains(' '))
}

/// `| a | b |`, as tables are written in prose.
fn is_table_row(text: &str) -> bool {
    let Some(cells) = text.trim_end().strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else {
        return false;
    };
    cells.contains(" | ")
        && !cells.contains(['$', '`', ';', '&', '<', '>'])
        && cells.split(" | ").all(|cell| !is_command(cell.trim(), Evidence::Some))
}

/// Whether the sign at `at` stands in a quotation within a sentence, so that it is spoken of and not used.
fn quoted_list(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let after = &text[at + 1..];
    let words = before.split_whitespace().count();
    [('"', '"'), ('`', '\''), ('`', '`'), ('\'', '\'')].iter().any(|&(open, close)| {
        let Some(start) = before.rfind(open) else { return false };
        let opened = open != close || before.matches(open).count() % 2 == 1;
        let begins = text[..start].ends_with(' ');
        opened && begins && words >= 3 && after.contains(close)
    }) || (words >= 4
        && before.contains(": ")
        && before.split_whitespace().next().is_some_and(|w| w.chars().all(char::is_alphabetic))
        && kind_of(before.split_whitespace().next().unwrap_or("")).is_none())
}

/// `> /path`, `< /path` and `>& file`.
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

/// A text that is a command line from its first word on.
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
    if windows || (listed && has_arguments(rest, Kind::Word) && !rest.trim().is_empty()) || dangerous(text) {
        return Err(refuse(REFUSE_COMMAND));
    }
    Ok(())
}

/// Whether `text` is a command line that would be refused as one.
fn dangerous(text: &str) -> bool {
    let name = first_name(text);
    if kind_of(name).is_none() && !name.contains('/') {
        return false;
    }
    // Without options, paths or addresses it is a sentence that begins with a verb.
    if !text.contains(['-', '/', '\\', '$', '|']) || text.matches(['\'', '"']).count() % 2 == 1 {
        return false;
    }
    let prose = kind_of(name) == Some(Kind::Word) && name.starts_with(|c: char| c.is_ascii_uppercase());
    !prose
        && super::check_command(text, &super::CommandPolicy::default())
            .is_err_and(|finding| finding.rule != "undecidable")
}

/// Secret files, network devices and metadata services, which are no plain data either.
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

/// A statement may begin behind these.
const BOUNDARY: [char; 10] = [';', '|', '&', '\'', '"', '`', '{', '(', '\n', '*'];

/// No text speaks of more commands behind separators.
const MAX_COMMANDS: usize = 64;

const MAX_WORD_BYTES: usize = 64 * 1024;
const MAX_DECODINGS: usize = 3;

/// In lower case, each where an argument begins.
const OPTIONS: [&str; 36] = [
    "-oproxycommand",
    "-o proxycommand",
    "-olocalcommand",
    "-o localcommand",
    "-opermitlocalcommand",
    "-oknownhostscommand",
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--execute",
    "--checkpoint-action",
    "--to-command",
    "--use-compress-program",
    "--rsh",
    "--rsync-path",
    "--gpu-launcher",
    "--renderer-cmd-prefix",
    "--utility-cmd-prefix",
    "--browser-subprocess-path",
    "--use-askpass",
    "--open-files-in-pager",
    "--ssh-command",
    "--eval",
    "--pre-command",
    "--post-command",
    "--info-script",
    "--unzip-command",
    "--pager=",
    "--rcfile",
    "--init-file",
    "--lua-exec",
    "--sh-exec",
    "--config-env",
    "--config=core.",
    "--config=alias.",
    "-ccore.",
];

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "cmd.exe"];

/// Texts that are code of another language whatever stands around them.
static MARKERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let markers = [
        "<?php",
        "<?=",
        "<!--#",
        "<%=",
        "<script",
        "<%@",
        "%pipe%",
        "${jndi:",
        "#{",
        "{{[",
        "{{'",
        "{{\"",
        "{{config",
        "{{self",
        "{{request",
        "{{ get_",
        "{${",
        "{$",
        "{php}",
        "{{7",
        "#set(",
        "*{",
        "__class__",
        "__subclasses__",
        "$(`",
        "<#assign",
        "%24(",
        "\u{1b}[",
        "{{=",
        "@{",
        "%{(",
        "${@",
        "%comspec%",
        "xp_cmdshell",
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

/// A name in pieces, or a path in patterns: `w'h'oami`, `/???/??t`.
static PIECES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^(?:[A-Za-z/]*(?:['"\\]+[A-Za-z/]+){2,}|/[A-Za-z?*]*[?*][A-Za-z?*]*/)"#));

static DRIVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^\s+(?:/\w\s+)*\x22?[a-z]:(?:\\|/|\s|$)"));

const REFUSE_SEPARATOR: Danger =
    ("separator", "the value holds a separator with a command behind it; send the value alone");
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
