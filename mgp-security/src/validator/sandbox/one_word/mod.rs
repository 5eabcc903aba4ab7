//! The check that one argument cannot become more than data.
//!
//! A word that is passed on unchanged does no harm, whatever it says. The danger is a later program that inserts it
//! into a command line, a template or a script. Signs alone are no evidence, because prose is full of them. The check
//! therefore looks for a sign after which a command could follow, with a command behind it.

mod evidence;

use std::borrow::Cow;
use std::sync::LazyLock;

use evidence::{Evidence, begins_disguised, first_name, has_arguments, is_command, kind_of};
use regex::Regex;

use super::{Danger, Place, Trait, argv, check_readings, is_listed, matched, refuse_if};
use crate::Finding;
use crate::data_file::expression;

/// Checks one argument that is going to be a single word of a command: a path, a host, a name, a text.
pub(crate) fn check_word(word: &str) -> Result<(), Finding> {
    refuse_if(word.len() > MAX_WORD_BYTES, Danger::TooComplex)?;
    check_readings(word, judge)?;
    let mut current = Cow::Borrowed(word);
    for _ in 0..MAX_DECODINGS {
        let Some(decoded) = decode(&current) else { return Ok(()) };
        matched("line-end", &current)?;
        refuse_if(decoded.contains('\0'), Danger::Encoded)?;
        judge(&decoded)?;
        current = Cow::Owned(decoded);
    }
    // More layers of encoding than this are only used to hide something.
    refuse_if(decode(&current).is_some(), Danger::Encoded)
}

fn judge(text: &str) -> Result<(), Finding> {
    check_option(text)?;
    matched("cut", text)?;
    if !text.contains(SIGNS) && !text.contains(' ') {
        return place(text);
    }
    refuse_if(is_function_export(text), Danger::EmbeddedCode)?;
    matched("embedded", text)?;
    substitutions(text)?;
    matched("substitution", text)?;
    backticks(text)?;
    check_separators(text)?;
    matched("redirection", text)?;
    processes(text)?;
    whole_command(text)?;
    place(text)
}

/// Refuses a value that a program would take for an option that runs something.
fn check_option(text: &str) -> Result<(), Finding> {
    if !text.starts_with(['-', '+']) {
        return Ok(());
    }
    let lower = text.to_ascii_lowercase();
    refuse_if(is_listed("running-options", &lower.replacen("-o ", "-o", 1)), Danger::OptionInjection)?;
    // The value of such an option is not for callers to choose: `-rf /`, `-T /etc/passwd`.
    let is_chosen =
        text.split_whitespace().skip(1).any(|value| value.starts_with(['/', '~']) && is_sensitive(value));
    refuse_if(is_chosen, Danger::OptionInjection)?;
    matched("option", text)
}

fn is_sensitive(path: &str) -> bool {
    let place = Place::new(path, "");
    place.is_vast() || place.is_secret() || place.is_accounts()
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

/// Refuses the substitutions `$(..)`.
fn substitutions(text: &str) -> Result<(), Finding> {
    for (at, _) in text.match_indices("$(") {
        let rest = &text[at + 2..];
        let inner = rest.split(')').next().unwrap_or("");
        let runs = at == 0
            || inner.contains(['`', '$', '|', ';', '/'])
            || is_command(inner.trim_start(), Evidence::Any);
        refuse_if(runs && !rest.starts_with(')') && !is_spoken_of(text, at), Danger::Substitution)?;
    }
    Ok(())
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
        let runs = || inner.is_empty() || is_command(inner, Evidence::Any) || inner.starts_with('/');
        refuse_if(if sentence { hard } else { runs() }, Danger::Substitution)?;
    }
    Ok(())
}

/// Refuses process substitutions such as `<(command)`.
fn processes(text: &str) -> Result<(), Finding> {
    let mut inner = text.match_indices(['<', '>']).filter_map(|(at, _)| text[at + 1..].strip_prefix('('));
    refuse_if(inner.any(|inner| inner.contains(')') && is_command(inner, Evidence::Any)), Danger::Redirection)
}

/// Refuses a text that is a command line from its first word on.
fn whole_command(text: &str) -> Result<(), Finding> {
    let text = text.trim_start_matches(['*', '\'', '"', ' ']);
    matched("ready", text)?;
    refuse_if(begins_disguised(text), Danger::Command)?;
    let name = first_name(text);
    let rest = &text[name.len().min(text.len())..];
    if kind_of(name).is_none() {
        return Ok(());
    }
    let listed =
        ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"].iter().any(|directory| name.starts_with(directory));
    let is_whole = (listed && has_arguments(rest, Trait::Name) && !rest.trim().is_empty()) || dangerous(text);
    refuse_if(is_whole, Danger::Command)
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
    let prose = kind_of(name) == Some(Trait::Word) && name.starts_with(|c: char| c.is_ascii_uppercase());
    !prose
        && super::check_command(text, &super::CommandPolicy::default())
            .is_err_and(|finding| finding.rule != "undecidable")
}

/// Refuses secret files, network devices and metadata services, which are not plain data either.
fn place(text: &str) -> Result<(), Finding> {
    if text.contains(' ') {
        return Ok(());
    }
    refuse_if(argv::address_of_metadata(text, false), Danger::CloudMetadata)?;
    refuse_if(argv::is_network_device(text), Danger::Redirection)?;
    let leads_away = text.starts_with("/etc/") || text.starts_with("/proc/") || text.contains("../");
    refuse_if(leads_away && Place::new(text, "").is_secret(), Danger::Secret)
}

/// Decodes one layer of encoding: percent signs, entities, and backslashes before line ends; returns `None` if nothing
/// was encoded.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut end = 0;
    for found in ENCODED.find_iter(text) {
        let digits = found.as_str().trim_start_matches(['%', '\\', '&', '#']).trim_end_matches(';');
        let byte = match digits {
            "n" | "r" => b'\n',
            "033" => 0x1b,
            "lt" => b'<',
            "gt" => b'>',
            "amp" => b'&',
            "quot" => b'"',
            "apos" => b'\'',
            decimal if found.as_str().starts_with("&#") && !decimal.starts_with('x') => {
                decimal.parse().ok()?
            }
            hex => u8::from_str_radix(hex.trim_start_matches(['x', 'u']), 16).ok()?,
        };
        bytes.extend_from_slice(&text.as_bytes()[end..found.start()]);
        bytes.push(byte);
        end = found.end();
    }
    bytes.extend_from_slice(&text.as_bytes()[end..]);
    (end > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Refuses `;`, `|`, `&` and line ends with a command behind them.
fn check_separators(text: &str) -> Result<(), Finding> {
    let trimmed = text.trim_start();
    let first = trimmed.trim_start_matches(['\'', '"', ')', '}', ']', '*']).trim_start();
    let second = text.starts_with(['\n', '\r']) && is_command(trimmed, Evidence::Some);
    refuse_if(second || (leads(first) && !is_table_row(trimmed)), Danger::Separator)?;
    for line in text.split(['\n', '\r']).skip(1) {
        let begins = is_command(line.trim_start(), Evidence::Strong) || leads(line.trim_start());
        refuse_if(begins, Danger::Separator)?;
    }
    // Consecutive separators have the same text behind them.
    let mut seen = 0;
    let mut commands = 0;
    for (at, sign) in text.match_indices([';', '|', '&']) {
        if at < seen {
            continue;
        }
        let rest = &text[at + sign.len()..];
        // A sign in backticks is only mentioned.
        let after = rest.strip_prefix('`').unwrap_or("x");
        if text[..at].ends_with('`') && !after.starts_with(|c: char| c.is_alphanumeric() || "$/`".contains(c))
        {
            continue;
        }
        let behind = rest.trim_start_matches([';', '|', '&', ' ', '\t', '\'', '"', '(', '{', ')']);
        seen = text.len() - behind.len();
        let tight = text[..at].chars().next_back().is_some_and(|c| !c.is_whitespace())
            && !rest.starts_with([' ', '\t']);
        let dollar = behind.starts_with(['$', '`'])
            && !behind[1..].starts_with(|c: char| c.is_ascii_digit() && c != '0');
        refuse_if((dollar && behind.len() > 1) || begins_disguised(behind), Danger::Separator)?;
        if tight {
            matched("pieces", behind)?;
        }
        let name = first_name(behind);
        if kind_of(name).is_some() {
            commands += 1;
        }
        // A sign directly after a closing bracket or quote can only be followed by a command.
        let closes = text[..at].ends_with([')', '\'']) && !text[..at].contains(' ') && tight;
        let doubled = rest.starts_with(sign) && sign != ";";
        // A single word before the sign is not the beginning of a sentence.
        let single = sign == ";" && !text[..at].trim().contains(' ');
        let prints = matches!(name, "echo" | "printf" | "sleep" | "start" | "touch");
        let is_tied = doubled || ((tight || single) && prints) || closes || (text.starts_with('-') && tight);
        let evidence = if is_tied { Evidence::Any } else { Evidence::Some };
        let follows = commands > MAX_COMMANDS || (is_command(behind, evidence) && !quoted_list(text, at));
        refuse_if(follows, Danger::Separator)?;
    }
    let end = text.trim_end();
    let is_ended = end.strip_suffix([';', '|', '&', '`']).is_some_and(|before| {
        is_command(before.trim_end(), Evidence::Some) && before.matches('`').count() % 2 == 0
    });
    // In some languages, `name|` runs the name.
    let is_run = end.strip_suffix(['|', '&']).is_some_and(|before| {
        let name = before.trim_end();
        !before.is_empty() && !name.contains(' ') && (before.contains('/') || is_command(name, Evidence::Any))
    });
    refuse_if(is_ended || is_run, Danger::Separator)
}

/// Returns whether a text begins with a separator and further text behind it, which prose does not.
fn leads(text: &str) -> bool {
    let rest = text.trim_start_matches([';', '|', '&', ' ', '\t']);
    // The rest of an HTML entity after its `&`, such as `copy;`.
    let is_entity = || rest.split_once(';').is_some_and(|(name, _)| is_listed("entities", name));
    let signs = text[..text.len() - rest.len()].trim_end();
    !signs.is_empty()
        && rest.starts_with(|c: char| c.is_alphanumeric() || "/\\.'\"$`({%@_~".contains(c))
        && !(signs == "&" && (rest.contains(';') && !rest.contains(' ') || is_entity()))
}

/// Returns whether the text is a row of a table, `| a | b |`, as it appears in prose.
fn is_table_row(text: &str) -> bool {
    let Some(cells) = text.trim_end().strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else {
        return false;
    };
    cells.contains(" | ")
        && !cells.contains(['$', '`', ';', '&', '<', '>'])
        && cells.split(" | ").all(|cell| !is_command(cell.trim(), Evidence::Some))
}

/// Returns whether the sign at `at` stands in a quotation within a sentence, so that it is mentioned and not used.
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

/// The largest number of commands behind separators in a text that passes.
const MAX_COMMANDS: usize = 64;

/// A character of ASCII, or a byte, that is written as something else.
static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
    expression(concat!(
        r"(?:%|\\x|\\u00)[[:xdigit:]]{2}|\\[nr]|\\033|&(?:lt|gt|amp|quot|apos);|",
        r"&#(?:x27|x3b|x7c|10|38|39|59|96|124);",
    ))
});

const SIGNS: [char; 14] = [';', '|', '&', '`', '$', '<', '>', '(', '{', '\n', '\r', '%', '\'', '"'];

const MAX_WORD_BYTES: usize = 64 * 1024;

const MAX_DECODINGS: usize = 3;

/// The largest number of words before a substitution that are examined.
const MAX_SPOKEN: usize = 12;
