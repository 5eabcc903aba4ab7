//! The rules about lines for cmd.exe and PowerShell, which have their own quoting and names.

use crate::Finding;

use super::{Danger, Place, bare_name, is_listed, matched, refuse_if};

/// Judges a whole line, only for dangers that span several commands or are hidden in quotes.
pub(super) fn check_line(line: &str) -> Result<(), Finding> {
    if line.contains(['^', '|', '(', ';']) { matched("windows-line", line) } else { Ok(()) }
}

/// Judges one command as it was written.
pub(super) fn check_simple(source: &str) -> Result<(), Finding> {
    let Some(first) = source.split_whitespace().next() else { return Ok(()) };
    let name = bare_name(first.trim_start_matches('@').trim_matches(['"', '\'']));
    let name = name.as_str();
    if matches!(name, "cmd" | "start" | "forfiles" | "pcalua") {
        return nested(source);
    }
    if matches!(name, "powershell" | "pwsh") {
        let is_disguised =
            source.contains(['*', '?']) && source.contains('\\') && !source.contains(['-', '/']);
        refuse_if(is_disguised, Danger::Obfuscation)?;
        matched("powershell", source)?;
        return nested(source);
    }
    // The rules for shells judge `rm`.
    if name == "rm" || !is_listed("windows-names", name) {
        return Ok(());
    }
    refuse_if(deletes_tree(source), Danger::RecursiveDelete)?;
    matched("windows", source)
}

/// Judges the text that an interpreter is given, in which every word may begin a command.
fn nested(source: &str) -> Result<(), Finding> {
    for (at, _) in source.match_indices([' ', '"', '\'', '&', '|', ';', '(', '{']).take(MAX_STARTS) {
        let rest = source[at + 1..].trim_start();
        let word = rest.split(|c: char| c.is_whitespace() || "\"'&|;()".contains(c)).next().unwrap_or("");
        let lower = word.to_ascii_lowercase();
        if is_listed("windows-names", lower.strip_suffix(".exe").unwrap_or(&lower)) {
            let command = rest.split(['|', ';', '&', '"', '\'']).next().unwrap_or(rest);
            refuse_if(deletes_tree(command) || deletes_tree(rest), Danger::RecursiveDelete)?;
            matched("windows", rest)?;
        }
    }
    Ok(())
}

/// Returns whether the command deletes trees other than those that programs fill again.
fn deletes_tree(source: &str) -> bool {
    let mut words = source.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let name = words.next().unwrap_or("").trim_start_matches('@').to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let (cmdlet, command) =
        (matches!(name, "remove-item" | "ri"), matches!(name, "rd" | "rmdir" | "del" | "erase"));
    if !cmdlet && !command {
        return false;
    }
    let mut recursive = false;
    let mut targets = Vec::new();
    for word in words {
        let lower = word.to_ascii_lowercase();
        let switch = lower.strip_prefix('-').filter(|switch| !switch.is_empty());
        if switch.is_some_and(|switch| "recurse".starts_with(switch)) {
            recursive = true;
        } else if command && lower == "/s" {
            // The other rules judge the deletion of files that match a pattern.
            recursive |= matches!(name, "rd" | "rmdir");
        } else if switch.is_none() && !(word.starts_with('/') && word.len() == 2) {
            targets.push(word.trim_matches(['"', '\'', '(', ')', '{', '}']));
        }
    }
    let own = |target: &&str| !target.contains(['%', '$']) && Place::new(target, "").is_below_here();
    let rebuilt = |target: &&str| own(target) && Place::new(target, "").is_rebuilt();
    recursive && (targets.is_empty() || !targets.iter().all(rebuilt))
}

const MAX_STARTS: usize = 64;
