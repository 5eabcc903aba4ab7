use std::io::{self, IsTerminal as _, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::args::{ColorChoice, Global};
use super::exit::Failure;
use super::table::Table;

/// Where a command prints to, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    json: bool,
    quiet: bool,
    color: bool,
    /// Whether a person watches what happens.
    watched: bool,
}

impl Output {
    pub(super) fn new(global: &Global) -> Self {
        let color = match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        let watched = io::stderr().is_terminal() && !global.json && !global.quiet;
        Self { json: global.json, quiet: global.quiet, color, watched }
    }

    pub(super) const fn is_json(&self) -> bool {
        self.json
    }

    pub(super) const fn is_watched(&self) -> bool {
        self.watched
    }

    /// Prints `value` as JSON, or what `plain` writes.
    pub(super) fn show<T: Serialize>(
        &self,
        value: &T,
        plain: impl FnOnce(&T, &mut Vec<u8>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = Vec::new();
        if self.json {
            serde_json::to_writer(&mut out, value).map_err(|error| unwritten(&error))?;
            out.push(b'\n');
        } else {
            plain(value, &mut out).map_err(|error| unwritten(&error))?;
        }
        self.write(&out)
    }

    /// Prints `value` as JSON, or a table, or what there is to say when there are no rows.
    pub(super) fn table<T: Serialize>(
        &self,
        value: &T,
        none: &str,
        rows: impl FnOnce(&T, &mut Table),
    ) -> Result<(), Failure> {
        self.show(value, |value, out| {
            let mut table = Table::default();
            rows(value, &mut table);
            if table.is_empty() {
                return if self.quiet { Ok(()) } else { writeln!(out, "{none}") };
            }
            table.write(out, self)
        })
    }

    /// Writes bytes as they are.
    #[expect(clippy::unused_self, reason = "whoever writes says to which output")]
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            // Who reads no further, as `head` does, has what it wants.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(unwritten(&error)),
            Ok(()) => Ok(()),
        }
    }

    /// Tells a person what happens, beside what was asked for.
    pub(super) fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            // Nobody has to read it.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    pub(super) fn failure(&self, failure: &Failure) {
        let mut text = Vec::new();
        if self.json {
            // It is made of text only, so it can be written.
            text = serde_json::to_vec(&failure.written()).unwrap_or_default();
        } else {
            let red = self.paint(AnsiColor::Red.on_default().bold());
            let _ = write!(text, "{red}error:{red:#} {}", failure.message());
            if let Some(hint) = failure.advice() {
                let _ = write!(text, "\n{hint}");
            }
        }
        text.push(b'\n');
        let _ = io::stderr().write_all(&text);
    }

    /// The style if colours are used; else none.
    pub(super) const fn paint(&self, style: Style) -> Style {
        if self.color { style } else { Style::new() }
    }
}

/// A text of a peer as a terminal can be shown it: what would move the cursor or hide is spelled out.
pub(super) fn printable(text: &str) -> String {
    let hides = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

fn unwritten(error: &dyn std::error::Error) -> Failure {
    Failure::usage(format!("the output cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_deceive_a_terminal_is_spelled_out() {
        assert_eq!(printable("a\u{1b}[2Kb\u{202e}\r\n"), "a\\u{1b}[2Kb\\u{202e}\\u{d}\n");
        assert_eq!(printable("Grüße 你好"), "Grüße 你好");
    }
}
