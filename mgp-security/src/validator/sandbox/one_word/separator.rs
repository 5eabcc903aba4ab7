//! The rules about separators of commands, and the text behind them.

use crate::Finding;

use super::super::finding::{Danger, refuse_if};
use super::super::known::matched;
use super::super::lists::is_listed;
use super::evidence::{Evidence, begins_disguised, first_name, is_command, kind_of};

/// Refuses `;`, `|`, `&` and line ends with a command behind them.
pub(super) fn check(text: &str) -> Result<(), Finding> {
    let trimmed = text.trim_start();
    let first = trimmed.trim_start_matches(['\'', '"', ')', '}', ']', '*']).trim_start();
    let second = text.starts_with(['\n', '\r']) && is_command(trimmed, Evidence::Some);
    refuse_if(second || (leads(first) && !is_table_row(trimmed)), Danger::Separator)?;
    if text.contains('\n') || text.contains('\r') {
        for line in text.split(['\n', '\r']).skip(1) {
            refuse_if(
                is_command(line.trim_start(), Evidence::Strong) || leads(line.trim_start()),
                Danger::Separator,
            )?;
        }
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
        let evidence =
            if doubled || ((tight || single) && prints) || closes || (text.starts_with('-') && tight) {
                Evidence::Any
            } else {
                Evidence::Some
            };
        refuse_if(
            commands > MAX_COMMANDS || (is_command(behind, evidence) && !quoted_list(text, at)),
            Danger::Separator,
        )?;
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
    let signs = text[..text.len() - rest.len()].trim_end();
    !signs.is_empty()
        && rest.starts_with(|c: char| c.is_alphanumeric() || "/\\.'\"$`({%@_~".contains(c))
        && !(signs == "&" && (rest.contains(';') && !rest.contains(' ') || is_entity(rest)))
}

/// Returns whether the text begins with the rest of an HTML entity, such as `copy;`, after its `&`.
fn is_entity(text: &str) -> bool {
    text.split_once(';').is_some_and(|(name, _)| is_listed("entities", name))
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
