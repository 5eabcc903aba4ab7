//! The rules for one program with its arguments, in one file for each family of dangers.

mod call;
pub(super) mod delete;
mod environment;
mod files;
pub(super) mod kernel;
mod network;

pub(super) use call::Call;
pub(super) use environment::check_assignment;
pub(super) use files::{Files, check_input, check_output};
pub(super) use network::{address_of_metadata, is_local_host, is_network_device};

use crate::Finding;

use super::{
    Arg, CommandPolicy, Danger, Marks, Reading, RuleEffect, Trait, is_known_as, refuse, refuse_if, rules,
};

/// Judges `call` by the rules of every family.
pub(super) fn check(
    call: &Call<'_>,
    reading: Option<&Reading<'_>>,
    policy: &CommandPolicy,
) -> Result<(), Finding> {
    kernel::check(call, reading)?;
    for effect in rules(call) {
        if let RuleEffect::Refuse(danger) = effect {
            return Err(refuse(danger));
        }
    }
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
        refuse_if(arg.marks.has(Marks::GLUED) || is_pieced || hides, Danger("obfuscation"))?;
        let connects = is_network_device(&arg.text) && !matches!(call.program, "echo" | "printf" | "grep");
        refuse_if(connects, Danger("reverse-shell"))?;
        let is_secret = arg.marks.has(Marks::SENSITIVE) && !arg.marks.has(Marks::NAMED) && arg.text == "\0";
        refuse_if(is_secret && !matches!(call.program, "echo" | "printf"), Danger("exfiltration"))?;
        // Old shells run the command behind a function definition, `() { :;}; command`, that they find in a variable.
        let value = arg.text.split_once('=').map_or(arg.text.as_str(), |(_, value)| value);
        let defines = value.trim_start().starts_with("()")
            && ["() {", "}", ";"].iter().all(|sign| value.contains(sign));
        refuse_if(defines, Danger("environment"))?;
        let asks_cloud = address_of_metadata(&arg.text, is_known_as(call.program, Trait("client")));
        refuse_if(asks_cloud, Danger("cloud-metadata"))?;
    }
    Ok(())
}

/// Returns whether the first directory of a path is disguised by wildcards, as in `/???/p??s??`.
fn hides_directory(text: &str) -> bool {
    let first = text.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    first.is_some_and(|(directory, rest)| directory.contains(['?', '[']) && !rest.is_empty())
}
