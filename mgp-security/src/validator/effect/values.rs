//! The effect of values that a command is given: files to write, scripts of sed, variables, and mounts.

use std::path::Path;

use mgp_types::mgp::CallEffect;

use super::command::{is_word, of_command, operands};
use super::{is_folder_of_system, may_be_there, worst};
use crate::tool::{is_listed, list};
use crate::validator::sandbox::{self, SedEffect, sed_effects};

/// Returns the effect of writing to a file, whose name is not known if variables make it.
pub(super) fn of_written(file: Option<String>, is_kept: bool) -> CallEffect {
    let Some(file) = file else { return CallEffect::Destroys };
    let keeps = |file: &str| file.ends_with(['/', '.']) || is_listed("file that keeps nothing", file);
    let is_replaced = !is_kept && !keeps(&file) && may_be_there(Path::new(&file));
    let of_file = if is_replaced { CallEffect::Destroys } else { CallEffect::Runs };
    let gives_access = list("file that gives access").any(|part| file.contains(part));
    if gives_access { CallEffect::GivesAccess } else { of_file }
}

/// Returns the effect of writing to the files that options of a program name.
pub(super) fn of_outputs(name: &str, words: &[String]) -> CallEffect {
    let options = list("option that names a written file").filter_map(|phrase| phrase.split_once(' '));
    let options = options.filter(|(program, _)| *program == name);
    worst(options.flat_map(|(_, option)| {
        let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1).unwrap_or("=");
        let given = words.iter().enumerate().filter(move |(_, word)| is_word(word, option));
        given.map(move |(at, word)| {
            let joined = word.split_once(letter).map(|(_, file)| file).filter(|file| !file.is_empty());
            of_written(joined.or_else(|| words.get(at + 1).map(String::as_str)).map(str::to_owned), false)
        })
    }))
}

/// Returns the effect of the scripts among the words of sed, which run commands and write files.
pub(super) fn of_sed_scripts(words: &[String]) -> CallEffect {
    let begins = |word: &String| ["-e", "-f", "--ex", "--fi"].iter().any(|option| word.starts_with(*option));
    let is_option = |word: &String| !word.starts_with("--") && word.starts_with('-') && word.ends_with('e');
    let behind = words.windows(2).filter(|two| is_option(&two[0])).map(|two| &*two[1]);
    let options = ["--expression=", "-e", "-ne"];
    let joined = words.iter().filter_map(|word| options.iter().find_map(|it| word.strip_prefix(it)));
    let first = operands(words).next().filter(|_| !words.iter().any(|word| begins(word) || is_option(word)));
    let scripts = behind.chain(joined).chain(first.map(String::as_str));
    worst(scripts.flat_map(|script| sed_effects(script).0).map(|effect| match effect {
        SedEffect::Runs(None) => CallEffect::Destroys,
        SedEffect::Runs(Some(command)) => of_command(command),
        SedEffect::Writes(file) => of_written(Some(file.to_owned()), false),
    }))
}

/// Returns the effect of giving a value to a variable or a setting, which may name what other programs run.
pub(super) fn of_assignment(name: &str, value: &str) -> CallEffect {
    let is = |heading| sandbox::is_listed(heading, name);
    let is_of_project = is_listed("variable of a project's modules", name);
    let is_open = |place: &str| {
        list("open folder").any(|open| place.starts_with(open)) || !is_of_project && matches!(place, "" | ".")
    };
    let loads = || list("option that loads code").any(|option| value.contains(option));
    if is("program-variables") || is_listed("setting that names a program", name) {
        of_command(value)
    } else if is("loaded-variables") && !value.is_empty()
        || is("search-variables") && value.split(':').any(is_open)
        || is_listed("variable of options", name) && loads()
    {
        CallEffect::Destroys
    } else {
        CallEffect::Runs
    }
}

/// Returns whether an argument of a container's program mounts a folder of the system, as in `/:/host` or
/// `type=bind,source=/etc,target=/e`.
pub(super) fn mounts_system(word: &str) -> bool {
    let names_source = word.contains("source=") || word.contains("src=");
    let mut parts = word.split([',', '=']).filter(|part| part.contains(':') || names_source);
    parts.any(|part| is_folder_of_system(part) || list("file that gives access").any(|it| part.contains(it)))
}
