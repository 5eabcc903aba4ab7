//! The rules about variables and settings that make programs load or run something else.

use crate::Finding;

use super::super::{
    Arg, Danger, Flow, Judge, Kind, Reading, command_name, is_for_everybody, is_listed, is_plain_program,
    listed_text, package, refuse_if, tolerate,
};
use super::{Call, Files};

/// Judges the assignment of `value` to the variable `name`.
pub(crate) fn check_assignment(judge: &mut Judge<'_>, name: &str, value: &Arg) -> Result<(), Finding> {
    let text = value.text.as_str();
    let (directory, input) = (judge.directory.clone(), Flow::default());
    let files = Files { protected: &judge.policy.protected, directory: &directory };
    let call = Call { program: "", head: "", args: &[], input: &input, files };
    if is_listed("command-variables", name) || is_listed("program-variables", name) {
        judge.text(text, &Flow::default())?;
    }
    check_variable(&call, name, text)?;
    if let Some(program) = listed_text("option-variables", name) {
        let words = std::iter::once(program).chain(text.split_whitespace()).map(Arg::new);
        tolerate(judge.command(&words.collect::<Vec<_>>(), &Flow::default()))?;
    }
    if matches!(name, "PS0" | "PS1" | "PS2" | "PS4") && text.contains(['$', '`']) {
        // The shell expands the prompt each time it is shown.
        tolerate(judge.text(&format!("echo \"{text}\""), &Flow::default()))?;
    }
    Ok(())
}

/// Judges the value of a variable by the lists of the table.
fn check_variable(call: &Call<'_>, name: &str, text: &str) -> Result<(), Finding> {
    let forgets =
        matches!(name, "HISTFILE" | "HISTSIZE" | "HISTFILESIZE") && matches!(text, "" | "0" | "/dev/null");
    refuse_if(forgets, Danger::LogWiping)?;
    if is_listed("index-variables", name) {
        package::check_index(text)?;
    }
    let loads = is_listed("loaded-variables", name) && !text.is_empty();
    let names_program = is_listed("program-variables", name) && !is_plain_program(call, text);
    let first = text.split(':').next().unwrap_or("");
    let searches =
        is_listed("search-variables", name) && first.starts_with('/') && is_for_everybody(call, first);
    let refused = text.trim_start().starts_with("() {")
        || loads
        || names_program
        || searches
        || listed_text("option-variables", name).is_some_and(|program| loads_code(call, program, text));
    refuse_if(refused, Danger::Environment)
}

/// Returns whether options that a program takes from a variable load code from a file, or make it run another program.
fn loads_code(call: &Call<'_>, program: &str, options: &str) -> bool {
    let args: Vec<Arg> = options.split_whitespace().map(Arg::new).collect();
    Reading::of(&Call { program, head: program, args: &args, ..*call }).is_some_and(|reading| {
        let file = |arg: &Arg| arg.text.contains('/');
        let runs = |kind: Kind| matches!(kind, Kind::Code | Kind::Command | Kind::Action);
        reading.values(Kind::Library).any(file)
            || reading.given.iter().any(|given| runs(given.kind))
            || reading.values(Kind::Program).any(|arg| !is_plain_program(call, &arg.text))
    })
}

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    if matches!(call.program, "env" | "sudo" | "doas" | "make" | "gmake" | "configure") {
        let mut assigned = call.args.iter().filter_map(|arg| arg.text.split_once('='));
        assigned.try_for_each(|(name, value)| check_variable(call, name, value))?;
    }
    if call.program == "git" || call.program == "yadm" { git(call) } else { Ok(()) }
}

/// Judges the settings of git that run programs.
fn git(call: &Call<'_>) -> Result<(), Finding> {
    let texts: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let pairs = texts.windows(2).filter(|pair| matches!(pair[0], "-c" | "--config" | "--config-env"));
    let pairs = pairs.filter_map(|pair| pair[1].split_once('='));
    let kept = texts.iter().position(|text| *text == "config").and_then(|at| {
        let mut words = texts[at + 1..].iter().filter(|text| !text.starts_with('-'));
        words.find(|text| !matches!(**text, "set" | "add")).zip(words.next())
    });
    pairs
        .chain(kept.map(|(key, value)| (*key, *value)))
        .try_for_each(|(key, value)| git_setting(call, key, value))
}

fn git_setting(call: &Call<'_>, key: &str, value: &str) -> Result<(), Finding> {
    let key = key.to_ascii_lowercase();
    refuse_if(is_listed("git-loads", &key) && is_for_everybody(call, value), Danger::Persistence)?;
    let switch = matches!(value, "true" | "false" | "");
    // The helpers and drivers of packages are named by the part behind their `git-`.
    let names_program = is_listed("git-programs", &key) && !switch && !is_plain_program(call, value);
    let alias = value.strip_prefix('!').is_some_and(|command| {
        command_name(command) != "git" || command.replace("&&", "").contains([';', '|', '&', '`', '$', '>'])
    });
    let replaced = key.strip_prefix("url.").is_some_and(|rest| rest.starts_with("http://"));
    let refused = is_listed("git-refused", &key) && !switch;
    let changes = refused || key == "protocol.ext.allow" || (key.starts_with("alias.") && alias) || replaced;
    refuse_if(names_program || changes, Danger::OptionInjection)
}
