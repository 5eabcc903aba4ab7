//! The effects of a sed script besides printing: the commands it runs and the files it writes.

/// An effect of a sed script.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::validator) enum Effect<'a> {
    /// The script runs this command; `None` stands for a command that is only known when the script runs.
    Runs(Option<&'a str>),
    Writes(&'a str),
}

/// Returns the effects of `script`, and whether all of it was understood. Versions of sed differ in whether brackets
/// hide the delimiter of a regular expression, so the effects of both readings are returned.
pub(in crate::validator) fn effects(script: &str) -> (Vec<Effect<'_>>, bool) {
    let mut found = Vec::new();
    let understood = [false, true].map(|brackets| SedReader { rest: script, brackets }.read(&mut found));
    (found, understood == [true, true])
}

struct SedReader<'a> {
    rest: &'a str,
    /// True if the delimiter stands for itself in brackets.
    brackets: bool,
}

impl<'a> SedReader<'a> {
    /// Reads the script and adds its effects to `found`; returns whether all of it was understood.
    fn read(mut self, found: &mut Vec<Effect<'a>>) -> bool {
        let mut understood = true;
        loop {
            self.skip(" \t\n;{}");
            if self.rest.is_empty() {
                return understood;
            }
            let Some(known) = self.command(found) else { return false };
            understood &= known;
        }
    }

    /// Reads one command; returns whether sed is known to read it in the same way, and `None` if it has no end.
    fn command(&mut self, found: &mut Vec<Effect<'a>>) -> Option<bool> {
        self.address()?;
        if self.take(',') {
            self.skip("+~ ");
            self.address()?;
        }
        self.skip(" \t!");
        match self.next()? {
            '{' => return Some(true),
            'e' => {
                let command = self.line().trim();
                found.push(Effect::Runs((!command.is_empty()).then_some(command)));
            }
            'w' | 'W' => found.push(Effect::Writes(self.line().trim())),
            's' => self.substitute(found)?,
            'y' => {
                let delimiter = self.next()?;
                self.until(delimiter, false)?;
                self.until(delimiter, false)?;
            }
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                self.line();
                return Some(true);
            }
            ':' | 'b' | 't' | 'T' => self.rest = self.rest.trim_start_matches(|c: char| !";\n}".contains(c)),
            'q' | 'Q' | 'l' | 'L' => self.skip("0123456789 "),
            'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'z' | 'F' | '=' => {}
            _ => return Some(false),
        }
        self.skip(" \t");
        Some(self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', '#']))
    }

    fn address(&mut self) -> Option<()> {
        if self.take('/') {
            self.until('/', self.brackets)?;
        } else if self.take('\\') {
            let delimiter = self.next()?;
            self.until(delimiter, self.brackets)?;
        }
        self.skip("0123456789$~IM");
        Some(())
    }

    fn substitute(&mut self, found: &mut Vec<Effect<'a>>) -> Option<()> {
        let delimiter = self.next().filter(|delimiter| !matches!(delimiter, '\n' | '\\'))?;
        self.until(delimiter, self.brackets)?;
        self.until(delimiter, false)?;
        while let Some(flag) = self.rest.chars().next() {
            match flag {
                'e' => found.push(Effect::Runs(None)),
                'w' => {
                    self.next();
                    found.push(Effect::Writes(self.line().trim()));
                    break;
                }
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {}
                _ => break,
            }
            self.next();
        }
        Some(())
    }

    fn until(&mut self, delimiter: char, brackets: bool) -> Option<()> {
        let mut escaped = false;
        let mut inside = false;
        for (at, character) in self.rest.char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' if brackets => inside = true,
                ']' => inside = false,
                character if character == delimiter && !inside => {
                    self.rest = &self.rest[at + delimiter.len_utf8()..];
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }

    /// Reads the rest of the line.
    fn line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn take(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip(&mut self, signs: &str) {
        self.rest = self.rest.trim_start_matches(|c| signs.contains(c));
    }
}
