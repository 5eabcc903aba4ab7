//! The rules for Bash: every command by the name it has after quoting, wherever it stands, and the targets of its
//! output.

use std::collections::HashSet;
use std::slice;
use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::{Readonly, Standard, Strict};

use super::{CodePolicy, Findings, Lists, Token, blanked, check_other, find_declared, path_text, tokens_of};
use crate::network::is_metadata_url;
use crate::shell::syntax::{
    Body, Direction, Item, Part, Redirect, Script, Simple, Span, Stage, Word, text_of,
};
use crate::shell::{Flaw, Prose, assignment, expand_braces, read};

/// Records the violations of `policy` in the code.
pub(super) fn check(code: &str, policy: &CodePolicy, findings: &mut Findings) {
    let reading = read(code);
    match reading.flaw {
        None => {}
        // Shells may read code that this parser cannot: below strict its pieces are checked, from strict on it is
        // refused.
        Some(Flaw::Grammar) if policy.level < Strict => check_other(code, policy, findings),
        // The places where commands begin and end are not certain.
        Some(_) => return findings.whole(format!("Code cannot be read as {}", policy.language)),
    }
    let mut check = BashCheck { code, policy, findings, judged: HashSet::new() };
    reading.script.walk(&mut |item| match item {
        Item::Pipeline(_) => {}
        Item::Stage(stage) => check.stage(stage),
        Item::Word(word) => check.word(word),
    });
    if !policy.patterns.is_empty() {
        check.declared(&reading.prose);
    }
}

/// One check of one piece of code.
struct BashCheck<'c> {
    code: &'c str,
    policy: &'c CodePolicy,
    findings: &'c mut Findings,
    /// The texts of words that were judged already: scripts name the same things again and again.
    judged: HashSet<String>,
}

impl<'c> BashCheck<'c> {
    fn stage(&mut self, stage: &Stage) {
        let at = stage.span.start;
        stage.redirects.iter().for_each(|redirect| self.redirect(redirect));
        match &stage.body {
            Body::Simple(simple) => self.simple(simple, at),
            Body::Loop { condition, body } if is_endless(condition, body) => {
                self.findings.pattern(Strict, "endless loop", at);
            }
            Body::Function { name, body }
                if body.runs_beside() && body.commands().contains(&Some(name.clone())) =>
            {
                self.findings.pattern(Standard, "fork bomb", at);
            }
            _ => {}
        }
    }

    fn simple(&mut self, simple: &Simple, at: usize) {
        simple.assignments.iter().for_each(|it| self.variable(&it.name, it.value.span.start));
        let Some((first, rest)) = simple.words.split_first() else { return };
        if matches!(first.text().as_deref(), Some("export" | "declare" | "typeset" | "readonly" | "local")) {
            let assigned = rest.iter().filter_map(assignment);
            return assigned.for_each(|it| self.variable(&it.name, it.value.span.start));
        }
        let is_hidden = first.parts.iter().any(|part| match part {
            Part::Ansi { hidden, .. } => *hidden,
            Part::Bare(text) => text.contains('{') && text.contains(','),
            _ => false,
        });
        if is_hidden || first.text().is_none() {
            // A reader of the code cannot tell which command is run.
            self.findings.pattern(Strict, self.written(first.span), at);
        }
        let words: Vec<_> = simple.words.iter().flat_map(expanded).collect();
        let Some((Some(name), words)) = words.split_first() else { return };
        let name = base(name);
        if matches!(name, "source" | ".") {
            let file = words.first().and_then(Option::as_deref).unwrap_or("source");
            return self.findings.import(file, at);
        }
        if self.policy.blocks_import(name) {
            self.findings.import(name, at);
        }
        self.command(name, words, at);
        if LISTS.has("wrappers", name) {
            for (index, inner) in words.iter().enumerate() {
                if let Some(inner) = inner.as_deref().filter(|inner| !inner.starts_with('-')) {
                    self.command(base(inner), &words[index + 1..], at);
                }
            }
        }
    }

    fn command(&mut self, name: &str, words: &[Option<String>], at: usize) {
        let any = |is: &dyn Fn(&str) -> bool| words.iter().flatten().any(|word| is(word));
        let has = |list| any(&|word| LISTS.has(list, word));
        let begins = |list| any(&|word| LISTS.names(list).iter().any(|start| word.starts_with(start)));
        let has_flag = |letter: char| {
            any(&|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
        };
        if LISTS.has("dangerous", name) || name.starts_with("mkfs") {
            self.findings.pattern(Standard, name, at);
        }
        if LISTS.has("strict", name) {
            self.findings.pattern(Strict, name, at);
        }
        // The options `-c`, `-e` and `-r` take code as a text; without a file argument, code comes from the pipe.
        let takes_text = has_flag('c') || has_flag('e') || has_flag('r') || has("code-options");
        let reads_pipe = !any(&|word| !word.starts_with('-')) && words.iter().all(Option::is_some);
        if LISTS.has("interpreters", name) && (takes_text || reads_pipe) {
            self.findings.pattern(Standard, &format!("{name} -c"), at);
        }
        let is_recursive = has_flag('r') || has_flag('R') || has("recursive-options");
        let is_forced = has_flag('f') || has("forcing-options");
        let of_system = any(&|word| path_text::is_of_system(word) || matches!(word, "~" | "*" | "." | ".."));
        match name {
            "rm" if is_recursive && (is_forced || of_system) => self.findings.pattern(Standard, "rm -rf", at),
            "rm" | "mv" | "cp" | "ln" | "tee" | "touch" | "truncate" | "mkdir" | "rmdir" if of_system => {
                self.findings.pattern(Strict, name, at);
            }
            "find" if has("find-acting") => self.findings.pattern(Standard, "find -exec", at),
            "chmod" if has("chmod-opening") => self.findings.pattern(Strict, "chmod", at),
            "tar" if begins("tar-running") => self.findings.pattern(Standard, "tar --checkpoint-action", at),
            "git" if has("git-running") => self.findings.pattern(Standard, "git -c", at),
            "awk" | "gawk" | "mawk"
                if any(&|word| word.contains("system(") || word.contains("| getline")) =>
            {
                self.findings.pattern(Standard, "awk system(", at);
            }
            "curl" | "wget" if begins("uploading") => self.findings.pattern(Readonly, name, at),
            "wget" if !has("wget-printing") => self.findings.pattern(Readonly, name, at),
            "sed" | "perl" if has_flag('i') || has("in-place-options") => {
                self.findings.pattern(Readonly, &format!("{name} -i"), at);
            }
            "git" if !words.iter().flatten().next().is_some_and(|verb| LISTS.has("git-reads", verb)) => {
                self.findings.pattern(Readonly, "git", at);
            }
            name if LISTS.has("mutating", name) => self.findings.pattern(Readonly, name, at),
            _ => {}
        }
    }

    /// Checks a redirection: output to files, and the sockets that Bash has among its paths.
    fn redirect(&mut self, redirect: &Redirect) {
        let (is_output, at) = (redirect.direction.writes(), redirect.span.start);
        match redirect.target.text().as_deref() {
            _ if matches!(redirect.direction, Direction::Text | Direction::Document) => {}
            Some(path) if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") => {
                self.findings.pattern(Standard, "/dev/tcp", at);
            }
            Some("/dev/null" | "/dev/stdout" | "/dev/stderr") => {}
            Some(path) if is_output && path_text::is_of_system(path) => {
                self.findings.pattern(Strict, self.written(redirect.span), at);
            }
            Some(path) if is_output && path.chars().all(|c| c.is_ascii_digit() || c == '-') => {}
            _ if is_output => self.findings.pattern(Readonly, self.written(redirect.span), at),
            _ => {}
        }
    }

    /// Checks an assignment: some variables make other programs load or run something.
    fn variable(&mut self, name: &str, at: usize) {
        if LISTS.has("steering", name) || name.starts_with("LD_") || name.starts_with("DYLD_") {
            self.findings.pattern(Strict, name, at);
        }
    }

    /// Checks the text of a word: the whole, each of its parts, and the pieces between pattern and brace characters.
    fn word(&mut self, word: &Word) {
        let parts = word.parts.iter().filter_map(|part| text_of(slice::from_ref(part)));
        let pieces = word.parts.iter().flat_map(|part| match part {
            Part::Bare(text) => text.split(['[', ']', '{', '}', ',']).map(str::to_owned).collect(),
            _ => Vec::new(),
        });
        for text in word.text().into_iter().chain(parts).chain(pieces).chain(defaults(&word.parts)) {
            let is_sensitive = || path_text::is_sensitive(&text) || is_metadata_url(&text);
            if !self.judged.contains(&text) && is_sensitive() {
                self.findings.pattern(Strict, &text, word.span.start);
            }
            self.judged.insert(text);
        }
    }

    /// Searches for the patterns that the policy declares, with variables as written and as names without their `$`.
    fn declared(&mut self, prose: &Prose) {
        let with_texts = blanked(self.code, prose.comments.iter().cloned());
        let bare = blanked(&with_texts, prose.texts.iter().cloned()).replace('"', " ");
        let mut at = 0;
        let apart = bare.split_inclusive('$').flat_map(|piece| {
            let start = at;
            at += piece.len();
            let sign = piece.strip_suffix('$').map(|name| Token { text: "$".into(), at: start + name.len() });
            tokens_of(piece.trim_end_matches('$'), start).chain(sign)
        });
        let apart: Vec<Token<'_>> = apart.collect();
        let whole: Vec<Token<'_>> = tokens_of(&bare, 0).collect();
        for tokens in [whole, apart] {
            find_declared(&self.policy.patterns, &tokens, &with_texts, self.findings);
        }
    }

    /// Returns the source text of `span`.
    fn written(&self, span: Span) -> &'c str {
        self.code.get(span.start..span.end).unwrap_or_default()
    }
}

/// Returns whether a loop does nothing and its condition always holds.
fn is_endless(condition: &Script, body: &Script) -> bool {
    let [pipeline] = condition.pipelines.as_slice() else { return false };
    let [Stage { body: Body::Simple(simple), .. }] = pipeline.stages.as_slice() else { return false };
    let words: Option<Vec<String>> = simple.words.iter().map(Word::text).collect();
    words.is_some_and(|words| matches!(&*words.join(" "), "true" | ":" | "[ 1 ]"))
        && body.commands().iter().all(|name| matches!(name.as_deref(), Some(":" | "true")))
}

/// Returns the words that a shell makes of the braces of a word; `None` for words that are not known.
fn expanded(word: &Word) -> Vec<Option<String>> {
    let Some(text) = word.text() else { return vec![None] };
    let is_braced = word.parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{')));
    let words = if is_braced { expand_braces(&text, MAX_BRACED_WORDS) } else { vec![text] };
    words.into_iter().map(Some).collect()
}

/// Returns the default texts in expansions like `${name:-text}`.
fn defaults(parts: &[Part]) -> Vec<String> {
    let mut texts = Vec::new();
    for part in parts {
        match part {
            Part::Double(inner) => texts.extend(defaults(inner)),
            Part::Variable { operator: Some(inner), .. } => {
                let text = text_of(inner);
                texts.extend(text.map(|text| text.trim_start_matches([':', '-', '=', '+', '?']).to_owned()));
                texts.extend(defaults(inner));
            }
            _ => {}
        }
    }
    texts
}

/// Returns the name of a command without its folder.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The maximum number of words that braces are expanded to; those that would become more stay as they are written.
const MAX_BRACED_WORDS: usize = 64;

/// The lists of `names.txt`, which explains each.
static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists::read(include_str!("names.txt")));
