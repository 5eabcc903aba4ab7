//! The output of a command: its text if it is known, and where it came from.

use crate::shell::{decode_escapes, hides_letters};

use super::argv::delete::Search;
use super::{
    Arg, Call, Flow, HOLE, Judge, Kind, Marks, Place, RuleEffect, Text, Trait, facts, file_key, is_listed,
    kernel, matched, program_name, rules,
};

/// Returns the standard output of `call`.
pub(super) fn output(judge: &mut Judge<'_>, call: &Call<'_>) -> Flow {
    let marks =
        call.args.iter().fold(call.input.marks, |marks, arg| marks.and(arg.marks)).without(Marks::PATTERN);
    let marks = marks.and(Marks::KERNEL.when(call.args.iter().any(|arg| kernel::is_named(&arg.text))));
    // The output that a program derives from a file is not the file itself any more.
    let marks = marks.without(Marks::FILE.when(!matches!(call.program, "cat" | "tee")));
    copies(judge, call);
    match call.program {
        "echo" => return echo(call, marks),
        "printf" => return printf(call, marks),
        "cat" | "tee" | "sort" | "head" | "tail" | "uniq" | "tac" | "nl" => return pass(judge, call, marks),
        "mktemp" => return Flow::known(MADE),
        "which" | "command" | "type" | "whence" => {
            if let Some(arg) = call.operands().next().filter(|arg| arg.is_known()) {
                return Flow::known(arg.text.clone());
            }
        }
        "mkfifo" | "mknod" => {
            let made = call.operands().map(|arg| (file_key(&arg.text), Flow::unknown(Marks::NONE)));
            judge.files.extend(made);
            return Flow::default();
        }
        _ => {}
    }
    let printed = rules(call).find_map(|effect| match effect {
        RuleEffect::Prints(got, lost) => Some((got, marks.and(got).without(lost))),
        _ => None,
    });
    if let Some((got, marks)) = printed {
        if got.has(Marks::FETCHED) {
            downloads(judge, call);
        }
        return Flow::unknown(marks);
    }
    Flow::unknown(marks.and(output_marks(call)))
}

/// Returns the marks of the output that depend on more than the arguments that a rule of the table can name.
fn output_marks(call: &Call<'_>) -> Marks {
    let facts = facts(call.program);
    let code = facts.is_some_and(|facts| facts.input == Some(Kind::Code));
    if call.program == "tr" && shifts(call) {
        return Marks::CRAFTED;
    }
    if code || matches!(call.program, "jq" | "gojq") {
        let tells = call.args.iter().any(|arg| matched("environment", &arg.text).is_err());
        return Marks::SENSITIVE.and(Marks::TELLING).when(tells);
    }
    if call.program == "find" {
        let search = Search::of(call);
        let everything = Marks::EVERYTHING.when(search.unfiltered && !search.below_here);
        let marks = everything.and(Marks::REBUILT.when(search.rebuilt));
        return if search.for_secrets { Marks::SENSITIVE } else { marks };
    }
    let tells = facts.is_some_and(|facts| facts.has(Trait::Tells));
    // The output may be set-up code for a shell.
    let sets_up =
        is_listed("prints-setup", call.program) || call.args.iter().any(|arg| is_listed("setup", &arg.text));
    Marks::TELLING.when(tells).and(Marks::SETUP.when(!tells && sets_up))
}

/// Returns the marks of data that is read from the file `target`.
pub(super) fn of_file(target: &Arg, directory: &str) -> Marks {
    let place = Place::new(&target.text, directory);
    let endless = matches!(place.as_str(), "/dev/zero" | "/dev/urandom" | "/dev/random");
    let marks = target.marks.and(Marks::TELLING).and(Marks::ENDLESS.when(endless));
    let sensitive = place.is_accounts() || place.is_secret();
    marks.and(Marks::SENSITIVE.when(sensitive)).and(Marks::BULK.when(place.is_device()))
}

fn echo(call: &Call<'_>, marks: Marks) -> Flow {
    let is_switch = |arg: &&Arg| {
        arg.text.strip_prefix('-').is_some_and(|s| !s.is_empty() && s.chars().all(|c| "neE".contains(c)))
    };
    let switches = call.args.iter().take_while(is_switch).count();
    let escapes = call.args[..switches].iter().any(|arg| arg.text.contains('e'));
    let words: Vec<&str> = call.args[switches..].iter().map(|arg| arg.text.as_str()).collect();
    let text = words.join(" ");
    if text.contains(HOLE) {
        return Flow::unknown(marks);
    }
    let marks = marks.and(Marks::CRAFTED.when(escapes && hides_letters(&text)));
    let text = if escapes { decode_escapes(&text) } else { text };
    Flow { text: Text::Known(text + "\n"), marks }
}

fn printf(call: &Call<'_>, marks: Marks) -> Flow {
    let Some((format, values)) = call.args.split_first() else { return Flow::default() };
    let marks = marks.and(Marks::CRAFTED.when(call.args.iter().any(|arg| hides_letters(&arg.text))));
    let format = decode_escapes(&format.text);
    let mut pieces = format.split('%');
    let mut text = pieces.next().unwrap_or("").to_owned();
    let mut values = values.iter().map(|arg| arg.text.as_str());
    while let Some(piece) = pieces.next() {
        match piece.chars().next() {
            Some('s' | 'q' | 'd' | 'i') => text.extend([values.next().unwrap_or(""), &piece[1..]]),
            Some('b') => text.extend([decode_escapes(values.next().unwrap_or("")).as_str(), &piece[1..]]),
            // Two signs stand for one.
            None => text.extend(["%", pieces.next().unwrap_or("")]),
            _ => return Flow::unknown(marks),
        }
    }
    if values.next().is_some() || text.contains(HOLE) {
        Flow::unknown(marks)
    } else {
        Flow { text: Text::Known(text), marks }
    }
}

/// Returns the output of a program that passes on its input or files.
fn pass(judge: &Judge<'_>, call: &Call<'_>, marks: Marks) -> Flow {
    let whole = matches!(call.program, "cat" | "tee");
    let cut = matches!(call.program, "head" | "tail");
    let marks = marks.without(Marks::ENDLESS.and(Marks::EVERYTHING).when(cut));
    let mut files = call.operands().filter(|arg| arg.text != "-").peekable();
    if call.program == "tee" || files.peek().is_none() {
        return Flow { text: if whole { call.input.text.clone() } else { Text::Unknown }, marks };
    }
    let mut flow = Flow::default();
    for file in files {
        let old = whole && !file.text.contains(HOLE) && !file.text.starts_with("/dev/");
        let next =
            judge.files.get(&file_key(&file.text)).cloned().unwrap_or_else(|| {
                Flow::unknown(of_file(file, call.files.directory).and(Marks::FILE.when(old)))
            });
        flow.then(if whole { next } else { Flow::unknown(next.marks.without(Marks::ENDLESS)) });
    }
    flow.marks.add(marks);
    flow
}

/// Records the files that a command fills by copying others, or by `tee`.
fn copies(judge: &mut Judge<'_>, call: &Call<'_>) {
    match call.program {
        "tee" => {
            judge.files.extend(call.operands().map(|file| (file_key(&file.text), call.input.clone())));
        }
        "cp" | "mv" | "ln" | "install" => {
            let operands: Vec<&Arg> = call.operands().collect();
            let [source, target] = operands.as_slice() else { return };
            if let Ok(program) = program_name(source)
                && facts(&program).is_some()
            {
                judge.copies.insert(file_key(&target.text), program);
            }
            if let Some(flow) = judge.files.get(&file_key(&source.text)).cloned() {
                judge.files.insert(file_key(&target.text), flow);
            }
        }
        _ => {}
    }
}

/// Records the files that hold data from the network.
fn downloads(judge: &mut Judge<'_>, call: &Call<'_>) {
    let chosen = match call.program {
        "wget" => call.value("-O,--output-document"),
        "tftp" => call.value("-l,-r"),
        _ => call.value("-o,--output,-outfile"),
    };
    let by_name = chosen.is_none()
        && (matches!(call.program, "wget" | "aria2c" | "axel") || call.gives("-O,--remote-name"));
    let addresses = call.operands().filter(|arg| by_name && arg.text.contains('/'));
    let named = addresses.filter_map(|arg| arg.text.split(['?', '#']).next()?.rsplit('/').next());
    let copied = call.operands().next_back().map(|last| last.text.as_str());
    let copied = copied.filter(|last| matches!(call.program, "scp" | "sftp") && !last.contains(':'));
    let folder = call.value("-P,--directory-prefix").filter(|_| call.program == "wget");
    for name in chosen.into_iter().chain(named).chain(copied).filter(|name| !name.is_empty()) {
        let inside = folder.map(|folder| format!("{}/{name}", folder.trim_end_matches('/')));
        let files = inside.iter().map(String::as_str).chain([name]);
        judge.files.extend(files.map(|file| (file_key(file), Flow::unknown(Marks::FETCHED))));
    }
}

/// Returns whether `tr` maps characters to others, beyond a change of case or separators.
fn shifts(call: &Call<'_>) -> bool {
    let mut sets = call.operands().map(|arg| arg.text.as_str());
    let (Some(from), Some(to)) = (sets.next(), sets.next()) else { return false };
    let plain = |set: &str| {
        set.contains("[:")
            || ["a-z", "A-Z", "a-zA-Z", "A-Za-z", "[a-z]", "[A-Z]"].contains(&set)
            || set.chars().count() <= 2
    };
    from.get(1..).is_some_and(|rest| rest.contains('-')) && !plain(to)
}

/// The output of `mktemp`, a placeholder for the path of the new temporary file.
const MADE: &str = "/tmp/tmp.made\n";
