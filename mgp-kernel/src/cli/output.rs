use std::io::{self, IsTerminal as _, Write};

use anstyle::{AnsiColor, Style};
use mgp_types::is_hidden;
use serde::Serialize;
use tokio::io::Interest;
use tokio::net::unix::pipe;

use super::exit::Failure;
use super::global::{ColorChoice, Global};
use super::table::Table;

/// Where a command prints to, and how.
#[derive(Debug)]
pub(super) struct Output {
    form: OutputForm,
    color: bool,
    /// Whether a person watches what happens.
    watched: bool,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputForm {
    /// One JSON value.
    Json,
    /// Text for people, with notes beside what was asked for.
    Plain,
    /// Text without notes.
    Quiet,
}

/// Whether somebody reads what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputReader {
    There,
    /// It has what it wants, as `head` has.
    Gone,
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
        let form = match (global.json, global.quiet) {
            (true, _) => OutputForm::Json,
            (false, true) => OutputForm::Quiet,
            (false, false) => OutputForm::Plain,
        };
        let watched = io::stderr().is_terminal() && form == OutputForm::Plain;
        Self { form, color, watched }
    }

    pub(super) fn is_json(&self) -> bool {
        self.form == OutputForm::Json
    }

    pub(super) const fn is_colored(&self) -> bool {
        self.color
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
        if self.is_json() {
            serde_json::to_writer(&mut out, value).map_err(|error| unwritten(&error))?;
            out.push(b'\n');
        } else {
            plain(value, &mut out).map_err(|error| unwritten(&error))?;
        }
        self.write(&out).map(drop)
    }

    /// Prints `value` as JSON, or a table, or what there is to say when there are no rows.
    pub(super) fn table<T: Serialize>(
        &self,
        value: &T,
        none: &str,
        rows: impl FnOnce(&T, &mut Table),
    ) -> Result<(), Failure> {
        self.table_with(value, none, rows, |_, _| Ok(()))
    }

    /// Prints as [`table`](Self::table) does, with what `told` writes below the rows.
    pub(super) fn table_with<T: Serialize>(
        &self,
        value: &T,
        none: &str,
        rows: impl FnOnce(&T, &mut Table),
        told: impl FnOnce(&T, &mut Vec<u8>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        self.show(value, |value, out| {
            let mut table = Table::default();
            rows(value, &mut table);
            if table.is_empty() {
                return if self.form == OutputForm::Quiet { Ok(()) } else { writeln!(out, "{none}") };
            }
            table.write(out, self)?;
            if self.form == OutputForm::Quiet { Ok(()) } else { told(value, out) }
        })
    }

    /// Adds one line of many: `value` as JSON, or `plain`.
    pub(super) fn add_line(
        &self,
        lines: &mut Vec<u8>,
        value: &impl Serialize,
        plain: &str,
    ) -> Result<(), Failure> {
        if self.is_json() {
            serde_json::to_writer(&mut *lines, value).map_err(|error| unwritten(&error))?;
        } else {
            lines.extend_from_slice(plain.as_bytes());
        }
        lines.push(b'\n');
        Ok(())
    }

    /// Writes bytes as they are.
    #[expect(clippy::unused_self, reason = "whoever writes says to which output")]
    pub(super) fn write(&self, bytes: &[u8]) -> Result<OutputReader, Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(OutputReader::Gone),
            Err(error) => Err(unwritten(&error)),
            Ok(()) => Ok(OutputReader::There),
        }
    }

    /// Waits until nobody reads what is printed any more; for ever if that cannot be seen, as of a file.
    pub(super) async fn unread(&self) {
        // Opened anew, so that the pipe stays as it is for whoever else writes to it.
        let pipe = pipe::OpenOptions::new().open_sender("/dev/stdout");
        match pipe {
            Ok(pipe) if pipe.ready(Interest::ERROR).await.is_ok() => {}
            _ => std::future::pending().await,
        }
    }

    /// Tells a person what happens, beside what was asked for.
    pub(super) fn note(&self, text: &str) {
        if self.form == OutputForm::Plain {
            // Nobody has to read it.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Shows a person at a terminal what is waited for, in a line that the next one replaces. An empty one is taken away.
    pub(super) fn waiting(&self, text: &str) {
        if self.watched {
            let mut err = io::stderr().lock();
            // Nobody has to read it.
            let _ = write!(err, "\r\x1b[K{text}").and_then(|()| err.flush());
        }
    }

    /// Tells whoever runs the command what it does without, in one line, whatever form was asked for.
    pub(super) fn warning(&self, text: &str) {
        let line = if self.is_json() {
            serde_json::json!({ "warning": { "message": text } }).to_string()
        } else {
            text.to_owned()
        };
        // Nobody has to read it.
        let _ = writeln!(io::stderr(), "{line}");
    }

    pub(super) fn failure(&self, failure: &Failure) {
        let mut text = Vec::new();
        if self.is_json() {
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

/// A text of a peer as a terminal can be shown it: what would move the cursor or hide is spelled out. Lines stay, and what
/// makes a sign an emoji.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_kept = matches!(c, '\n' | '\t' | '\u{fe0f}') || !is_hidden(c);
        if is_kept { shown.push(c) } else { shown.extend(c.escape_unicode()) }
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
        assert_eq!(printable("Grüße 你好 ⚠\u{fe0f}"), "Grüße 你好 ⚠\u{fe0f}");
        assert_eq!(printable("a\u{e0041}"), "a\\u{e0041}");
    }
}
