//! A program with its arguments, and the rules for it, in one file for each family of dangers.

pub(super) mod delete;
mod environment;
mod files;
pub(super) mod kernel;
mod network;

pub(super) use environment::check_assignment;
pub(super) use files::{Files, check_input, check_output};
pub(super) use network::{address_of_metadata, is_local_host, is_network_device};

use crate::Finding;

use super::{
    Arg, CommandPolicy, Danger, Flow, Marks, Place, Reading, RuleEffect, Trait, is_known_as, refuse,
    refuse_if, rules,
};

/// A call of a program, before it runs.
pub(super) struct Call<'a> {
    /// The name of the program in lower case, without directories.
    pub(super) program: &'a str,
    /// The name of the program as it was written.
    pub(super) head: &'a str,
    pub(super) args: &'a [Arg],
    pub(super) input: &'a Flow,
    /// The files that no command may touch, seen from the working directory.
    pub(super) files: Files<'a>,
}

impl<'a> Call<'a> {
    /// Returns whether one of the options `names`, such as `-r,--recursive`, is given: `-r`, in a cluster `-xr`,
    /// `--recursive` or an abbreviation of it.
    pub(super) fn gives(&self, names: &str) -> bool {
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
    pub(super) fn has(&self, text: &str) -> bool {
        self.args.iter().any(|arg| arg.text == text)
    }

    /// Returns the arguments that are not options. Values of options are among them.
    pub(super) fn operands(&self) -> impl DoubleEndedIterator<Item = &'a Arg> + use<'a> {
        let (before, behind) = self.halves();
        before.iter().filter(|arg| !arg.is_option()).chain(behind)
    }

    /// Returns the value of one of the options `names`, such as `-T,--upload-file`, which is attached to it or is the next
    /// argument. A name without hyphens is the key of `key=value`, and one hyphen may begin a whole word.
    pub(super) fn value(&self, names: &str) -> Option<&'a str> {
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
    pub(super) fn halves(&self) -> (&'a [Arg], &'a [Arg]) {
        let end = self.args.iter().position(|arg| arg.text == "--").unwrap_or(self.args.len());
        (&self.args[..end], self.args.get(end + 1..).unwrap_or_default())
    }

    /// Returns the place that `path` denotes, seen from the working directory.
    pub(super) fn place(&self, path: &str) -> Place {
        Place::new(path, self.files.directory)
    }

    fn options(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.halves().0.iter().filter(|arg| arg.is_option()).map(|arg| arg.text.as_str())
    }
}

/// Judges `call` by the rules of every family.
pub(super) fn check(
    call: &Call<'_>,
    reading: Option<&Reading<'_>>,
    policy: &CommandPolicy,
) -> Result<(), Finding> {
    kernel::check(call, reading)?;
    let refused = |effect| if let RuleEffect::Refuse(danger) = effect { Err(refuse(danger)) } else { Ok(()) };
    rules(call).try_for_each(refused)?;
    delete::check(call, policy)?;
    files::check_written(call, reading)?;
    network::check(call)?;
    files::check_secrets(call, reading)?;
    kernel::check_privileges(call)?;
    environment::check(call)
}

/// Judges the arguments by the rules that apply to every program.
pub(super) fn check_arguments(call: &Call<'_>) -> Result<(), Finding> {
    for arg in call.args {
        let is_pieced = arg.marks.has(Marks::PIECES) && arg.text.contains('/') && !arg.text.contains("://");
        let hides = arg.marks.has(Marks::PATTERN) && hides_directory(&arg.text);
        refuse_if(arg.marks.has(Marks::GLUED) || is_pieced || hides, Danger::Obfuscation)?;
        let connects = is_network_device(&arg.text) && !matches!(call.program, "echo" | "printf" | "grep");
        refuse_if(connects, Danger::ReverseShell)?;
        let is_secret = arg.marks.has(Marks::SENSITIVE) && !arg.marks.has(Marks::NAMED) && arg.text == "\0";
        refuse_if(is_secret && !matches!(call.program, "echo" | "printf"), Danger::Exfiltration)?;
        // Old shells run the command behind a function definition, `() { :;}; command`, that they find in a variable.
        let value = arg.text.split_once('=').map_or(arg.text.as_str(), |(_, value)| value);
        let defines = value.trim_start().starts_with("()")
            && ["() {", "}", ";"].iter().all(|sign| value.contains(sign));
        refuse_if(defines, Danger::Environment)?;
        let asks_cloud = address_of_metadata(&arg.text, is_known_as(call.program, Trait::Client));
        refuse_if(asks_cloud, Danger::CloudMetadata)?;
    }
    Ok(())
}

/// Returns whether the first directory of a path is disguised by wildcards, as in `/???/p??s??`.
fn hides_directory(text: &str) -> bool {
    let first = text.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    first.is_some_and(|(directory, rest)| directory.contains(['?', '[']) && !rest.is_empty())
}
