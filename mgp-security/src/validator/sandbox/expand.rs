//! The expansion of words as a shell does it: braces, variables, substitutions, splitting, patterns.

use crate::Finding;
use crate::shell::syntax::{Body, Part, Script, Word};

use super::argv::is_shell;
use super::finding::{REFUSE_OBFUSCATION, REFUSE_UNDECIDABLE, refuse};
use super::judge::Judge;
use super::known::is_listed;
use super::value::{Arg, Flow, HOLE, Marks, Text};

/// One character of a word, with its origin, which decides what the shell still does to it.
#[derive(Clone, Copy)]
struct Cell {
    c: char,
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The character is written without quotes: braces, tildes, patterns and splitting are active.
    Bare,
    Quoted,
    /// The character comes from a variable or a substitution outside quotes: it is split, and can be a pattern.
    Value,
}

#[derive(Default)]
struct Cells {
    list: Vec<Cell>,
    marks: Marks,
    /// True if the word contains quotes, so that it exists even if it is empty.
    quoted: bool,
}

impl Cells {
    fn push(&mut self, text: &str, origin: Origin) {
        self.list.extend(text.chars().map(|c| Cell { c, origin }));
    }
}

impl Judge<'_> {
    /// Returns the arguments that `word` expands to.
    pub(super) fn expand(&mut self, word: &Word) -> Result<Vec<Arg>, Finding> {
        let mut whole = Cells::default();
        self.gather(&word.parts, false, &mut whole)?;
        if in_pieces(word) {
            whole.marks.add(Marks::PIECES);
        }
        let mut words = Vec::new();
        let mut steps = MAX_BRACE_STEPS;
        braces(whole.list, &mut words, &mut steps);
        let mut args = Vec::new();
        for cells in words {
            split(&cells, whole.marks, whole.quoted, &mut args);
        }
        Ok(args)
    }

    /// Returns the single text that `word` expands to in places where a shell does not split: assignments, redirections
    /// and here-strings.
    pub(super) fn expand_whole(&mut self, word: &Word) -> Result<Arg, Finding> {
        let mut whole = Cells::default();
        self.gather(&word.parts, false, &mut whole)?;
        if in_pieces(word) {
            whole.marks.add(Marks::PIECES);
        }
        if whole.list.iter().any(|cell| cell.origin == Origin::Bare && "*?[".contains(cell.c)) {
            whole.marks.add(Marks::PATTERN);
        }
        Ok(Arg { text: whole.list.iter().map(|cell| cell.c).collect(), marks: whole.marks })
    }

    fn gather(&mut self, parts: &[Part], in_quotes: bool, out: &mut Cells) -> Result<(), Finding> {
        let bare = if in_quotes { Origin::Quoted } else { Origin::Bare };
        let value = if in_quotes { Origin::Quoted } else { Origin::Value };
        for part in parts {
            let before = out.list.len();
            match part {
                Part::Bare(text) => out.push(text, bare),
                Part::Escaped(c) => out.list.push(Cell { c: *c, origin: Origin::Quoted }),
                Part::Continuation => {}
                Part::Ansi { hidden: true, .. } => return Err(refuse(REFUSE_OBFUSCATION)),
                Part::Single(text) | Part::Ansi { text, .. } => {
                    out.quoted = true;
                    out.push(text, Origin::Quoted);
                }
                Part::Double(inner) => {
                    out.quoted = true;
                    self.gather(inner, true, out)?;
                }
                Part::Variable { name, operator } => {
                    // `old=$IFS` only saves the separators.
                    let kept = matches!(parts, [Part::Bare(text), _] if text.ends_with('='));
                    if name == "IFS" && !in_quotes && parts.len() > 1 && !kept {
                        out.marks.add(Marks::GLUED);
                        out.push(" ", value);
                    } else {
                        self.variable(name, operator.as_deref(), value, out)?;
                    }
                }
                Part::Command(script) => {
                    let flow = self.nested(script)?;
                    out.marks.add(flow.marks);
                    match flow.text {
                        Text::Known(text) => out.push(text.trim_end_matches('\n'), value),
                        Text::Unknown => out.push("\0", value),
                        Text::Absent => {}
                    }
                }
                Part::Process(script) => {
                    // A shell that is fed or read through a file name runs commands that are not known here.
                    if is_lone_shell(script) {
                        return Err(refuse(REFUSE_UNDECIDABLE));
                    }
                    let flow = self.nested(script)?;
                    out.marks.add(flow.marks);
                    out.marks.add(Marks::PROCESS);
                    out.push("\0", Origin::Quoted);
                }
                Part::Arithmetic(inner) => {
                    self.gather(inner, true, &mut Cells::default())?;
                    out.push("\0", value);
                }
                Part::Array(words) => {
                    for word in words {
                        let arg = self.expand_whole(word)?;
                        out.marks.add(arg.marks.without(Marks::PATTERN));
                        if !out.list.is_empty() {
                            out.push(" ", Origin::Quoted);
                        }
                        out.push(&arg.text, Origin::Quoted);
                    }
                }
            }
            self.spend(out.list.len() - before)?;
        }
        Ok(())
    }

    fn variable(
        &mut self,
        name: &str,
        operator: Option<&[Part]>,
        value: Origin,
        out: &mut Cells,
    ) -> Result<(), Finding> {
        let known = self.lookup(name);
        out.marks.add(self.origin(name));
        let Some(operator) = operator else {
            out.push(known.as_deref().unwrap_or("\0"), value);
            return Ok(());
        };
        let sign = if let Some(Part::Bare(text)) = operator.first() { text.as_str() } else { "" };
        let mut rest = Cells::default();
        self.gather(operator, true, &mut rest)?;
        out.marks.add(rest.marks);
        let rest: String = rest.list.iter().map(|cell| cell.c).collect();
        let word = rest.trim_start_matches(':').get(1..).unwrap_or("");
        let sign = if sign.starts_with([':']) && sign[1..].starts_with(['-', '+', '=', '?']) {
            &sign[1..]
        } else {
            sign
        };
        match sign.as_bytes().first() {
            Some(b'-' | b'=') => out.push(known.as_deref().unwrap_or(word), value),
            Some(b'?') => out.push(known.as_deref().unwrap_or("\0"), value),
            Some(b'+') => out.push(word, value),
            Some(b'[') => out.push(known.as_deref().unwrap_or("\0"), Origin::Value),
            Some(b'#' | b'%') => out.push("\0", value),
            Some(b':') if is_listed("well-known-variables", name) => return Err(refuse(REFUSE_OBFUSCATION)),
            Some(b'/' | b':') => {
                if known.is_some() || !self.is_assigned(name) {
                    out.marks.add(Marks::CRAFTED);
                }
                out.push("\0", value);
            }
            _ => {
                out.marks.add(Marks::CRAFTED);
                out.push("\0", value);
            }
        }
        Ok(())
    }

    fn nested(&mut self, script: &Script) -> Result<Flow, Finding> {
        self.deeper(|judge| judge.script(script, &Flow::default()))
    }
}

/// Returns whether the script is only the name of a shell, such as `bash`.
fn is_lone_shell(script: &Script) -> bool {
    let [pipeline] = script.pipelines.as_slice() else { return false };
    let [stage] = pipeline.stages.as_slice() else { return false };
    let Body::Simple(simple) = &stage.body else { return false };
    stage.redirects.is_empty()
        && matches!(simple.words.as_slice(), [word] if matches!(word.parts.as_slice(), [Part::Bare(name)] if is_shell(name)))
}

/// Splits a word at unquoted blanks, and marks patterns.
fn split(cells: &[Cell], marks: Marks, quoted: bool, args: &mut Vec<Arg>) {
    let mut arg = Arg { text: String::new(), marks };
    let mut begun = quoted;
    for cell in cells {
        if cell.origin == Origin::Value && cell.c.is_ascii_whitespace() {
            if begun && !arg.text.is_empty() {
                args.push(std::mem::replace(&mut arg, Arg { text: String::new(), marks }));
            }
            continue;
        }
        begun = true;
        if cell.origin != Origin::Quoted && "*?[".contains(cell.c) {
            arg.marks.add(Marks::PATTERN);
        }
        arg.text.push(cell.c);
    }
    if begun && (quoted || !arg.text.is_empty()) {
        args.push(arg);
    }
}

/// Expands `{a,b}`. Ranges, and expansions beyond the limit of steps, become a hole.
fn braces(cells: Vec<Cell>, words: &mut Vec<Vec<Cell>>, steps: &mut usize) {
    let Some((open, commas, close)) = first_brace(&cells) else {
        words.push(cells);
        return;
    };
    let hole = Cell { c: HOLE, origin: Origin::Quoted };
    if commas.is_empty() || *steps == 0 {
        let mut one = cells[..open].to_vec();
        one.push(hole);
        one.extend_from_slice(&cells[close + 1..]);
        if *steps == 0 {
            one.truncate(open + 1);
            words.push(one);
        } else {
            *steps -= 1;
            braces(one, words, steps);
        }
        return;
    }
    let mut start = open + 1;
    for end in commas.into_iter().chain([close]) {
        if *steps == 0 {
            return;
        }
        *steps -= 1;
        let mut one = cells[..open].to_vec();
        one.extend_from_slice(&cells[start..end]);
        one.extend_from_slice(&cells[close + 1..]);
        braces(one, words, steps);
        start = end + 1;
    }
}

/// Returns the positions of the opening brace, the commas and the closing brace of the first brace expansion; a range
/// has no commas.
fn first_brace(cells: &[Cell]) -> Option<(usize, Vec<usize>, usize)> {
    let mut stack: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut found: Option<(usize, Vec<usize>, usize)> = None;
    for (at, cell) in cells.iter().enumerate() {
        if cell.origin != Origin::Bare {
            continue;
        }
        match cell.c {
            '{' => stack.push((at, Vec::new())),
            ',' => {
                if let Some((_, commas)) = stack.last_mut() {
                    commas.push(at);
                }
            }
            '}' => {
                if let Some((open, commas)) = stack.pop() {
                    let inner = &cells[open + 1..at];
                    let range = inner.windows(2).any(|two| two[0].c == '.' && two[1].c == '.');
                    let earlier = found.as_ref().is_none_or(|(first, ..)| open < *first);
                    if (!commas.is_empty() || range) && earlier {
                        found = Some((open, commas, at));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns whether a word is split by quotes or escapes into pieces for no reason, as in `w'h'o` or `/et\c`.
fn in_pieces(word: &Word) -> bool {
    let ends = |part: &Part| -> Option<(char, char, bool)> {
        let of = |text: &str, quoted| Some((text.chars().next()?, text.chars().last()?, quoted));
        match part {
            Part::Bare(text) => of(text, false),
            Part::Escaped(c) => Some((*c, *c, true)),
            Part::Single(text) | Part::Ansi { text, .. } => of(text, true),
            Part::Double(inner) => match inner.as_slice() {
                [Part::Bare(text)] if !text.contains([' ', '/', '$']) => of(text, true),
                _ => None,
            },
            _ => None,
        }
    };
    let letter = |c: char| c.is_alphanumeric() || c == '/';
    let nothing = |part: &Part| match part {
        Part::Single(text) => text.is_empty(),
        Part::Double(inner) => inner.is_empty(),
        Part::Command(script) => script.pipelines.is_empty(),
        Part::Continuation => true,
        Part::Variable { name, .. } => name == "@" || name == "*",
        _ => false,
    };
    let parts = &word.parts;
    let lettered = |at: usize| parts.get(at).and_then(ends);
    parts.len() > 1
        && (0..parts.len()).any(|at| {
            let before = at.checked_sub(1).and_then(lettered);
            let here = lettered(at);
            let after = lettered(at + 1);
            // `\ls` is the usual way to bypass an alias.
            if at == 0 && matches!(parts[at], Part::Escaped(_)) {
                return false;
            }
            if nothing(&parts[at]) {
                return before.is_some_and(|(_, last, _)| letter(last))
                    && after.is_some_and(|(first, ..)| letter(first));
            }
            let Some((first, last, quoted)) = here else { return false };
            let long = !matches!(
                &parts[at],
                Part::Escaped(_) | Part::Single(_) | Part::Double(_) | Part::Ansi { .. }
            ) || matches!(&parts[at], Part::Single(text) if text.contains([' ', '*', '$', '{']));
            quoted
                && !long
                && ((letter(first) && before.is_some_and(|(_, l, quoted)| l.is_alphanumeric() && !quoted))
                    || (letter(last) && after.is_some_and(|(f, _, quoted)| f.is_alphanumeric() && !quoted)))
        })
}

const MAX_BRACE_STEPS: usize = 128;
