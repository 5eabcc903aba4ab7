//! The output of a command: its text if it is known, and where it came from.

use crate::shell::{decode_escapes, hides_letters};

use super::argv::{Call, delete, is_shell, kernel};
use super::judge::{Judge, file_key, program_name};
use super::known::{Kind, Trait, facts, is_listed};
use super::place::Place;
use super::value::{Arg, Flow, HOLE, Marks, Text};

/// Returns the standard output of `call`.
pub(super) fn output(judge: &mut Judge<'_>, call: &Call<'_>) -> Flow {
    let marks =
        call.args.iter().fold(call.input.marks, |marks, arg| marks.and(arg.marks)).without(Marks::PATTERN);
    let marks = if call.args.iter().any(|arg| kernel::is_named(&arg.text)) {
        marks.and(Marks::KERNEL)
    } else {
        marks
    };
    // The output that a program derives from a file is not the file itself any more.
    let marks = if matches!(call.program, "cat" | "tee") { marks } else { marks.without(Marks::FILE) };
    copies(judge, call);
    match call.program {
        "echo" => echo(call, marks),
        "printf" => printf(judge, call, marks),
        "cat" | "tee" | "sort" | "head" | "tail" | "uniq" | "tac" | "nl" => pass(judge, call, marks),
        "yes" => Flow::unknown(Marks::ENDLESS),
        "curl" | "wget" | "fetch" | "aria2c" | "http" | "https" | "lynx" | "w3m" | "links" | "nc"
        | "ncat" | "netcat" | "socat" | "telnet" | "ftp" | "tftp" | "axel" | "lwp-request" | "get"
        | "scp" | "sftp" | "dig" | "nslookup" | "iwr" | "invoke-webrequest" | "irm" | "invoke-restmethod" => {
            downloads(judge, call);
            Flow::unknown(marks.and(Marks::FETCHED))
        }
        "openssl" if call.verb() == "s_client" => Flow::unknown(marks.and(Marks::FETCHED)),
        "base64" | "base32" | "openssl" | "gpg" if decodes(call) => Flow::unknown(marks.and(Marks::CRAFTED)),
        "xxd" if call.flag('r', "revert") => Flow::unknown(marks.and(Marks::CRAFTED)),
        "uudecode" | "rev" | "gunzip" | "zcat" | "bzcat" | "xzcat" | "basenc" => {
            Flow::unknown(marks.and(Marks::CRAFTED))
        }
        "tr" if shifts(call) => Flow::unknown(marks.and(Marks::CRAFTED)),
        "which" | "command" | "type" | "whence" => match call.operands().next() {
            Some(arg) if arg.is_known() => Flow::known(arg.text.clone()),
            _ => Flow::unknown(marks),
        },
        "mkfifo" | "mknod" => {
            for arg in call.operands() {
                judge.files.insert(file_key(&arg.text), Flow::unknown(Marks::NONE));
            }
            Flow::default()
        }
        "env" | "printenv" | "set" | "export" | "declare" | "history" if call.operands().next().is_none() => {
            Flow::unknown(marks.and(Marks::SENSITIVE).and(Marks::TELLING))
        }
        program
            if facts(program).is_some_and(|facts| facts.input == Some(Kind::Code))
                || program == "jq"
                || program == "gojq" =>
        {
            let tells = call.args.iter().any(|arg| tells_environment(&arg.text));
            Flow::unknown(if tells { marks.and(Marks::SENSITIVE).and(Marks::TELLING) } else { marks })
        }
        "find" if delete::looks_for_secrets(call) => Flow::unknown(marks.and(Marks::SENSITIVE)),
        "find" if delete::chooses_rebuilt(call) => {
            Flow::unknown(marks.and(Marks::CHOSEN).and(Marks::REBUILT))
        }
        "find" if delete::chooses_here(call) => Flow::unknown(marks.and(Marks::CHOSEN)),
        "mktemp" => Flow::known(MADE),
        "find" if delete::is_unfiltered(call) && !delete::is_below_here(call) => {
            Flow::unknown(marks.and(Marks::EVERYTHING))
        }
        "tar" | "zip" | "cpio" | "dd" | "7z" | "mysqldump" | "mariadb-dump" | "pg_dumpall" | "tcpdump"
            if is_bulk(call) =>
        {
            Flow::unknown(marks.and(Marks::BULK))
        }
        "sed" | "awk" | "xargs" => {
            Flow::unknown(marks.without(Marks::EVERYTHING).without(Marks::ENDLESS).without(Marks::CHOSEN))
        }
        "grep" | "egrep" | "fgrep" | "rg" => {
            Flow::unknown(marks.without(Marks::EVERYTHING).without(Marks::ENDLESS))
        }
        "base64" | "xxd" | "od" | "hexdump" | "gzip" | "tar" | "zip" | "strings" | "openssl"
            if call.operands().any(|arg| call.place(&arg.text).is_accounts()) =>
        {
            Flow::unknown(marks.and(Marks::SENSITIVE).and(Marks::TELLING))
        }
        "tar" | "zip" | "cpio" | "7z" | "mysqldump" | "mariadb-dump" | "pg_dump" | "mongodump" => {
            Flow::unknown(marks.and(Marks::TELLING))
        }
        "ps" if call.flag('e', "") || call.flag('A', "") || call.has("aux") || call.has("ax") => {
            let chosen = ["-p", "-C", "-u", "-U", "-t"].iter().any(|option| call.has(option));
            let marks = marks.and(Marks::TELLING);
            Flow::unknown(if chosen { marks } else { marks.and(Marks::EVERYTHING) })
        }
        // The output of an interactive shell without a script is what its input asks for, which may come from
        // elsewhere.
        program if is_shell(program) && call.args.iter().all(|arg| arg.text == "-i") => {
            Flow::unknown(marks.and(Marks::SENSITIVE))
        }
        program if facts(program).is_some_and(|facts| facts.has(Trait::Tells)) => {
            Flow::unknown(marks.and(Marks::TELLING))
        }
        program if sets_up(program, call) => Flow::unknown(marks.and(Marks::SETUP)),
        _ => Flow::unknown(marks),
    }
}

/// Returns the marks of data that is read from the file `target`.
pub(super) fn of_file(target: &Arg, directory: &str) -> Marks {
    let place = Place::new(&target.text, directory);
    let mut marks = target.marks.and(Marks::TELLING);
    if place.is_accounts() || place.is_secret() {
        marks.add(Marks::SENSITIVE);
    }
    if place.is_device() {
        marks.add(Marks::BULK);
    }
    if matches!(place.as_str(), "/dev/zero" | "/dev/urandom" | "/dev/random") {
        marks.add(Marks::ENDLESS);
    }
    marks
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
    let mut marks = marks;
    if escapes && hides_letters(&text) {
        marks.add(Marks::CRAFTED);
    }
    let text = if escapes { decode_escapes(&text) } else { text };
    Flow { text: Text::Known(text + "\n"), marks }
}

fn printf(judge: &mut Judge<'_>, call: &Call<'_>, mut marks: Marks) -> Flow {
    if let [option, name, ..] = call.args
        && option.text == "-v"
    {
        judge.assign(&name.text, None, marks);
        return Flow::default();
    }
    let Some((format, values)) = call.args.split_first() else { return Flow::default() };
    if call.args.iter().any(|arg| arg.text.contains(HOLE)) {
        return Flow::unknown(marks);
    }
    if hides_letters(&format.text) {
        marks.add(Marks::CRAFTED);
    }
    let mut text = String::new();
    let mut values = values.iter();
    let format = decode_escapes(&format.text);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('s' | 'q' | 'd' | 'i') => text.push_str(values.next().map_or("", |arg| &arg.text)),
            Some('b') => {
                let value = values.next().map_or("", |arg| arg.text.as_str());
                if hides_letters(value) {
                    marks.add(Marks::CRAFTED);
                }
                let value = decode_escapes(value);
                text.push_str(&value);
            }
            Some('%') => text.push('%'),
            _ => return Flow::unknown(marks),
        }
    }
    if values.next().is_some() { Flow::unknown(marks) } else { Flow { text: Text::Known(text), marks } }
}

/// Returns the output of a program that passes on its input or files.
fn pass(judge: &Judge<'_>, call: &Call<'_>, mut marks: Marks) -> Flow {
    if matches!(call.program, "head" | "tail") {
        marks = marks.without(Marks::ENDLESS).without(Marks::EVERYTHING);
    }
    let mut files = call.operands().filter(|arg| arg.text != "-").peekable();
    if call.program == "tee" || files.peek().is_none() {
        let text =
            if matches!(call.program, "cat" | "tee") { call.input.text.clone() } else { Text::Unknown };
        return Flow { text, marks };
    }
    let mut flow = Flow::default();
    for file in files {
        let next = judge.files.get(&file_key(&file.text)).cloned();
        let kept = next.is_some();
        let mut next = next.unwrap_or_else(|| Flow::unknown(of_file(file, call.directory)));
        if call.program == "cat" && !kept && !file.text.contains(HOLE) && !file.text.starts_with("/dev/") {
            next.marks.add(Marks::FILE);
        }
        if call.program != "cat" {
            next.marks = next.marks.without(Marks::ENDLESS);
            next.text = Text::Unknown;
        }
        flow.then(next);
    }
    flow.marks.add(marks);
    flow
}

/// Records the files that a command fills by copying others, or by `tee`.
fn copies(judge: &mut Judge<'_>, call: &Call<'_>) {
    match call.program {
        "tee" => {
            for file in call.operands() {
                judge.files.insert(file_key(&file.text), call.input.clone());
            }
        }
        "cp" | "mv" | "ln" | "install" => {
            let operands: Vec<&Arg> = call.operands().collect();
            if let [source, target] = operands.as_slice()
                && let Ok(program) = program_name(source)
                && facts(&program).is_some()
            {
                judge.copies.insert(file_key(&target.text), program);
            }
            if let [source, target] = operands.as_slice()
                && let Some(flow) = judge.files.get(&file_key(&source.text)).cloned()
            {
                judge.files.insert(file_key(&target.text), flow);
            }
        }
        _ => {}
    }
}

/// Records the files that hold data from the network.
fn downloads(judge: &mut Judge<'_>, call: &Call<'_>) {
    let mut names: Vec<String> = Vec::new();
    let chosen = match call.program {
        "wget" => call.value('O', "output-document"),
        "iwr" | "invoke-webrequest" | "irm" | "invoke-restmethod" => call
            .args
            .windows(2)
            .find(|two| two[0].text.eq_ignore_ascii_case("-outfile"))
            .map(|two| two[1].text.as_str()),
        "tftp" => call.value('l', "").or_else(|| call.value('r', "")),
        _ => call.value('o', "output"),
    };
    if let Some(name) = chosen {
        names.push(name.to_owned());
    } else if matches!(call.program, "wget" | "aria2c" | "axel") || call.flag('O', "remote-name") {
        let urls = call.operands().filter(|arg| arg.text.contains('/'));
        names.extend(urls.filter_map(|arg| {
            let path = arg.text.split(['?', '#']).next().unwrap_or("");
            path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
        }));
    }
    if matches!(call.program, "scp" | "sftp")
        && let Some(last) = call.operands().last()
        && !last.text.contains(':')
    {
        names.push(last.text.clone());
    }
    if let Some(directory) = call.value('P', "directory-prefix").filter(|_| call.program == "wget") {
        let inside: Vec<String> =
            names.iter().map(|name| format!("{}/{name}", directory.trim_end_matches('/'))).collect();
        names.extend(inside);
    }
    for name in names {
        judge.files.insert(file_key(&name), Flow::unknown(Marks::FETCHED));
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

fn decodes(call: &Call<'_>) -> bool {
    call.flag('d', "decode") || call.flag('D', "decrypt") || call.has("-d")
}

/// Returns whether the program prints set-up code for a shell.
fn sets_up(program: &str, call: &Call<'_>) -> bool {
    is_listed("prints-setup", program) || call.args.iter().any(|arg| is_listed("setup", &arg.text))
}

/// Returns whether code prints all variables of the environment; code that prints one by its name does not.
fn tells_environment(code: &str) -> bool {
    ["process.env", "os.environ", "$ENV", "%ENV", "ENV.to_h", "Deno.env.toObject", "getenv()", "env"]
        .iter()
        .any(|name| {
            code.match_indices(name).any(|(at, _)| {
                let before = code[..at].chars().next_back();
                let after = code[at + name.len()..].chars().next();
                let whole = *name != "env"
                    || code.trim() == "env"
                    || matches!(before, Some('|' | '(' | ' ')) && matches!(after, None | Some('|' | ')'));
                whole && !after.is_some_and(|c| c.is_alphanumeric() || "._[{?-".contains(c))
            })
        })
}

/// Returns whether `call` outputs whole trees, disks, databases or the traffic of a network.
fn is_bulk(call: &Call<'_>) -> bool {
    match call.program {
        "mysqldump" | "mariadb-dump" => call.flag('A', "all-databases"),
        "pg_dumpall" => true,
        "tcpdump" => call.value('w', "") == Some("-"),
        _ => call.args.iter().any(|arg| {
            let path = arg.text.strip_prefix("if=").unwrap_or(&arg.text);
            let place = call.place(path);
            !arg.is_option() && arg.is_known() && (place.is_vast() || place.is_device())
        }),
    }
}

/// The output of `mktemp`, a placeholder for the path of the new temporary file.
const MADE: &str = "/tmp/tmp.made\n";
