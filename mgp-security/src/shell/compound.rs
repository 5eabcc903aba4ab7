//! Compound commands: groups, branches, loops, functions and tests.

use super::parser::{Flaw, MAX_DEPTH, Parser};
use super::syntax::{Body, Direction, Part, Pipeline, Redirect, Script, Simple, Stage, Word};

impl Parser<'_> {
    /// Reads the compound command that begins at the current position; returns `None` if none begins here.
    pub(super) fn compound(&mut self) -> Option<Body> {
        if let Some(body) = self.evaluated() {
            return Some(body);
        }
        if self.take("(") {
            return Some(Body::Group(self.closed_list(")", Flaw::Grammar)));
        }
        let word = self.reserved();
        let reader = match word {
            "{" => Self::group,
            "if" => Self::branches,
            "for" | "select" => Self::for_loop,
            "while" | "until" => Self::while_loop,
            "case" => Self::case,
            "[[" => Self::test,
            "function" => Self::function,
            _ => return None,
        };
        self.at += word.len();
        Some(reader(self))
    }

    /// Reads the body of a function whose name has just been read.
    pub(super) fn function_body(&mut self) -> Script {
        self.lines();
        let start = self.at;
        self.depth += 1;
        let body = if self.depth > MAX_DEPTH { None } else { self.compound() };
        self.depth -= 1;
        let body = body.unwrap_or_else(|| {
            self.flawed(Flaw::Grammar);
            Body::Group(Script::default())
        });
        self.one(start, body)
    }

    /// Takes the text that closes what was read, and notes `flaw` if it is missing.
    pub(super) fn expect(&mut self, closer: &str, flaw: Flaw) {
        if !self.take(closer) {
            self.flawed(flaw);
        }
    }

    /// Takes a reserved word, if it stands here; returns whether it does.
    fn take_word(&mut self, word: &str) -> bool {
        self.reserved() == word && self.take(word)
    }

    /// Reads a list and the text that closes it, and notes `flaw` if that is missing.
    pub(super) fn closed_list(&mut self, closer: &str, flaw: Flaw) -> Script {
        let inner = self.list(&[closer]);
        self.expect(closer, flaw);
        inner
    }

    fn group(&mut self) -> Body {
        Body::Group(self.closed_list("}", Flaw::Grammar))
    }

    fn branches(&mut self) -> Body {
        let mut all = Script::default();
        loop {
            all.pipelines.extend(self.list(&["then", "elif", "else", "fi"]).pipelines);
            let word = self.reserved();
            if !matches!(word, "then" | "elif" | "else" | "fi") {
                self.flawed(Flaw::Grammar);
                return Body::Group(all);
            }
            self.at += word.len();
            if word == "fi" {
                return Body::Group(all);
            }
        }
    }

    fn for_loop(&mut self) -> Body {
        self.blanks();
        let start = self.at;
        if let Some(head) = self.evaluated() {
            let condition = self.one(start, head);
            self.lines();
            self.take(";");
            return Body::Loop { condition, body: self.loop_body() };
        }
        let variable = self.reserved().to_owned();
        self.at += variable.len();
        self.lines();
        let values = if self.take_word("in") { self.words(Self::blanks) } else { Vec::new() };
        self.lines();
        self.take(";");
        Body::For { variable, values, body: self.loop_body() }
    }

    fn while_loop(&mut self) -> Body {
        let condition = self.list(&["do"]);
        Body::Loop { condition, body: self.loop_body() }
    }

    fn loop_body(&mut self) -> Script {
        self.lines();
        if self.reserved() == "{" {
            let start = self.at;
            self.at += 1;
            let group = self.group();
            return self.one(start, group);
        }
        if !self.take_word("do") {
            self.flawed(Flaw::Grammar);
        }
        self.closed_list("done", Flaw::Grammar)
    }

    fn case(&mut self) -> Body {
        self.blanks();
        let start = self.at;
        let mut words = vec![self.made(":"), self.word()];
        self.lines();
        if !self.take_word("in") {
            self.flawed(Flaw::Grammar);
        }
        let mut branches = Vec::new();
        loop {
            self.lines();
            if self.take_word("esac") {
                break;
            }
            if self.peek().is_none() {
                self.flawed(Flaw::Grammar);
                break;
            }
            self.take("(");
            loop {
                self.blanks();
                let before = self.at;
                words.push(self.word());
                self.blanks();
                if !self.take("|") && self.at == before {
                    break;
                }
            }
            self.expect(")", Flaw::Grammar);
            let before = self.at;
            branches.extend(self.list(&["esac"]).pipelines);
            if !(self.take(";;&") || self.take(";;") || self.take(";&"))
                && self.at == before
                && self.reserved() != "esac"
            {
                self.flawed(Flaw::Open);
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            }
        }
        // The patterns of the branches are expanded too, so they are judged like words.
        words.retain(|word| !word.parts.is_empty());
        let mut all = self.one(start, Body::Simple(Simple { words, ..Simple::default() }));
        all.pipelines.extend(branches);
        Body::Group(all)
    }

    fn function(&mut self) -> Body {
        self.blanks();
        let name = self.reserved().to_owned();
        self.at += name.len();
        self.blanks();
        if self.take("(") {
            self.blanks();
            self.expect(")", Flaw::Grammar);
        }
        Body::Function { name, body: self.function_body() }
    }

    /// Reads a test `[[ .. ]]`, in which signs such as `<` and `>` compare instead of redirecting. A shell that does
    /// not know `[[` runs the text behind `&&`, `||`, `|` and a line end as commands, and writes to the word behind
    /// `>`. Both are therefore judged as well, if they begin with literal text. Only such a shell accepts `;`, `&` or a
    /// missing `]]`, which are noted as a flaw.
    fn test(&mut self) -> Body {
        let mut commands = vec![command(self.made("[["))];
        let (mut begins, mut written) = (false, false);
        loop {
            self.blanks();
            if self.take("]]") {
                break;
            }
            match self.peek() {
                None => {
                    self.flawed(Flaw::Open);
                    break;
                }
                Some(b'\n') => {
                    self.lines();
                    begins = true;
                }
                Some(b'&' | b'|' | b';') => {
                    if !["&&", "||", "|"].iter().any(|sign| self.take(sign)) {
                        self.flawed(Flaw::Open);
                        self.at += 1;
                    }
                    begins = true;
                }
                Some(sign) => {
                    let before = self.at;
                    let word = self.word();
                    if self.at == before {
                        written = sign == b'>';
                        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
                        continue;
                    }
                    let is_written_out = is_written_out(&word);
                    if begins && is_written_out {
                        commands.push(command(word));
                    } else if let Some(Stage { body: Body::Simple(simple), redirects, .. }) =
                        commands.last_mut()
                    {
                        if written && is_written_out {
                            let (target, span) = (word.clone(), word.span);
                            redirects.push(Redirect { direction: Direction::Out, target, span });
                        }
                        simple.words.push(word);
                    }
                    (begins, written) = (false, false);
                }
            }
        }
        let pipelines = commands.into_iter().map(|stage| Pipeline { stages: vec![stage], background: false });
        Body::Group(Script { pipelines: pipelines.collect() })
    }

    /// Reads `(( .. ))`, if it begins here. Only its substitutions run.
    fn evaluated(&mut self) -> Option<Body> {
        let Word { parts, span } = self.arithmetic("((")?;
        let words = vec![self.made(":"), Word { parts: vec![Part::Double(parts)], span }];
        Some(Body::Simple(Simple { words, ..Simple::default() }))
    }

    /// Reads an arithmetic expression between `opener` and `))`, if it begins here, as within double quotes.
    pub(super) fn arithmetic(&mut self, opener: &str) -> Option<Word> {
        let text = self.rest().strip_prefix(opener)?;
        let start = self.at + opener.len();
        let end = start + arithmetic_length(text)?;
        self.at = end + "))".len();
        Some(Word { parts: self.substituted(start, end), span: self.span(start, end) })
    }

    /// Returns a word with the content `text` that stands for the syntax that has just been read.
    fn made(&self, text: &str) -> Word {
        Word { parts: vec![Part::Bare(text.to_owned())], span: self.span(self.at, self.at) }
    }

    /// Returns a script that consists only of `body`, which began at `start`.
    fn one(&self, start: usize, body: Body) -> Script {
        let stage = Stage { body, redirects: Vec::new(), span: self.span(start, self.at) };
        Script { pipelines: vec![Pipeline { stages: vec![stage], background: false }] }
    }

    pub(super) fn redirect(&mut self) -> Option<Redirect> {
        let start = self.at;
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let named = rest.strip_prefix('{').and_then(|inner| inner.find('}')).map_or(0, |end| end + 2);
        let descriptor = if rest[digits..].starts_with(['<', '>']) { digits } else { named };
        let sign = rest.get(descriptor..)?;
        let (text, direction) = REDIRECTS.iter().find_map(|(direction, signs)| {
            Some((*signs.iter().find(|text| sign.starts_with(**text))?, *direction))
        })?;
        if sign.starts_with("<(") || sign.starts_with(">(") || (descriptor > 0 && sign.starts_with('&')) {
            return None;
        }
        self.at += descriptor + text.len();
        if sign.starts_with("<<") && !sign.starts_with("<<<") {
            let target = self.here_document();
            return Some(Redirect { direction, target, span: self.span(start, self.at) });
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
            // `>&file` writes to a file; `<&$fd` may read from anything.
            (Direction::Duplicate, _) if sign.starts_with('>') => Direction::Out,
            (Direction::Duplicate, _) => Direction::In,
            (direction, _) => direction,
        };
        Some(Redirect { direction, target, span: self.span(start, self.at) })
    }

    /// Reads the delimiter of a here-document, which stands here, and its body, which begins after the line; returns
    /// the body.
    fn here_document(&mut self) -> Word {
        let tabs = self.take("-");
        self.blanks();
        let delimiter = self.word();
        let quoted = delimiter.parts.iter().any(|part| !matches!(part, Part::Bare(_)));
        let end_line = delimiter.text().unwrap_or_else(|| {
            self.flawed(Flaw::Open);
            String::new()
        });
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
        let part = if quoted {
            Part::Single(self.text[start..body_end].to_owned())
        } else {
            Part::Double(self.substituted(start, body_end))
        };
        if !matches!(&part, Part::Double(inner) if inner.iter().any(|part| !matches!(part, Part::Bare(_)))) {
            self.note_text(start, body_end);
        }
        Word { parts: vec![part], span: self.span(start, body_end) }
    }
}

/// Returns a command that so far consists of one word.
fn command(word: Word) -> Stage {
    let span = word.span;
    let simple = Simple { words: vec![word], ..Simple::default() };
    Stage { body: Body::Simple(simple), redirects: Vec::new(), span }
}

/// Returns whether the word begins with literal text, and not with a variable or a substitution.
fn is_written_out(word: &Word) -> bool {
    let is_text =
        |part: &Part| matches!(part, Part::Bare(_) | Part::Escaped(_) | Part::Single(_) | Part::Ansi { .. });
    word.parts.first().is_some_and(|first| match first {
        Part::Double(inner) => inner.first().is_none_or(is_text),
        part => is_text(part),
    })
}

/// Returns the length of the arithmetic expression at the beginning of `text`, which must end before `))`; `None` if it
/// does not.
fn arithmetic_length(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'(' => open += 1,
            b')' if open > 0 => open -= 1,
            b')' => return (bytes.peek().map(|&(_, next)| next) == Some(b')')).then_some(at),
            _ => {}
        }
    }
    None
}

/// The redirection operators, each before those that it begins with, since the first one that matches is taken.
const REDIRECTS: [(Direction, &[&str]); 6] = [
    (Direction::Text, &["<<<"]),
    (Direction::Document, &["<<"]),
    (Direction::Both, &["<>"]),
    (Direction::Duplicate, &[">&", "<&"]),
    (Direction::Out, &["&>>", "&>", ">>", ">|", ">"]),
    (Direction::In, &["<"]),
];
