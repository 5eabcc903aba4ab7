//! The expansion of words as a shell does it: braces, variables, substitutions, splitting, patterns.

use crate::Finding;
use crate::shell::syntax::{Body, Part, Pipeline, Script, Stage, Word};

use super::{Arg, Danger, Flow, HOLE, Judge, Marks, Text, is_listed, is_shell, refuse, refuse_if};

/// One character of a word, with its origin, which decides what the shell still does to it.
#[derive(Clone, Copy)]
struct Cell {
    c: char,
    origin: ExpansionOrigin,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpansionOrigin {
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
    fn push(&mut self, text: &str, origin: ExpansionOrigin) {
        self.list.extend(text.chars().map(|c| Cell { c, origin }));
    }
}

impl Judge<'_> {
    /// Returns the arguments that `words` expand to.
    pub(super) fn expand(&mut self, words: &[Word]) -> Result<Vec<Arg>, Finding> {
        let mut args = Vec::with_capacity(words.len());
        for word in words {
            let whole = self.gathered(word)?;
            for cells in &braces(whole.list) {
                split(cells, whole.marks, whole.quoted, &mut args);
            }
        }
        Ok(args)
    }

    /// Returns the single text that `word` expands to in places where a shell does not split: assignments, redirections
    /// and here-strings.
    pub(super) fn expand_whole(&mut self, word: &Word) -> Result<Arg, Finding> {
        let mut whole = self.gathered(word)?;
        if whole.list.iter().any(|cell| cell.origin == ExpansionOrigin::Bare && "*?[".contains(cell.c)) {
            whole.marks.add(Marks::PATTERN);
        }
        Ok(Arg { text: whole.list.iter().map(|cell| cell.c).collect(), marks: whole.marks })
    }

    fn gathered(&mut self, word: &Word) -> Result<Cells, Finding> {
        let mut whole = Cells::default();
        self.gather(&word.parts, false, &mut whole)?;
        whole.marks.add(Marks::PIECES.when(in_pieces(word)));
        Ok(whole)
    }

    fn gather(&mut self, parts: &[Part], in_quotes: bool, out: &mut Cells) -> Result<(), Finding> {
        let bare = if in_quotes { ExpansionOrigin::Quoted } else { ExpansionOrigin::Bare };
        let value = if in_quotes { ExpansionOrigin::Quoted } else { ExpansionOrigin::Value };
        for part in parts {
            let before = out.list.len();
            match part {
                Part::Bare(text) => out.push(text, bare),
                Part::Escaped(c) => out.list.push(Cell { c: *c, origin: ExpansionOrigin::Quoted }),
                Part::Continuation => {}
                Part::Ansi { hidden: true, .. } => return Err(refuse(Danger::Obfuscation)),
                Part::Single(text) | Part::Ansi { text, .. } => {
                    out.quoted = true;
                    out.push(text, ExpansionOrigin::Quoted);
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
                    refuse_if(is_lone_shell(script), Danger::Undecidable)?;
                    let flow = self.nested(script)?;
                    out.marks.add(flow.marks);
                    out.marks.add(Marks::PROCESS);
                    out.push("\0", ExpansionOrigin::Quoted);
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
                            out.push(" ", ExpansionOrigin::Quoted);
                        }
                        out.push(&arg.text, ExpansionOrigin::Quoted);
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
        value: ExpansionOrigin,
        out: &mut Cells,
    ) -> Result<(), Finding> {
        let known = self.lookup(name);
        out.marks.add(self.origin(name));
        let Some(operator) = operator else {
            out.push(known.as_deref().unwrap_or("\0"), value);
            return Ok(());
        };
        let sign = if let Some(Part::Bare(text)) = operator.first() { text.as_str() } else { "" };
        let colon = sign.strip_prefix(':').filter(|rest| rest.starts_with(['-', '+', '=', '?']));
        let sign = colon.unwrap_or(sign).as_bytes().first().copied();
        let mut rest = Cells::default();
        self.gather(operator, true, &mut rest)?;
        out.marks.add(rest.marks);
        let rest: String = rest.list.iter().map(|cell| cell.c).collect();
        let word = rest.trim_start_matches(':').get(1..).unwrap_or("");
        let (text, origin) = match sign {
            Some(b'-' | b'=') => (known.as_deref().unwrap_or(word), value),
            Some(b'?') => (known.as_deref().unwrap_or("\0"), value),
            Some(b'+') => (word, value),
            Some(b'[') => (known.as_deref().unwrap_or("\0"), ExpansionOrigin::Value),
            Some(b'#' | b'%') => ("\0", value),
            Some(b':') if is_listed("well-known-variables", name) => return Err(refuse(Danger::Obfuscation)),
            sign => {
                let is_assigned = self.variables.contains_key(name);
                if !matches!(sign, Some(b'/' | b':')) || known.is_some() || !is_assigned {
                    out.marks.add(Marks::CRAFTED);
                }
                ("\0", value)
            }
        };
        out.push(text, origin);
        Ok(())
    }

    fn nested(&mut self, script: &Script) -> Result<Flow, Finding> {
        self.deeper(|judge| judge.script(script, &Flow::default()))
    }
}

/// Returns whether the script is only the name of a shell, such as `bash`.
fn is_lone_shell(script: &Script) -> bool {
    let [Pipeline { stages, .. }] = script.pipelines.as_slice() else { return false };
    let [Stage { body: Body::Simple(simple), redirects, .. }] = stages.as_slice() else { return false };
    redirects.is_empty()
        && matches!(simple.words.as_slice(), [word] if matches!(word.parts.as_slice(), [Part::Bare(name)] if is_shell(name)))
}

/// Splits a word at unquoted blanks, and marks patterns.
fn split(cells: &[Cell], marks: Marks, quoted: bool, args: &mut Vec<Arg>) {
    let mut arg = Arg { text: String::new(), marks };
    let mut begun = quoted;
    for cell in cells {
        if cell.origin == ExpansionOrigin::Value && cell.c.is_ascii_whitespace() {
            if begun && !arg.text.is_empty() {
                args.push(std::mem::replace(&mut arg, Arg { text: String::new(), marks }));
            }
            continue;
        }
        begun = true;
        if cell.origin != ExpansionOrigin::Quoted && "*?[".contains(cell.c) {
            arg.marks.add(Marks::PATTERN);
        }
        arg.text.push(cell.c);
    }
    if begun && (quoted || !arg.text.is_empty()) {
        args.push(arg);
    }
}

/// Returns the words that `{a,b}` makes of a word. Ranges, and expansions beyond the limit of steps, become a hole.
fn braces(cells: Vec<Cell>) -> Vec<Vec<Cell>> {
    let is_bare = |cell: &Cell, c: char| cell.origin == ExpansionOrigin::Bare && cell.c == c;
    let hole = Cell { c: HOLE, origin: ExpansionOrigin::Quoted };
    let (mut words, mut open) = (Vec::new(), vec![cells]);
    let mut steps = MAX_BRACE_STEPS;
    while let Some(mut word) = open.pop() {
        let Some(end) = word.iter().position(|cell| is_bare(cell, '}')) else {
            words.push(word);
            continue;
        };
        let start = word[..end].iter().rposition(|cell| is_bare(cell, '{'));
        let inner = &word[start.map_or(end, |start| start + 1)..end];
        let parts: Vec<Vec<Cell>> = if inner.iter().any(|cell| is_bare(cell, ',')) {
            inner.split(|cell| is_bare(cell, ',')).map(<[Cell]>::to_vec).collect()
        } else if inner.windows(2).any(|two| two[0].c == '.' && two[1].c == '.') {
            vec![vec![hole]]
        } else {
            Vec::new()
        };
        match start {
            _ if steps == 0 => {
                word.truncate(start.unwrap_or(end));
                word.push(hole);
                words.push(word);
            }
            Some(start) if !parts.is_empty() => {
                steps = steps.saturating_sub(parts.len());
                let made = parts
                    .iter()
                    .rev()
                    .map(|part| [&word[..start], part.as_slice(), &word[end + 1..]].concat());
                open.extend(made);
            }
            // The braces stand for themselves.
            _ => {
                steps -= 1;
                word[start.unwrap_or(end)].origin = ExpansionOrigin::Quoted;
                word[end].origin = ExpansionOrigin::Quoted;
                open.push(word);
            }
        }
    }
    words
}

/// Returns whether a word is split by quotes or escapes into pieces for no reason, as in `w'h'o` or `/et\c`: a short
/// quoted part touches letters outside of the quotes, or nothing stands between two letters.
fn in_pieces(word: &Word) -> bool {
    let parts = &word.parts;
    // `\ls` is the usual way to bypass an alias.
    let alias = usize::from(matches!(parts.first(), Some(Part::Escaped(_))));
    let ends = |part: &Part| -> Option<(bool, char, char)> {
        let (quoted, text) = match part {
            Part::Bare(text) => (false, text),
            Part::Escaped(c) => return Some((true, *c, *c)),
            Part::Single(text) | Part::Ansi { text, .. } if !text.contains([' ', '*', '$', '{']) => {
                (true, text)
            }
            Part::Double(inner) => match inner.as_slice() {
                [Part::Bare(text)] if !text.contains([' ', '/', '$']) => (true, text),
                _ => return None,
            },
            _ => return None,
        };
        Some((quoted, text.chars().next()?, text.chars().next_back()?))
    };
    let is_letter = |quoted: bool, c: char| c.is_alphanumeric() || (quoted && c == '/');
    let touches = |before: &Part, after: &Part| {
        let (Some((quoted, _, last)), Some((next, first, _))) = (ends(before), ends(after)) else {
            return false;
        };
        quoted != next && is_letter(quoted, last) && is_letter(next, first)
    };
    let nothing = |part: &Part| match part {
        Part::Single(text) => text.is_empty(),
        Part::Double(inner) => inner.is_empty(),
        Part::Command(script) => script.pipelines.is_empty(),
        Part::Continuation => true,
        Part::Variable { name, .. } => name == "@" || name == "*",
        _ => false,
    };
    let stands_between = |before: &Part, after: &Part| {
        ends(before).is_some_and(|(.., last)| is_letter(true, last))
            && ends(after).is_some_and(|(_, first, _)| is_letter(true, first))
    };
    parts[alias..].windows(2).any(|two| touches(&two[0], &two[1]))
        || parts.windows(3).any(|three| nothing(&three[1]) && stands_between(&three[0], &three[2]))
}

const MAX_BRACE_STEPS: usize = 256;
