//! The rules about interpreters: the code they get on the command line, through a pipe or in a file.

use std::sync::LazyLock;

use regex::Regex;

use crate::Finding;
use crate::data_file::expression;

use super::builtin::{feed, run_file};
use super::sed::{Effect, effects};
use super::{
    Arg, Call, Danger, Flow, HOLE, Judge, Kind, Marks, Place, Reading, Text, Trait, address_of_metadata,
    file_key, is_bare_shell, is_network_device, matched, refuse, refuse_if, tolerate,
};

/// Judges the code that `call` runs, if its program is an interpreter or a file.
pub(super) fn check(
    judge: &mut Judge<'_>,
    call: &Call<'_>,
    reading: Option<&Reading<'_>>,
) -> Result<(), Finding> {
    let windows = [".exe", ".bat", ".cmd", ".ps1", ".com"].iter().any(|end| call.head.ends_with(end));
    if call.head.contains('/') || windows {
        run_file(judge, &Arg::new(call.head))?;
    }
    if matches!(call.program, "start-process" | "start" | "invoke-item" | "saps") {
        call.operands().try_for_each(|file| run_file(judge, file))?;
    }
    let Some(reading) = reading else { return Ok(()) };
    if reading.program.has(Trait::Shell) {
        return shell(judge, call);
    }
    match call.program {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" | "goawk" => awk(judge, call)?,
        "sed" | "gsed" | "ssed" => sed(judge, call, reading)?,
        "parallel" if call.operands().next().is_none() => drop(feed(judge, call.input)?),
        "go" | "rustc" | "gcc" | "cc" | "tcc" | "java" | "nim" | "swift" | "cargo" | "dotnet" => {
            for arg in call.args {
                if judge.files.contains_key(&file_key(&arg.text)) {
                    written_code(judge, arg)?;
                }
            }
        }
        _ => {}
    }
    code(judge, call, reading)
}

fn shell(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<(), Finding> {
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let text = arg.text.as_str();
        if matches!(text, "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" | "--") {
            if let Some(file) = args.as_slice().first().filter(|_| text.starts_with("--") && text.len() > 2) {
                run_file(judge, file)?;
            }
            if text != "--" {
                args.next();
            }
        } else if arg.is_option() && !text.starts_with("--") && text.contains('c') {
            let Some(command) = args.find(|arg| !arg.is_option()) else { return Ok(()) };
            not_from_elsewhere(command)?;
            judge.text(&command.text, call.input)?;
            return Ok(());
        } else if text == "-s" || text == "-" {
            break;
        } else if !arg.is_option() && !text.starts_with('+') {
            if matches!(text, "/dev/stdin" | "/dev/fd/0") {
                break;
            }
            refuse_if(arg.marks.has(Marks::FETCHED), Danger::DownloadAndRun)?;
            refuse_if(arg.marks.has(Marks::PROCESS), Danger::Undecidable)?;
            return run_file(judge, arg);
        }
    }
    feed(judge, call.input).map(|_| ())
}

/// Judges the code in the arguments, the files of code, and the input if it is code.
fn code(judge: &mut Judge<'_>, call: &Call<'_>, reading: &Reading<'_>) -> Result<(), Finding> {
    // The modules that `-MModule` and `-rlibrary` load are judged together with the code.
    let texts = call.args.iter().map(|arg| arg.text.as_str());
    let loaded = texts.filter(|text| text.starts_with("-M") || text.starts_with("-r"));
    let modules = loaded.collect::<Vec<_>>().join(" ");
    let mut found = call.args.iter().any(|arg| arg.text.starts_with("-m") || arg.text.starts_with("-S"));
    let operands = || reading.kinds().filter(|(_, kind)| *kind == Some(Kind::Code)).map(|(arg, _)| arg);
    for code in reading.values(Kind::Code).chain(operands()) {
        found = true;
        not_from_elsewhere(code)?;
        if call.program == "expect" {
            spawned(judge, &code.text)?;
        }
        scan(&code.text)?;
        if !modules.is_empty() {
            scan(&format!("{modules}; {}", code.text))?;
        }
    }
    let spoken =
        reading.kinds().filter(|(arg, kind)| *kind == Some(Kind::Escapes) && arg.text.contains(['(', ' ']));
    for text in reading.values(Kind::Escapes).chain(spoken.map(|(arg, _)| arg)) {
        not_from_elsewhere(text)?;
        scan(&text.text)?;
    }
    let scripts = reading.kinds().filter(|(_, kind)| *kind == Some(Kind::Script)).map(|(arg, _)| arg);
    // If an option contains the code, the operands are arguments of the code.
    let coded = found;
    let scripts = scripts.filter(move |_| !coded).chain(reading.values(Kind::Script));
    let mut piped = false;
    for script in scripts {
        if matches!(script.text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0") {
            piped = true;
            continue;
        }
        found = true;
        let is_fetched =
            script.marks.has(Marks::FETCHED) || is_remote(&script.text) && call.program != "deno";
        refuse_if(is_fetched, Danger::DownloadAndRun)?;
        refuse_if(script.marks.has(Marks::PROCESS), Danger::Undecidable)?;
        written_code(judge, script)?;
    }
    let reads_code = piped || reading.program.input == Some(Kind::Code);
    if (found && !piped) || !call.input.is_fed() || !reads_code {
        return Ok(());
    }
    match &call.input.text {
        _ if call.input.marks.has(Marks::FETCHED) || call.input.marks.has(Marks::CRAFTED) => {
            Err(refuse(Danger::DownloadAndRun))
        }
        Text::Known(text) => scan(text),
        Text::Unknown => Err(refuse(Danger::Undecidable)),
        Text::Absent => Ok(()),
    }
}

/// Returns whether the script is an address, from which its code is fetched.
fn is_remote(script: &str) -> bool {
    let lower = script.to_ascii_lowercase();
    ["http://", "https://", "ftp://"].iter().any(|scheme| lower.starts_with(scheme))
}

/// Judges the commands that a script of expect spawns or executes.
fn spawned(judge: &mut Judge<'_>, script: &str) -> Result<(), Finding> {
    for statement in script.split([';', '\n', '[', ']']) {
        let words = statement.trim_start();
        let command = words.strip_prefix("spawn ").or_else(|| words.strip_prefix("exec "));
        let Some(command) = command else { continue };
        refuse_if(is_bare_shell(command), Danger::Interpreter)?;
        judge.text(command, &Flow::default())?;
    }
    Ok(())
}

/// Judges running a file of code. Text that was written into it before is scanned as code.
fn written_code(judge: &mut Judge<'_>, file: &Arg) -> Result<(), Finding> {
    match judge.files.get(&file_key(&file.text)) {
        Some(Flow { text: Text::Known(text), marks })
            if !marks.has(Marks::FETCHED) && !marks.has(Marks::CRAFTED) =>
        {
            scan(text)
        }
        _ => run_file(judge, file),
    }
}

fn not_from_elsewhere(code: &Arg) -> Result<(), Finding> {
    refuse_if(code.marks.has(Marks::FETCHED), Danger::DownloadAndRun)?;
    let only_hole = code.text.trim().chars().all(|c| c == HOLE);
    refuse_if(code.text.contains(HOLE) && (code.marks.has(Marks::CRAFTED) || only_hole), Danger::Undecidable)
}

fn opens_socket(code: &str) -> Result<(), Finding> {
    if is_network_device(code) { Err(refuse(Danger::ReverseShell)) } else { matched("sockets", code) }
}

/// Refuses code in any language that runs programs, opens sockets, deletes files or reads secrets.
pub(super) fn scan(code: &str) -> Result<(), Finding> {
    opens_socket(code)?;
    matched("code", code)?;
    for quoted in QUOTED.find_iter(code) {
        let text = quoted.as_str().trim_matches(['"', '\'']);
        refuse_if(text.starts_with(['/', '~', '.']) && Place::new(text, "").is_secret(), Danger::Secret)?;
        refuse_if(address_of_metadata(text, false), Danger::CloudMetadata)?;
    }
    let mut written = WRITES.captures_iter(code).map(|found| Place::new(&found[1], ""));
    refuse_if(written.any(|place| place.is_system() || place.runs_later()), Danger::Interpreter)
}

/// Judges the code of awk. In awk, running texts as commands is common and harmless, so they are judged as far as they
/// are written out.
fn awk(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<(), Finding> {
    for arg in call.args {
        let text = arg.text.as_str();
        opens_socket(text)?;
        if !text.contains(['{', '(', '|']) {
            continue;
        }
        let mut files = AWK_WRITES.captures_iter(text);
        files.try_for_each(|file| super::argv::check_output(&Arg::new(&file[1]), &call.files))?;
        for run in AWK_RUNS.captures_iter(text) {
            let expression = run.iter().skip(1).flatten().next().map_or("", |found| found.as_str());
            let command = joined(expression);
            // Listing the accounts does not need awk, so doing it this way is a disguise.
            let detour = command.split_whitespace().any(|word| call.place(word).is_accounts());
            refuse_if(detour || is_bare_shell(&command), Danger::Interpreter)?;
            if command.trim_start().starts_with(HOLE) {
                assigned(judge, text)?;
            } else {
                judge.text(&command, &Flow::default())?;
            }
        }
        if AWK_RUNS_VARIABLE.is_match(text) {
            assigned(judge, text)?;
        }
    }
    Ok(())
}

/// Judges the texts that are assigned in an awk program, in place of a variable that the program runs.
fn assigned(judge: &mut Judge<'_>, program: &str) -> Result<(), Finding> {
    let mut values = AWK_ASSIGNS.captures_iter(program).peekable();
    refuse_if(values.peek().is_none(), Danger::Undecidable)?;
    // Not every assigned text is the command that is run.
    values.try_for_each(|value| tolerate(judge.text(&joined(&value[1]), &Flow::default())))
}

/// Returns the text of an awk expression: its literals, with holes for everything else.
fn joined(expression: &str) -> String {
    let mut text = String::new();
    let mut last = 0;
    for literal in QUOTED.find_iter(expression) {
        if !expression[last..literal.start()].trim().is_empty() {
            text.push(HOLE);
        }
        let inner = literal.as_str();
        text.push_str(&inner[1..inner.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\"));
        last = literal.end();
    }
    if !expression[last..].trim().is_empty() {
        text.push(HOLE);
    }
    text
}

/// Judges the scripts of GNU sed, which run the command behind `e` and the result of `s///e`, and can write files.
fn sed(judge: &mut Judge<'_>, call: &Call<'_>, reading: &Reading<'_>) -> Result<(), Finding> {
    let given = reading.given.iter().filter(|given| matches!(given.name, "-e" | "--expression"));
    let mut scripts: Vec<&str> = given.map(|given| given.value.text.as_str()).collect();
    let files: Vec<&Arg> = reading.values(Kind::Script).collect();
    if scripts.is_empty() && files.is_empty() {
        scripts.extend(reading.operands.first().map(|arg| arg.text.as_str()));
    }
    if let (Text::Known(text), true) =
        (&call.input.text, files.iter().any(|file| matches!(file.text.as_str(), "-" | "/dev/stdin")))
    {
        scripts.push(text);
    }
    for effect in scripts.iter().flat_map(|script| effects(script).0) {
        match effect {
            Effect::Runs(None) => return Err(refuse(Danger::Interpreter)),
            Effect::Runs(Some(command)) => {
                judge.text(command, &Flow::default())?;
                return Err(refuse(Danger::Interpreter));
            }
            Effect::Writes(file) => super::argv::check_output(&Arg::new(file), &call.files)?,
        }
    }
    Ok(())
}

static QUOTED: LazyLock<Regex> = LazyLock::new(|| expression(r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"#));

/// Code that opens a file for writing.
static WRITES: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r#"(?i)(?:open|write_text|writeFileSync|writeFile|file_put_contents|File\.write)\s*\(?\s*["']>{0,2}\s*([^"']+)["']"#,
    )
});

static AWK_RUNS: LazyLock<Regex> = LazyLock::new(|| {
    expression(concat!(
        r#"\bsystem\s*\(((?:"(?:[^"\\]|\\.)*"|[^()"]|\([^()]*\))*)\)|"#,
        r#"((?:"(?:[^"\\]|\\.)*"\s*[\w$.]*\s*)+)\)?\s*\|&?\s*getline|"#,
        r#"\bprintf?\b[^|;}]*\|&?\s*((?:"(?:[^"\\]|\\.)*"\s*[\w$.]*\s*)+)"#,
    ))
});

/// A file that awk prints to.
static AWK_WRITES: LazyLock<Regex> = LazyLock::new(|| expression(r#"\bprintf?\b[^;}]*>\s*"([^"]+)""#));

static AWK_RUNS_VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"[{;(]\s*[A-Za-z_]\w*\s*\|&?\s*getline|\bprintf?\b[^|;}]*[^|]\|&?\s*[A-Za-z_]")
});

static AWK_ASSIGNS: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"[^=!<>]=\s*((?:"(?:[^"\\]|\\.)*"\s*[\w$.]*\s*)+)"#));
