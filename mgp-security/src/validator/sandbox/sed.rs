//! The effects of a sed script besides printing: the commands it runs and the files it writes.

/// An effect of a sed script.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect<'a> {
    /// The script runs this command; `None` stands for a command that is only known when the script runs.
    Runs(Option<&'a str>),
    Writes(&'a str),
}

/// Returns the effects of `script`. Versions of sed differ in whether brackets hide the delimiter, so the effects of
/// both readings are returned.
pub(super) fn effects(script: &str) -> Vec<Effect<'_>> {
    let mut found = Vec::new();
    for brackets in [false, true] {
        Reader { rest: script, brackets }.read(&mut found);
    }
    found
}

struct Reader<'a> {
    rest: &'a str,
    /// True if the delimiter stands for itself in brackets.
    brackets: bool,
}

impl<'a> Reader<'a> {
    /// Reads the script as far as it can be understood, and adds its effects to `found`.
    fn read(mut self, found: &mut Vec<Effect<'a>>) {
        while self.command(found).is_some() {}
    }

    fn command(&mut self, found: &mut Vec<Effect<'a>>) -> Option<()> {
        self.skip(" \t\n;{}");
        self.address()?;
        if self.take(',') {
            self.skip("+~ ");
            self.address()?;
        }
        self.skip(" \t!");
        let name = self.next()?;
        match name {
            'e' => {
                let command = self.line().trim();
                found.push(Effect::Runs((!command.is_empty()).then_some(command)));
            }
            'w' | 'W' => found.push(Effect::Writes(self.line().trim())),
            's' => self.substitute(found)?,
            'y' => {
                let delimiter = self.next()?;
                self.until(delimiter)?;
                self.until(delimiter)?;
            }
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                self.line();
            }
            ':' | 'b' | 't' | 'T' => self.until_any(";\n}"),
            'q' | 'Q' | 'l' | 'L' => self.skip("0123456789 "),
            _ => {}
        }
        Some(())
    }

    fn address(&mut self) -> Option<()> {
        if self.take('/') {
            self.until('/')?;
        } else if let Some(rest) = self.rest.strip_prefix('\\') {
            self.rest = rest;
            let delimiter = self.next()?;
            self.until(delimiter)?;
        }
        self.skip("0123456789$~IM");
        Some(())
    }

    fn substitute(&mut self, found: &mut Vec<Effect<'a>>) -> Option<()> {
        let delimiter = self.next().filter(|delimiter| !matches!(delimiter, '\n' | '\\'))?;
        self.until(delimiter)?;
        self.until(delimiter)?;
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

    fn until(&mut self, delimiter: char) -> Option<()> {
        let mut escaped = false;
        let mut inside = false;
        for (at, character) in self.rest.char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' if self.brackets => inside = true,
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

    fn until_any(&mut self, signs: &str) {
        let end = self.rest.find(|c| signs.contains(c)).unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_written_files_are_found_wherever_they_stand() {
        for (script, effect) in [
            ("1e id", Effect::Runs(Some("id"))),
            ("s/a/b/;$!{/x/e date\n}", Effect::Runs(Some("date"))),
            ("e", Effect::Runs(None)),
            ("s|a|b|gpe", Effect::Runs(None)),
            ("\\,x,s,a,b,e2", Effect::Runs(None)),
            ("/a/,+2w out", Effect::Writes("out")),
            ("s/[/]/b/w out", Effect::Writes("out")),
        ] {
            assert!(effects(script).contains(&effect), "{script}");
        }
    }

    #[test]
    fn printing_and_replacing_has_no_effects() {
        for script in
            ["s/e/w/g", "/^e /d", "10,20p", ":a;N;$!ba;s/\\n/ /g", "1i\\e text", "y/we/ew/", "$!N;P;D"]
        {
            assert_eq!(effects(script), [], "{script}");
        }
    }
}
