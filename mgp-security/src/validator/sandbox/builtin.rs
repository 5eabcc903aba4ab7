//! The commands that the shell runs itself: evaluation, sourcing, variables and the working directory.

use crate::Finding;

use super::{Arg, Call, Danger, Flow, HOLE, Judge, Marks, Place, Text, argv, file_key, refuse, refuse_if};

/// Judges `call` if it is a built-in command of the shell, and returns its output; `None` if it is not.
pub(super) fn run(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<Option<Flow>, Finding> {
    match call.program {
        ":" | "true" | "false" | "[" | "[[" | "test" | "shift" | "return" | "break" | "continue" | "wait" => {
        }
        "eval" => return evaluate(judge, call).map(Some),
        "source" | "." => return source(judge, call).map(Some),
        "alias" => {
            let mut named = call.args.iter().filter_map(|arg| arg.text.split_once('='));
            named.try_for_each(|(_, command)| judge.text(command, &Flow::default()).map(drop))?;
        }
        "trap" => {
            if let Some(action) = call.operands().next() {
                judge.text(&action.text, &Flow::default())?;
            }
        }
        "export" | "declare" | "typeset" | "local" | "readonly" | "set" | "setenv"
            if call.operands().next().is_some() =>
        {
            for arg in call.args {
                if let Some((name, value)) = arg.text.split_once('=') {
                    argv::check_assignment(judge, name, &Arg { text: value.to_owned(), marks: arg.marks })?;
                    judge.assign(name, Some(value.to_owned()), arg.marks);
                }
            }
            refuse_if(call.program == "set" && call.has("history") && call.has("+o"), Danger::LogWiping)?;
        }
        "unset" if call.has("HISTFILE") => return Err(refuse(Danger::LogWiping)),
        "read" | "mapfile" | "readarray" | "getopts" | "unset" => {
            let marks = call.input.marks.without(Marks::TELLING);
            call.operands().for_each(|arg| judge.assign(&arg.text, None, marks));
        }
        "printf" if call.has("-v") => {
            call.operands().take(1).for_each(|arg| judge.assign(&arg.text, None, arg.marks));
        }
        "cd" | "pushd" | "chdir" => {
            judge.directory = match call.operands().next() {
                Some(arg) if arg.is_known() && arg.text != "-" => call.place(&arg.text).as_str().to_owned(),
                None => "~".to_owned(),
                Some(_) => HOLE.to_string(),
            };
        }
        "history" if call.gives("-c,-d") || call.gives("-w") && call.input.is_fed() => {
            return Err(refuse(Danger::LogWiping));
        }
        _ => return Ok(None),
    }
    Ok(Some(Flow::default()))
}

fn evaluate(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<Flow, Finding> {
    let marks = call.args.iter().fold(Marks::NONE, |marks, arg| marks.and(arg.marks));
    refuse_if(marks.has(Marks::FETCHED), Danger::DownloadAndRun)?;
    let text = call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    if marks.has(Marks::SETUP) && !marks.has(Marks::CRAFTED) && text.trim() == "\0" {
        return Ok(Flow::default());
    }
    judge.text(&text, call.input)
}

fn source(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<Flow, Finding> {
    let Some(file) = call.args.first() else { return Ok(Flow::default()) };
    if matches!(file.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-") {
        return feed(judge, call.input);
    }
    refuse_if(file.marks.has(Marks::FETCHED), Danger::DownloadAndRun)?;
    if file.marks.has(Marks::PROCESS) {
        refuse_if(!file.marks.has(Marks::SETUP), Danger::Undecidable)?;
    } else {
        run_file(judge, file)?;
    }
    Ok(Flow::default())
}

/// Judges the commands that a shell reads from `input`.
pub(super) fn feed(judge: &mut Judge<'_>, input: &Flow) -> Result<Flow, Finding> {
    refuse_if(input.marks.has(Marks::FETCHED) || input.marks.has(Marks::CRAFTED), Danger::DownloadAndRun)?;
    match &input.text {
        Text::Absent => Ok(Flow::default()),
        Text::Known(text) => judge.text(text, &Flow::default()),
        // A script from a file counts as a script file, even if it comes through a pipe.
        Text::Unknown if input.marks.has(Marks::FILE) => Ok(Flow::default()),
        Text::Unknown => Err(refuse(Danger::Undecidable)),
    }
}

/// Judges running `file` as a script: a file that was fetched or decoded is refused, and a file that was written in
/// this command line is judged by its text.
pub(super) fn run_file(judge: &mut Judge<'_>, file: &Arg) -> Result<(), Finding> {
    refuse_if(file.marks.has(Marks::CRAFTED) && file.text.contains(HOLE), Danger::Undecidable)?;
    refuse_if(argv::is_network_device(&file.text), Danger::ReverseShell)?;
    let runs_later = Place::new(&file.text, &judge.directory).runs_later() && file.text.contains("hooks");
    refuse_if(runs_later, Danger::Persistence)?;
    let Some(mut flow) = judge.files.get(&file_key(&file.text)).cloned() else { return Ok(()) };
    // A file that was written here is not one that existed before, whatever it is a copy of.
    flow.marks = flow.marks.without(Marks::FILE);
    feed(judge, &flow).map(drop)
}
