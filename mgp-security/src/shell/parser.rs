//! The parser of shell text: lists, pipelines and simple commands.

use std::ops::Range;

use super::syntax::{Assignment, Body, Part, Pipeline, Script, Simple, Span, Stage, Word};

/// The result of reading a text as a command line.
#[derive(Debug)]
pub(crate) struct ShellReading {
    pub(crate) script: Script,
    pub(crate) prose: Prose,
    /// The worst flaw of the text as a command line, if it has any.
    pub(crate) flaw: Option<Flaw>,
}

/// The parts of a text that are not code. Parts within backticks are not recorded.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    pub(crate) comments: Vec<Range<usize>>,
    /// Quoted texts, and the bodies of here-documents in which nothing is expanded.
    pub(crate) texts: Vec<Range<usize>>,
}

/// The way in which a text fails to be a command line, the milder one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flaw {
    /// A shell would reject the text, but there is only one way to split it into commands.
    Grammar,
    /// The text can be repaired in several ways, and these differ in where commands begin and end.
    Open,
}

/// Reads `text` as a command line.
pub(crate) fn read(text: &str) -> ShellReading {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        flaw: None,
        heredoc: None,
        origin: Origin::Slice(0),
        prose: Prose::default(),
    };
    let script = parser.list(&[]);
    ShellReading { script, prose: parser.prose, flaw: parser.flaw }
}

pub(super) struct Parser<'s> {
    pub(super) text: &'s str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) flaw: Option<Flaw>,
    /// The position of the line end before the bodies of here-documents, and the position at which the text continues
    /// after them.
    pub(super) heredoc: Option<(usize, usize)>,
    origin: Origin,
    pub(super) prose: Prose,
}

/// The relation of a parser's text to the whole text.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// The text is a piece of the whole text and begins at this byte.
    Slice(usize),
    /// The text is a copy of this span of the whole text, with its escapes removed.
    Copy(Span),
}

impl<'s> Parser<'s> {
    /// Reads `text`, which is a part of this parser's text or was made from one, with an inner parser.
    pub(super) fn within<T>(
        &mut self,
        text: &str,
        origin: Origin,
        read: impl FnOnce(&mut Parser<'_>) -> T,
    ) -> T {
        let prose = std::mem::take(&mut self.prose);
        let mut inner =
            Parser { text, at: 0, depth: self.depth + 1, flaw: self.flaw, heredoc: None, origin, prose };
        let out = read(&mut inner);
        (self.flaw, self.prose) = (inner.flaw, inner.prose);
        out
    }

    /// Returns the origin of a text that begins at this byte of the parser's text.
    pub(super) const fn origin_of(&self, start: usize) -> Origin {
        match self.origin {
            Origin::Slice(base) => Origin::Slice(base + start),
            copy @ Origin::Copy(_) => copy,
        }
    }

    /// Returns the span of these bytes in the whole text.
    pub(super) const fn span(&self, start: usize, end: usize) -> Span {
        match self.origin {
            Origin::Slice(base) => Span { start: base + start, end: base + end },
            Origin::Copy(span) => span,
        }
    }

    /// Records that these bytes are text and not code.
    pub(super) fn note_text(&mut self, start: usize, end: usize) {
        if let Origin::Slice(base) = self.origin {
            self.prose.texts.push(base + start..base + end);
        }
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
                    let start = self.at;
                    self.at += self.rest().find('\n').unwrap_or_else(|| self.rest().len());
                    if let Origin::Slice(base) = self.origin {
                        self.prose.comments.push(base + start..base + self.at);
                    }
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
                // The line end lay inside a word, so the bodies are not where the parser took them to be.
                self.flawed(Flaw::Open);
                self.at += 1;
            }
            None => self.at += 1,
        }
    }

    /// Returns the text from here up to the next blank or operator, in which reserved words and names are looked for.
    pub(super) fn reserved(&self) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Reads a list up to one of the words `until`, or to `)` if that is among them.
    pub(super) fn list(&mut self, until: &[&str]) -> Script {
        let mut script = Script::default();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.flawed(Flaw::Open);
            self.at = self.text.len();
        }
        loop {
            self.lines();
            let ends_branch = self.rest().starts_with(";;") || self.rest().starts_with(";&");
            match self.peek() {
                None => break,
                Some(b';') if ends_branch && until.contains(&"esac") => break,
                Some(b')') if until.contains(&")") => break,
                Some(b';') if ends_branch => self.skip_flawed(2),
                Some(b';') => self.at += 1,
                Some(b'&') if !self.rest().starts_with("&>") => {
                    self.at += 1;
                    if let Some(last) = script.pipelines.last_mut() {
                        last.background = !self.take("&");
                    }
                }
                Some(b'|') if self.rest().starts_with("||") => self.at += 2,
                Some(b'|' | b')') => self.skip_flawed(1),
                _ => {
                    let word = self.reserved();
                    if until.contains(&word) {
                        break;
                    }
                    if CLOSERS.contains(&word) {
                        self.skip_flawed(word.len());
                        continue;
                    }
                    let start = self.at;
                    script.pipelines.push(self.pipeline());
                    if self.at == start {
                        self.flawed(Flaw::Open);
                        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
                    }
                }
            }
        }
        self.depth -= 1;
        script
    }

    /// Skips bytes that a shell would not accept here.
    fn skip_flawed(&mut self, bytes: usize) {
        self.flawed(Flaw::Grammar);
        self.at += bytes;
    }

    fn pipeline(&mut self) -> Pipeline {
        let mut pipeline = Pipeline::default();
        loop {
            self.lines();
            let word = self.reserved();
            if matches!(word, "!" | "time" | "coproc") {
                self.at += word.len();
                self.blanks();
                self.take("-p ");
                if word == "coproc" {
                    pipeline.background = true;
                    // A name may follow, or a command.
                    self.flawed(Flaw::Open);
                }
                continue;
            }
            pipeline.stages.push(self.stage());
            self.blanks();
            let rest = self.rest();
            if rest.starts_with("||") || !rest.starts_with('|') {
                return pipeline;
            }
            self.at += if rest.starts_with("|&") { 2 } else { 1 };
        }
    }

    fn stage(&mut self) -> Stage {
        let start = self.at;
        let Some(body) = self.compound() else { return self.simple() };
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            let Some(redirect) = self.redirect() else { break };
            redirects.push(redirect);
        }
        Stage { body, redirects, span: self.span(start, self.at) }
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
                        let span = self.span(start, self.at);
                        return Stage { body: Body::Function { name, body }, redirects, span };
                    }
                    // No shell accepts a parenthesis here; its contents are judged all the same.
                    self.skip_flawed(1);
                    odd.push(self.closed_list(")", Flaw::Grammar));
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
        let span = self.span(start, self.at);
        let whole = Stage { body: Body::Simple(simple), redirects, span };
        if odd.is_empty() {
            return whole;
        }
        let mut pipelines = vec![Pipeline { stages: vec![whole], background: false }];
        pipelines.extend(odd.into_iter().flat_map(|script| script.pipelines));
        Stage { body: Body::Group(Script { pipelines }), redirects: Vec::new(), span }
    }

    fn function_name(&mut self, simple: &Simple) -> Option<String> {
        let [word] = simple.words.as_slice() else { return None };
        let [Part::Bare(name)] = word.parts.as_slice() else { return None };
        let inner = self.rest().strip_prefix('(')?.trim_start_matches([' ', '\t']);
        let after = inner.strip_prefix(')')?;
        self.at = self.text.len() - after.len();
        Some(name.clone())
    }
}

/// Reads a word as an assignment: `name=value`, `name+=value` or `name[index]=value`.
pub(crate) fn assignment(word: &Word) -> Option<Assignment> {
    let Some(Part::Bare(first)) = word.parts.first() else { return None };
    let (left, right) = first.split_once('=')?;
    let name = left.trim_end_matches('+');
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    if !is_name(name) {
        return None;
    }
    let mut parts = word.parts.clone();
    if right.is_empty() {
        parts.remove(0);
    } else {
        parts[0] = Part::Bare(right.to_owned());
    }
    Some(Assignment { name: name.to_owned(), value: Word { parts, span: word.span } })
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

const CLOSERS: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// The largest nesting depth that is read. Commands that agents have a reason to write are never nested deeper.
pub(super) const MAX_DEPTH: usize = 24;
