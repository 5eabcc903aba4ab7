//! Bash: every command by the name it has after quoting, wherever it stands, and where its output goes.

mod commands;
#[cfg(test)]
mod tests;

use mgp_types::mgp::SafetyLevel::{Readonly, Standard, Strict};

use self::commands::{DANGEROUS, INTERPRETERS, MUTATING, STRICT, WRAPPERS};
use super::finding::Findings;
use super::policy::CodePolicy;
use super::scan::Reading;
use super::syntax::{Grammar, Node, Tree};
use super::{address, path_text};

pub(super) const READINGS: &[Reading] = &[(Grammar::Bash, "", "")];

/// Records what the code must not do.
pub(super) fn check(tree: &Tree, policy: &CodePolicy, findings: &mut Findings) {
    for node in tree.nodes() {
        match node.kind() {
            "command" => command(node, policy, findings),
            "file_redirect" => redirect(node, findings),
            "function_definition" => fork_bomb(node, findings),
            "variable_assignment" => steering_variable(node, findings),
            "word" | "string" | "raw_string" | "concatenation" | "ansi_c_string" => sensitive(node, findings),
            "while_statement" => endless_loop(node, findings),
            _ => {}
        }
    }
}

fn command(node: Node<'_>, policy: &CodePolicy, findings: &mut Findings) {
    let Some(name_node) = node.field("name") else { return };
    let at = node.at();
    let arguments: Vec<Node<'_>> =
        node.children().filter(|child| child.field_name() == Some("argument")).collect();
    let Some(name) = name_node.children().next().and_then(word) else {
        // What is run is not known before it is run.
        return findings.pattern(Strict, name_node.text(), at);
    };
    let words: Vec<Option<String>> = arguments.iter().map(|argument| word(*argument)).collect();
    let name = base(&name);
    if matches!(name, "source" | ".") {
        let file = words.first().and_then(Option::as_deref).unwrap_or("source");
        return findings.import(file, at);
    }
    if policy.blocks_import(name) {
        findings.import(name, at);
    }
    judge(name, &words, node, findings);
    if WRAPPERS.contains(&name) {
        for (index, inner) in words.iter().enumerate() {
            if let Some(inner) = inner.as_deref().filter(|inner| !inner.starts_with('-')) {
                judge(base(inner), &words[index + 1..], node, findings);
            }
        }
    }
}

fn judge(name: &str, words: &[Option<String>], node: Node<'_>, findings: &mut Findings) {
    let at = node.at();
    let has = |wanted: &[&str]| words.iter().flatten().any(|word| wanted.contains(&&**word));
    let has_flag = |letter: char| {
        words
            .iter()
            .flatten()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    if DANGEROUS.contains(&name) || name.starts_with("mkfs") {
        findings.pattern(Standard, name, at);
    }
    if STRICT.contains(&name) {
        findings.pattern(Strict, name, at);
    }
    // `-c` and its like take code as a text; without a file to read, code comes from the pipe.
    let takes_text =
        has_flag('c') || has_flag('e') || has_flag('r') || has(&["-", "-s", "--eval", "--command"]);
    let reads_pipe =
        !words.iter().flatten().any(|word| !word.starts_with('-')) && words.iter().all(Option::is_some);
    if INTERPRETERS.contains(&name) && (takes_text || reads_pipe) {
        findings.pattern(Standard, &format!("{name} -c"), at);
    }
    let is_recursive = has_flag('r') || has_flag('R') || has(&["--recursive"]);
    let is_forced = has_flag('f') || has(&["--force", "--no-preserve-root"]);
    let of_system = words
        .iter()
        .flatten()
        .any(|word| path_text::is_of_system(word) || matches!(&**word, "~" | "*" | "." | ".."));
    match name {
        "rm" if is_recursive && (is_forced || of_system) => findings.pattern(Standard, "rm -rf", at),
        "rm" | "mv" | "cp" | "ln" | "tee" | "touch" | "truncate" | "mkdir" | "rmdir" if of_system => {
            findings.pattern(Strict, name, at);
        }
        "find" if has(&["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint"]) => {
            findings.pattern(Standard, "find -exec", at);
        }
        "chmod" if has(&["777", "0777", "a+w", "o+w", "u+s", "+s", "4755"]) => {
            findings.pattern(Strict, "chmod", at);
        }
        "tar" if has_checkpoint(words) => findings.pattern(Standard, "tar --checkpoint-action", at),
        "git" if has(&["-c", "--exec-path", "--upload-pack"]) => findings.pattern(Standard, "git -c", at),
        "awk" | "gawk" | "mawk"
            if words.iter().flatten().any(|word| word.contains("system(") || word.contains("| getline")) =>
        {
            findings.pattern(Standard, "awk system(", at);
        }
        "curl" | "wget" if has_upload(words) => findings.pattern(Readonly, name, at),
        "wget" if !has(&["-O-", "-qO-", "--spider"]) => findings.pattern(Readonly, name, at),
        "sed" | "perl" if has_flag('i') || has(&["--in-place"]) => {
            findings.pattern(Readonly, &format!("{name} -i"), at);
        }
        "git" if !words.iter().flatten().next().is_some_and(|verb| GIT_READS.contains(&&**verb)) => {
            findings.pattern(Readonly, "git", at);
        }
        name if MUTATING.contains(&name) => findings.pattern(Readonly, name, at),
        _ => {}
    }
}

fn has_checkpoint(words: &[Option<String>]) -> bool {
    words.iter().flatten().any(|word| {
        word.starts_with("--checkpoint-action") || word.starts_with("--to-command") || word.starts_with("-I")
    })
}

fn has_upload(words: &[Option<String>]) -> bool {
    words.iter().flatten().any(|word| {
        [
            "-d",
            "--data",
            "-F",
            "--form",
            "-T",
            "--upload",
            "-X",
            "--request",
            "-o",
            "-O",
            "--output",
            "--remote-name",
            "--post",
            "--method",
        ]
        .iter()
        .any(|flag| word.starts_with(flag))
    })
}

/// Output to files, and the sockets that Bash has among its paths.
fn redirect(node: Node<'_>, findings: &mut Findings) {
    let target = node.field("destination").and_then(word);
    let is_output = node.children().any(|part| !part.is_named() && part.text().contains('>'));
    match target.as_deref() {
        Some(path) if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") => {
            findings.pattern(Standard, "/dev/tcp", node.at());
        }
        Some("/dev/null" | "/dev/stdout" | "/dev/stderr") => {}
        Some(path) if is_output => {
            let is_descriptor = path.chars().all(|c| c.is_ascii_digit() || c == '-');
            if path_text::is_of_system(path) {
                findings.pattern(Strict, node.text(), node.at());
            } else if !is_descriptor {
                findings.pattern(Readonly, node.text(), node.at());
            }
        }
        None if is_output => findings.pattern(Readonly, node.text(), node.at()),
        _ => {}
    }
}

/// A function that starts itself in the background.
fn fork_bomb(node: Node<'_>, findings: &mut Findings) {
    let (Some(name), Some(body)) = (node.field("name"), node.field("body")) else { return };
    let calls_itself =
        body.descendants().any(|part| part.kind() == "command_name" && part.text() == name.text());
    let in_background = body.descendants().any(|part| part.kind() == "&");
    if calls_itself && in_background {
        findings.pattern(Standard, "fork bomb", node.at());
    }
}

fn endless_loop(node: Node<'_>, findings: &mut Findings) {
    let is_endless = node
        .field("condition")
        .is_some_and(|condition| matches!(condition.text().trim_end_matches(';'), "true" | ":" | "[ 1 ]"));
    let commands = node
        .field("body")
        .into_iter()
        .flat_map(Node::descendants)
        .filter(|part| part.kind() == "command_name");
    if is_endless && commands.into_iter().all(|name| matches!(name.text(), ":" | "true")) {
        findings.pattern(Strict, "endless loop", node.at());
    }
}

/// Variables by which other programs are made to load or run something.
fn steering_variable(node: Node<'_>, findings: &mut Findings) {
    let name = node.field("name").map(Node::text).unwrap_or_default();
    let steers = [
        "LD_",
        "DYLD_",
        "BASH_ENV",
        "ENV",
        "IFS",
        "PROMPT_COMMAND",
        "PATH",
        "PYTHON",
        "NODE_OPTIONS",
        "PERL5",
        "GIT_SSH",
    ];
    if steers.iter().any(|start| if start.ends_with('_') { name.starts_with(start) } else { name == *start })
    {
        findings.pattern(Strict, name, node.at());
    }
}

fn sensitive(node: Node<'_>, findings: &mut Findings) {
    if let Some(text) =
        word(node).filter(|text| path_text::is_sensitive(text) || address::is_metadata_url(text))
    {
        findings.pattern(Strict, &text, node.at());
    }
}

/// What a word is after quoting, if nothing in it is filled in when it runs.
fn word(node: Node<'_>) -> Option<String> {
    match node.kind() {
        "word" => Some(node.text().replace('\\', "")),
        "number" => Some(node.text().to_owned()),
        "raw_string" => Some(node.text().trim_matches('\'').to_owned()),
        "ansi_c_string" if !node.text().contains('\\') => {
            Some(node.text().trim_start_matches("$'").trim_end_matches('\'').to_owned())
        }
        "string" => {
            let is_plain = node.named_children().all(|part| part.kind() == "string_content");
            is_plain.then(|| node.text().trim_matches('"').to_owned())
        }
        // One level is what the grammar makes of a word with several quotings.
        "concatenation" => node
            .children()
            .map(|part| if part.kind() == "concatenation" { None } else { word(part) })
            .collect(),
        _ => None,
    }
}

/// The name of a command without the folder it is in.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

const GIT_READS: &[&str] = &[
    "log",
    "show",
    "diff",
    "status",
    "ls-files",
    "ls-tree",
    "blame",
    "rev-parse",
    "cat-file",
    "grep",
    "describe",
    "shortlog",
];
