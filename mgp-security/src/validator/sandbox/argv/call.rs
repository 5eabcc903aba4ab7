//! A program with its arguments, and the lookup of options in them.

use super::super::place::Place;
use super::super::value::{Arg, Flow};
use super::files::Files;

/// A call of a program, before it runs.
pub(in super::super) struct Call<'a> {
    /// The name of the program in lower case, without directories.
    pub(in super::super) program: &'a str,
    /// The name of the program as it was written.
    pub(in super::super) head: &'a str,
    pub(in super::super) args: &'a [Arg],
    pub(in super::super) input: &'a Flow,
    /// The working directory, as far as it is known; empty if no command changed it.
    pub(in super::super) directory: &'a str,
    /// The files that no command may touch.
    pub(in super::super) files: Files<'a>,
}

impl<'a> Call<'a> {
    /// Returns whether the option is given: `-s`, in a cluster `-xs`, `--long` or an abbreviation of it.
    pub(in super::super) fn flag(&self, short: char, long: &str) -> bool {
        self.options().any(|text| {
            if let Some(name) = text.strip_prefix("--") {
                let name = name.split('=').next().unwrap_or("");
                name.len() >= 3 && long.starts_with(name)
            } else {
                text.contains(short)
            }
        })
    }

    /// Returns whether `text` is one of the arguments.
    pub(in super::super) fn has(&self, text: &str) -> bool {
        self.args.iter().any(|arg| arg.text == text)
    }

    /// Returns the arguments that are not options. Values of options are among them.
    pub(in super::super) fn operands(&self) -> impl DoubleEndedIterator<Item = &'a Arg> + use<'a> {
        let end = self.args.iter().position(|arg| arg.text == "--").unwrap_or(self.args.len());
        let (before, after) = self.args.split_at(end);
        before.iter().filter(|arg| !arg.is_option()).chain(after.iter().skip(1))
    }

    /// Returns the value of an option, which is attached to it or is the next argument.
    pub(in super::super) fn value(&self, short: char, long: &str) -> Option<&'a str> {
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            let text = arg.text.as_str();
            if text == "--" {
                return None;
            }
            if let Some(name) = text.strip_prefix("--") {
                if !long.is_empty() && name == long {
                    return args.next().map(|next| next.text.as_str());
                }
                if let Some((name, value)) = name.split_once('=')
                    && name == long
                {
                    return Some(value);
                }
            } else if arg.is_option()
                && let Some(at) = text.find(short)
            {
                let value = &text[at + short.len_utf8()..];
                return if value.is_empty() {
                    args.next().map(|next| next.text.as_str())
                } else {
                    Some(value)
                };
            }
        }
        None
    }

    /// Returns the first operand, which is the subcommand of many programs; empty if there is none.
    pub(in super::super) fn verb(&self) -> &'a str {
        self.operands().next().map_or("", |arg| arg.text.as_str())
    }

    /// Returns the place that `path` denotes, seen from the working directory.
    pub(in super::super) fn place(&self, path: &str) -> Place {
        Place::new(path, self.directory)
    }

    fn options(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.args
            .iter()
            .map(|arg| arg.text.as_str())
            .take_while(|text| *text != "--")
            .filter(|text| text.len() > 1 && text.starts_with('-'))
    }
}
