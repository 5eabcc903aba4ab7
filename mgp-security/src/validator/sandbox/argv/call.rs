//! A program with its arguments, and the lookup of options in them.

use super::super::{Arg, Flow, Place};
use super::files::Files;

/// A call of a program, before it runs.
pub(crate) struct Call<'a> {
    /// The name of the program in lower case, without directories.
    pub(crate) program: &'a str,
    /// The name of the program as it was written.
    pub(crate) head: &'a str,
    pub(crate) args: &'a [Arg],
    pub(crate) input: &'a Flow,
    /// The files that no command may touch, seen from the working directory.
    pub(crate) files: Files<'a>,
}

impl<'a> Call<'a> {
    /// Returns whether one of the options `names`, such as `-r,--recursive`, is given: `-r`, in a cluster `-xr`,
    /// `--recursive` or an abbreviation of it.
    pub(crate) fn gives(&self, names: &str) -> bool {
        let given = |own: &str, text: &str| match (own.strip_prefix("--"), text.strip_prefix("--")) {
            (Some(long), Some(name)) => {
                let name = name.split('=').next().unwrap_or("");
                name.len() >= 3 && long.starts_with(name)
            }
            (None, None) => own.chars().nth(1).is_some_and(|letter| text[1..].contains(letter)),
            _ => false,
        };
        names.split(',').any(|own| self.options().any(|text| given(own, text)))
    }

    /// Returns whether `text` is one of the arguments.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.args.iter().any(|arg| arg.text == text)
    }

    /// Returns the arguments that are not options. Values of options are among them.
    pub(crate) fn operands(&self) -> impl DoubleEndedIterator<Item = &'a Arg> + use<'a> {
        let (before, behind) = self.halves();
        before.iter().filter(|arg| !arg.is_option()).chain(behind)
    }

    /// Returns the value of one of the options `names`, such as `-T,--upload-file`, which is attached to it or is the next
    /// argument. A name without hyphens is the key of `key=value`, and one hyphen may begin a whole word.
    pub(crate) fn value(&self, names: &str) -> Option<&'a str> {
        let (before, _) = self.halves();
        let given = |own: &str| {
            before.iter().enumerate().find_map(|(at, arg)| {
                let text = arg.text.as_str();
                let next = || self.args.get(at + 1).map(|next| next.text.as_str());
                if own.len() != 2 || !own.starts_with('-') {
                    let attached = text.strip_prefix(own).and_then(|rest| rest.strip_prefix('='));
                    return attached.or_else(|| next().filter(|_| text.eq_ignore_ascii_case(own)));
                }
                let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
                let value = &cluster[cluster.find(&own[1..])? + 1..];
                if value.is_empty() { next() } else { Some(value) }
            })
        };
        names.split(',').find_map(given)
    }

    /// Returns the arguments before `--`, and those behind it.
    pub(crate) fn halves(&self) -> (&'a [Arg], &'a [Arg]) {
        let end = self.args.iter().position(|arg| arg.text == "--").unwrap_or(self.args.len());
        (&self.args[..end], self.args.get(end + 1..).unwrap_or_default())
    }

    /// Returns the place that `path` denotes, seen from the working directory.
    pub(crate) fn place(&self, path: &str) -> Place {
        Place::new(path, self.files.directory)
    }

    fn options(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.halves().0.iter().filter(|arg| arg.is_option()).map(|arg| arg.text.as_str())
    }
}
