//! The options that every command has, and the output of commands that follows from them.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::{Args, ColorChoice};
use mgp_kernel_core::platform::until_output_is_unread;
use mgp_kernel_core::terminal::{Exit, Failure, Result, TextForm, TextWriter};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

/// The options of every command.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Global {
    /// The configuration file [default: mgp.toml in this folder, and ~/.config/mgp/servers.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The folder of the kernel's keys, grants, pins and audit log
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// The socket of a running kernel
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
    /// Print one JSON value, and errors as one line of JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Print results only, without notes
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Log more; -vv logs everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
    /// Sets when the output has colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

/// The output of a command, in the form that the options ask for.
#[derive(Debug, Clone)]
pub(super) struct Output {
    /// True if the output is one JSON value, and else text for people.
    pub(super) json: bool,
    /// True if text has no notes on standard error.
    quiet: bool,
    pub(super) color: bool,
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
        Self { json: global.json, quiet: global.quiet, color }
    }

    /// Returns whether a person at a terminal can watch progress.
    pub(super) fn is_watched(&self) -> bool {
        io::stderr().is_terminal() && !self.json && !self.quiet
    }

    /// Prints a result, and the notes on it.
    pub(super) fn result(&self, result: &impl TextForm) -> Result {
        let exit = self.show(result, TextForm::write)?;
        result.notes().iter().for_each(|note| self.note(note));
        Ok(exit)
    }

    /// Prints `value` as JSON, or the text that `plain` writes.
    pub(super) fn show<T: Serialize>(
        &self,
        value: &T,
        plain: impl FnOnce(&T, &mut TextWriter) -> io::Result<()>,
    ) -> Result {
        let out = if self.json {
            let mut out = serde_json::to_vec(value).map_err(Failure::with_error(UNWRITTEN))?;
            out.push(b'\n');
            out
        } else {
            let heading = self.paint(Style::new().bold());
            let mut text = TextWriter { written: Vec::new(), heading, is_quiet: self.quiet };
            plain(value, &mut text).map_err(Failure::with_error(UNWRITTEN))?;
            text.written
        };
        self.print(&out)
    }

    /// Prints bytes as they are, which nobody has to read.
    pub(super) fn print(&self, bytes: &[u8]) -> Result {
        self.write(bytes).map(|_| Exit::Done)
    }

    /// Prints `value` as JSON, or the line `text`.
    pub(super) fn line(&self, value: &Value, text: &str) -> Result {
        self.show(value, |_, out| writeln!(out, "{text}"))
    }

    /// Writes a line for each row: the row as JSON, or its text. Returns whether anybody still reads standard output.
    pub(super) fn lines(&self, rows: impl IntoIterator<Item = (impl Serialize, String)>) -> Result<bool> {
        let mut lines = Vec::new();
        for (row, text) in rows {
            if self.json {
                serde_json::to_writer(&mut lines, &row).map_err(Failure::with_error(UNWRITTEN))?;
            } else {
                lines.extend_from_slice(text.as_bytes());
            }
            lines.push(b'\n');
        }
        self.write(&lines)
    }

    /// Writes bytes to standard output as they are, and returns whether anybody still reads it.
    #[expect(clippy::unused_self, reason = "whoever writes says to which output")]
    pub(super) fn write(&self, bytes: &[u8]) -> Result<bool> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            // The reader has closed the pipe, as `head` does when it has read enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::with_error(UNWRITTEN)(error)),
            Ok(()) => Ok(true),
        }
    }

    /// Waits until it is time to look again at what a command follows. Returns whether it goes on: nobody interrupted it,
    /// and somebody may still read.
    pub(super) async fn follows(&self) -> bool {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => false,
            () = until_output_is_unread() => false,
            () = sleep(LOOK_EVERY) => true,
        }
    }

    /// Prints a note for a person on standard error, unless the output is JSON or quiet.
    pub(super) fn note(&self, text: &str) {
        if !self.json && !self.quiet {
            // A note is only informative, so a failed write is ignored.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Shows a person at a terminal what the command waits for, in a line that the next call replaces. An empty text
    /// removes the line.
    pub(super) fn waiting(&self, text: &str) {
        if self.is_watched() {
            let mut err = io::stderr().lock();
            // Progress is only informative, so a failed write is ignored.
            let _ = write!(err, "\r\x1b[K{text}").and_then(|()| err.flush());
        }
    }

    /// Warns the user about something that the command does without, in one line on standard error and in every form of
    /// output.
    pub(super) fn warning(&self, text: &str) {
        let line =
            if self.json { json!({ "warning": { "message": text } }).to_string() } else { text.to_owned() };
        // A warning that cannot be written does not stop the command.
        let _ = writeln!(io::stderr(), "{line}");
    }

    pub(super) fn failure(&self, failure: &Failure) {
        let text = if self.json {
            json!({ "error": failure }).to_string()
        } else {
            let red = self.paint(AnsiColor::Red.on_default().bold());
            let hint = failure.advice().map(|hint| format!("\n{hint}")).unwrap_or_default();
            format!("{red}error:{red:#} {}{hint}", failure.message())
        };
        let _ = io::stderr().write_all((text + "\n").as_bytes());
    }

    /// Returns the style if colours are used, or else no style.
    pub(super) const fn paint(&self, style: Style) -> Style {
        if self.color { style } else { Style::new() }
    }
}

/// The beginning of the failure of a command whose output cannot be written.
const UNWRITTEN: &str = "the output cannot be written";

/// The time between two looks at what a command follows.
const LOOK_EVERY: Duration = Duration::from_millis(500);
