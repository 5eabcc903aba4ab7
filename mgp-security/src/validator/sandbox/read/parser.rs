//! Lists, pipelines, simple commands and redirections.

use super::syntax::{Assignment, Body, Direction, Part, Pipeline, Redirect, Script, Simple, Stage, Word};

/// What a text says as a command line.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) script: Script,
    /// What is wrong with the text as a command line, if anything.
    pub(crate) flaw: Option<Flaw>,
}

/// In what way a text is no command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flaw {
    /// A shell would refuse it, yet there is one way only to part it into commands.
    Grammar,
    /// Where commands begin and end depends on how it is mended.
    Open,
}

/// Reads `text` as a command line.
pub(crate) fn read(text: &str) -> Reading {
    let mut parser = Parser::new(text, 0);
    let script = parser.list(&Until::END);
    Reading { script, flaw: parser.flaw }
}

pub(super) struct Parser<'s> {
    pub(super) text: &'s str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) flaw: Option<Flaw>,
    /// The line end before the bodies of here-documents, and where the text goes on after them.
    heredoc: Option<(usize, usize)>,
}

/// Where a list ends: before one of these words, or before `)`.
pub(super) struct Until {
    pub(super) words: &'static [&'static str],
    pub(super) paren: bool,
}

impl Until {
    pub(super) const END: Self = Self { words: &[], paren: false };
    pub(super) const PAREN: Self = Self { words: &[], paren: true };

    pub(super) const fn words(words: &'static [&'static str]) -> Self {
        Self { words, paren: false }
    }
}

impl<'s> Parser<'s> {
    pub(super) const fn new(text: &'s str, depth: usize) -> Self {
        Self { text, at: 0, depth, flaw: None, heredoc: None }
    }

    pub(super) fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn flawed(&mut self, flaw: Flaw) {
        self.flaw = self.flaw.max(Some(flaw));
    }

    pub(super) fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Skips blanks and continued lines, and a comment if one begins here.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.rest().starts_with("\\\n") => self.at += 2,
                Some(b'#') => {
                    self.at += self.rest().find('\n').unwrap_or_else(|| self.rest().len());
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends.
    pub(super) fn lines(&mut self) {
        self.blanks();
        while self.peek() == Some(b'\n') {
            self.line_end();
            self.blanks();
        }
    }

    fn line_end(&mut self) {
        match self.heredoc.take() {
            Some((end, resume)) if end == self.at => self.at = resume,
            Some(_) => {
                // The line end lay inside a word, so the bodies were not where they seemed to be.
                self.flawed(Flaw::Open);
                self.at += 1;
            }
            None => self.at += 1,
        }
    }

    /// The word made of plain characters only that stands here, if it ends here too.
    pub(super) fn reserved(&self) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    pub(super) fn list(&mut self, until: &Until) -> Script {
        let mut script = Script::default();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.flawed(Flaw::Open);
            self.at = self.text.len();
        }
        loop {
            self.lines();
            match self.peek() {
                None => break,
                Some(b';') if self.rest().starts_with(";;") || self.rest().starts_with(";&") => {
                    if until.words.contains(&"esac") {
                        break;
                    }
                    self.flawed(Flaw::Grammar);
                    self.at += 2;
                    continue;
                }
                Some(b';') => {
                    self.at += 1;
                    continue;
                }
                Some(b'&') if !self.rest().starts_with("&>") => {
                    self.at += 1;
                    if let Some(last) = script.pipelines.last_mut() {
                        last.background = !self.take("&");
                    }
                    continue;
                }
                Some(b'|') => {
                    if !self.take("||") {
                        self.flawed(Flaw::Grammar);
                        self.at += 1;
                    }
                    continue;
                }
                Some(b')') => {
                    if until.paren {
                        break;
                    }
                    self.flawed(Flaw::Grammar);
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let word = self.reserved();
            if until.words.contains(&word) {
                break;
            }
            if CLOSERS.contains(&word) {
                self.flawed(Flaw::Grammar);
                self.at += word.len();
                continue;
            }
            let start = self.at;
            let pipeline = self.pipeline();
            script.pipelines.push(pipeline);
            if self.at == start {
                self.flawed(Flaw::Open);
                self.at += self.rest().chars().next().map_or(1, char::len_utf8);
            }
        }
        self.depth -= 1;
        script
    }

    fn pipeline(&mut self) -> Pipeline {
        let mut pipeline = Pipeline::default();
        loop {
            self.lines();
            if matches!(self.reserved(), "!" | "time" | "coproc") {
                pipeline.background |= self.reserved() == "coproc";
                self.at += self.reserved().len();
                self.blanks();
                self.take("-p ");
                continue;
            }
            let stage = self.stage();
            pipeline.stages.push(stage);
            self.blanks();
            let rest = self.rest();
            if rest.starts_with("||") || !rest.starts_with('|') {
                return pipeline;
            }
            self.at += if rest.starts_with("|&") { 2 } else { 1 };
        }
    }

    fn stage(&mut self) -> Stage {
        if let Some(body) = self.compound() {
            let mut redirects = Vec::new();
            loop {
                self.blanks();
                let Some(redirect) = self.redirect() else { break };
                redirects.push(redirect);
            }
            return Stage { body, redirects };
        }
        self.simple()
    }

    fn simple(&mut self) -> Stage {
        let start = self.at;
        let mut simple = Simple::default();
        let mut redirects = Vec::new();
        let mut odd = Vec::new();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect() {
                redirects.push(redirect);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    if let Some(name) = self.function_name(&simple) {
                        let body = self.function_body();
                        return Stage { body: Body::Function { name, body }, redirects };
                    }
                    // No shell takes a parenthesis here; what is in it is judged all the same.
                    self.flawed(Flaw::Grammar);
                    self.at += 1;
                    odd.push(self.list(&Until::PAREN));
                    self.take(")");
                    continue;
                }
                _ => {}
            }
            let before = self.at;
            let word = self.word();
            if self.at == before {
                break;
            }
            match assignment(&word) {
                Some(assignment) if simple.words.is_empty() => simple.assignments.push(assignment),
                _ => simple.words.push(word),
            }
        }
        self.text.get(start..self.at).unwrap_or("").clone_into(&mut simple.source);
        if odd.is_empty() {
            return Stage { body: Body::Simple(simple), redirects };
        }
        let whole = Stage { body: Body::Simple(simple), redirects };
        odd.insert(0, Script { pipelines: vec![Pipeline { stages: vec![whole], background: false }] });
        Stage { body: Body::Group(odd), redirects: Vec::new() }
    }

    fn function_name(&mut self, simple: &Simple) -> Option<String> {
        let [word] = simple.words.as_slice() else { return None };
        let [Part::Bare(name)] = word.parts.as_slice() else { return None };
        let inner = self.rest().strip_prefix('(')?.trim_start_matches([' ', '\t']);
        let after = inner.strip_prefix(')')?;
        self.at = self.text.len() - after.len();
        Some(name.clone())
    }

    fn redirect(&mut self) -> Option<Redirect> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let named = rest.strip_prefix('{').and_then(|inner| inner.find('}')).map_or(0, |end| end + 2);
        let descriptor = if rest[digits..].starts_with(['<', '>']) { digits } else { named };
        let sign = rest.get(descriptor..)?;
        let (_, length, direction) = REDIRECTS
            .iter()
            .find_map(|&(text, direction)| sign.starts_with(text).then_some((text, text.len(), direction)))?;
        if sign.starts_with("<(") || sign.starts_with(">(") || (descriptor > 0 && sign.starts_with('&')) {
            return None;
        }
        self.at += descriptor + length;
        if sign.starts_with("<<") && !sign.starts_with("<<<") {
            return Some(Redirect { direction: Direction::Text, target: self.here_document() });
        }
        self.blanks();
        let before = self.at;
        let target = self.word();
        if self.at == before {
            self.flawed(Flaw::Grammar);
        }
        let direction = match (direction, target.parts.as_slice()) {
            (Direction::Duplicate, [Part::Bare(text)])
                if text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit()) =>
            {
                Direction::Duplicate
            }
            // `>&file` writes to a file, `<&$fd` may be anything.
            (Direction::Duplicate, _) if sign.starts_with('>') => Direction::Out,
            (Direction::Duplicate, _) => Direction::In,
            (direction, _) => direction,
        };
        Some(Redirect { direction, target })
    }

    /// Reads the delimiter that stands here and the body that begins after the line.
    fn here_document(&mut self) -> Word {
        let tabs = self.take("-");
        self.blanks();
        let delimiter = self.word();
        let mut quoted = false;
        let mut end_line = String::new();
        for part in &delimiter.parts {
            match part {
                Part::Bare(text) => end_line.push_str(text),
                Part::Single(text) | Part::Ansi { text, .. } => {
                    quoted = true;
                    end_line.push_str(text);
                }
                Part::Escaped(c) => {
                    quoted = true;
                    end_line.push(*c);
                }
                Part::Double(inner) => {
                    quoted = true;
                    if let [Part::Bare(text)] = inner.as_slice() {
                        end_line.push_str(text);
                    }
                }
                _ => self.flawed(Flaw::Open),
            }
        }
        let (line_end, start) = match self.heredoc {
            Some(pending) => pending,
            None => match self.rest().find('\n') {
                Some(offset) => (self.at + offset, self.at + offset + 1),
                None => return Word::default(),
            },
        };
        let mut at = start;
        let mut body_end = self.text.len();
        let mut resume = self.text.len();
        for line in self.text[start..].split_inclusive('\n') {
            let bare = line.trim_end_matches('\n');
            if (if tabs { bare.trim_start_matches('\t') } else { bare }) == end_line {
                body_end = at;
                resume = at + line.len();
                break;
            }
            at += line.len();
        }
        self.heredoc = Some((line_end, resume));
        let body = &self.text[start..body_end];
        let part = if quoted { Part::Single(body.to_owned()) } else { Part::Double(self.substituted(body)) };
        Word { parts: vec![part] }
    }
}

/// `name=value`, `name+=value` and `name[index]=value`.
fn assignment(word: &Word) -> Option<Assignment> {
    let Some(Part::Bare(first)) = word.parts.first() else { return None };
    let (left, right) = first.split_once('=')?;
    let name = left.trim_end_matches('+');
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    {
        return None;
    }
    let mut parts = word.parts.clone();
    if right.is_empty() {
        parts.remove(0);
    } else {
        parts[0] = Part::Bare(right.to_owned());
    }
    Some(Assignment { name: name.to_owned(), value: Word { parts } })
}

/// Longest first, since the first that fits is taken.
const REDIRECTS: [(&str, Direction); 13] = [
    ("<<<", Direction::Text),
    ("<<", Direction::Text),
    ("&>>", Direction::Out),
    ("&>", Direction::Out),
    (">>", Direction::Out),
    (">|", Direction::Out),
    (">&", Direction::Duplicate),
    ("<&", Direction::Duplicate),
    ("<>", Direction::In),
    ("<(", Direction::In),
    (">(", Direction::Out),
    ("<", Direction::In),
    (">", Direction::Out),
];

const CLOSERS: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// Nothing an agent has a reason to write is nested deeper.
pub(super) const MAX_DEPTH: usize = 24;
