//! The commands that a program runs in turn, and the arguments that are always refused, both as the table of programs
//! tells.

use crate::Finding;

use super::argv::delete::Search;
use super::{
    Arg, Call, Danger, Flow, HOLE, Kind, Marks, Reading, Text, Trait, check_value, facts, holds_listed,
    is_known_as, is_listed, is_shell, lies_in, package, refuse, refuse_if,
};

/// A command that a program runs in turn.
pub(super) enum Inner {
    Command(Vec<Arg>),
    /// A text that a shell reads as commands.
    Shell(String),
    /// A refusal that applies whatever else the call runs.
    Never(Danger),
}

/// Returns the commands that `call` runs in turn.
pub(super) fn inner_commands(call: &Call<'_>, reading: &Reading<'_>) -> Result<Vec<Inner>, Finding> {
    let mut inner = Vec::new();
    if call.program == "command" && call.gives("-v,-V") {
        return Ok(inner);
    }
    let mut given = reading.given.iter();
    given.try_for_each(|given| of_value(call, reading, given.kind, &given.value, &mut inner))?;
    if reading.facts.every == Some(Kind::Setting) {
        let words: Vec<&str> = reading.operands.iter().map(|arg| arg.text.as_str()).collect();
        setting(call, &words.join("="), &mut inner)?;
    }
    for (operand, kind) in reading.kinds() {
        if let Some(kind) = kind.filter(|kind| *kind != Kind::Setting) {
            of_value(call, reading, kind, operand, &mut inner)?;
        }
    }
    // A program that serves a folder serves the working directory if no other is given.
    let serves_here =
        reading.facts.every == Some(Kind::Shared) && reading.values(Kind::Shared).next().is_none();
    refuse_if(serves_here && call.place(".").is_vast(), Danger::ServedFolder)?;
    of_input(call, reading, &mut inner)?;
    if is_listed("searching", call.program) {
        found(call, &mut inner)?;
    }
    if let Some((command, as_text)) = reading.command {
        let mut command = command.to_vec();
        if matches!(call.program, "xargs" | "gxargs" | "parallel" | "sem" | "rush") {
            fed(call, reading, &mut command);
        } else if let [only] = command.as_slice()
            && is_bare_shell(&only.text)
            && !reading.program.has(Trait::Enters)
            && !call.input.is_fed()
        {
            return Err(refuse(reading.refused().unwrap_or(Danger::OptionInjection)));
        }
        if let (true, Some(first)) = (reading.facts.has(Trait::Fetches), command.first()) {
            package::check(call, first)?;
        }
        let as_text =
            as_text || command.first().is_some_and(|first| first.text.contains(char::is_whitespace));
        if as_text {
            let words: Vec<&str> = command.iter().map(|arg| arg.text.as_str()).collect();
            inner.push(Inner::Shell(words.join(" ").trim_end_matches("\\n").to_owned()));
        } else {
            inner.push(Inner::Command(command));
        }
    }
    // The findings about the inner commands come first, because they say more than the refusal of running them this
    // way.
    inner.extend(reading.refused().map(Inner::Never));
    Ok(inner)
}

/// Judges one value by its kind, and adds the commands in it to `inner`.
fn of_value(
    call: &Call<'_>,
    reading: &Reading<'_>,
    kind: Kind,
    value: &Arg,
    inner: &mut Vec<Inner>,
) -> Result<(), Finding> {
    let text = value.text.as_str();
    match kind {
        Kind::Command => {
            refuse_if(value.marks.has(Marks::FETCHED), Danger::DownloadAndRun)?;
            refuse_if(
                is_shell(command_name(text))
                    && (is_bare_shell(text) || !reading.program.has(Trait::Commands))
                    || is_for_everybody(call, text.split_whitespace().next().unwrap_or("")),
                Danger::OptionInjection,
            )?;
            inner.push(Inner::Shell(text.trim_end_matches("\\n").to_owned()));
        }
        Kind::Pipe => refuse_if(text.trim_start().starts_with(['|', '!']), Danger::OptionInjection)?,
        Kind::Escapes if names_secret(call, text) => return Err(refuse(Danger::Secret)),
        Kind::Escapes | Kind::Code if reading.program.has(Trait::Sql) => {
            escape(text, inner)?;
            check_statements(text)?;
        }
        Kind::Escapes => escape(text, inner)?,
        Kind::Setting => setting(call, text, inner)?,
        Kind::Library if is_foreign_code(call, value) => return Err(refuse(Danger::OptionInjection)),
        Kind::Package => package::check(call, value)?,
        Kind::SystemPackage => package::check_system(call, value)?,
        Kind::Module => package::check_module(text)?,
        Kind::Index => package::check_index(text)?,
        Kind::Mount if mounts_host(call, text) => return Err(refuse(Danger::Privilege)),
        Kind::Program if !is_plain_program(call, text) => return Err(refuse(Danger::OptionInjection)),
        _ => {}
    }
    check_value(call, kind, text)
}

/// Returns whether a container gets a folder that holds the system, a home or keys, or the socket of a service that
/// controls the host.
fn mounts_host(call: &Call<'_>, mount: &str) -> bool {
    let named =
        |part: &str| ["source=", "src="].iter().find_map(|key| part.strip_prefix(key)).map(str::to_owned);
    let source = mount.split(',').find_map(named);
    let source = source.unwrap_or_else(|| mount.split(':').next().unwrap_or("").to_owned());
    let place = call.place(&source);
    let optional = ["/opt", "/srv", "/mnt", "/media"].contains(&place.as_str());
    place.is_secret() || place.is_device() || (place.is_vast() && !optional) || place.is_control()
}

/// Judges the text that the program reads from its input, and adds the commands in it to `inner`.
fn of_input(call: &Call<'_>, reading: &Reading<'_>, inner: &mut Vec<Inner>) -> Result<(), Finding> {
    let Text::Known(text) = &call.input.text else { return Ok(()) };
    match reading.facts.input {
        // A remote shell reads its input if it is given no command.
        Some(Kind::Command) if reading.command.is_none() => inner.push(Inner::Shell(text.clone())),
        Some(Kind::Escapes) => {
            text.lines().try_for_each(|line| escape(line, inner))?;
            refuse_if(names_secret(call, text), Danger::Secret)?;
            if reading.program.has(Trait::Sql) {
                check_statements(text)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Judges the statements that a database client is given to run.
fn check_statements(text: &str) -> Result<(), Finding> {
    refuse_if(holds_listed("destroying-calls", text), Danger::Destruction)?;
    text.split(';').try_for_each(check_statement)
}

fn check_statement(statement: &str) -> Result<(), Finding> {
    let upper = statement.to_ascii_uppercase();
    let words: Vec<&str> = upper
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let has = |word: &str| words.contains(&word);
    let destroys = match words.as_slice() {
        ["DROP", "TABLE", "IF", "EXISTS", ..] => false,
        ["DROP", kind, ..] => {
            !matches!(*kind, "INDEX" | "VIEW" | "TRIGGER" | "FUNCTION" | "TYPE" | "SEQUENCE")
        }
        ["TRUNCATE", ..] => true,
        ["DELETE", "FROM", ..] | ["UPDATE", ..] => !has("WHERE") && (words[0] == "DELETE" || has("SET")),
        _ => false,
    };
    refuse_if(destroys, Danger::Destruction)?;
    let account = matches!(words.as_slice(), ["ALTER" | "CREATE", "USER" | "ROLE" | "LOGIN", ..]);
    let grants = matches!(words.as_slice(), ["GRANT", ..])
        || (account && ["SUPERUSER", "CREATEROLE", "PASSWORD", "IDENTIFIED"].into_iter().any(has));
    refuse_if(grants, Danger::Privilege)
}

/// Returns whether a command of a client, an editor or a database names a file with keys or passwords.
fn names_secret(call: &Call<'_>, text: &str) -> bool {
    let mut words = text.split(|c: char| c.is_whitespace() || "'\"(),;".contains(c));
    words.any(|word| word.starts_with(['/', '~', '.']) && call.place(word).is_secret())
}

fn escape(text: &str, inner: &mut Vec<Inner>) -> Result<(), Finding> {
    if let Some(command) = escaped_command(text) {
        refuse_if(command.trim().is_empty() || is_bare_shell(command), Danger::OptionInjection)?;
        // Outside an interactive terminal, there is no honest reason to run a command through such a program.
        inner.extend([Inner::Shell(command.to_owned()), Inner::Never(Danger::OptionInjection)]);
    }
    Ok(())
}

/// Adds the arguments that `xargs` and `parallel` read from their input to `command`.
fn fed(call: &Call<'_>, reading: &Reading<'_>, command: &mut Vec<Arg>) {
    if let Some(at) = command.iter().position(|arg| arg.text.starts_with(":::")) {
        let values = command.split_off(at);
        command.extend(values.into_iter().skip(1));
        return;
    }
    let chosen = reading.given.iter().find(|given| matches!(given.name, "-I" | "-J"));
    let chosen = chosen.map(|given| given.value.text.as_str()).or_else(|| {
        let own = &call.args[..call.args.len().saturating_sub(command.len())];
        let replace = |arg: &Arg| arg.text.starts_with("--replace") || arg.text.starts_with("-i");
        let arg = own.iter().find(|arg| replace(arg))?;
        Some(arg.text.split_once('=').map_or("{}", |(_, sign)| sign))
    });
    let replaced = chosen.or_else(|| (call.program != "xargs").then_some("{}"));
    if let Some(sign) = replaced.filter(|sign| !sign.is_empty()) {
        let mut found = false;
        for arg in command.iter_mut().filter(|arg| arg.text.contains(sign)) {
            arg.text = arg.text.replace(sign, "\0");
            arg.marks.add(call.input.marks);
            found = true;
        }
        if found || call.program == "xargs" {
            return;
        }
    }
    let takes_text =
        matches!(command.as_slice(), [.., shell, last] if last.text == "-c" && is_shell(&shell.text));
    match &call.input.text {
        Text::Known(text) if takes_text => command.push(Arg::new(text.as_str())),
        Text::Known(text) => command.extend(text.split_whitespace().take(MAX_FED).map(Arg::new)),
        _ => command.push(Arg { text: HOLE.to_string(), marks: call.input.marks }),
    }
}

/// Judges the commands that a search runs, as in `find -exec .. ;`, and adds them to `inner`.
fn found(call: &Call<'_>, inner: &mut Vec<Inner>) -> Result<(), Finding> {
    let search = Search::of(call);
    let everything = search.unfiltered && !search.below_here;
    let mut rest = call.args;
    while let Some(at) = rest.iter().position(|arg| is_listed("search-actions", &arg.text)) {
        let command = &rest[at + 1..];
        let end =
            command.iter().position(|arg| matches!(arg.text.as_str(), ";" | "+")).unwrap_or(command.len());
        let mut args: Vec<Arg> = command[..end].to_vec();
        let words: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        refuse_if(is_bare_shell(&words.join(" ")) && !words.contains(&"-n"), Danger::OptionInjection)?;
        refuse_if(sends_found(&words), Danger::Exfiltration)?;
        let looks_only =
            args.first().is_some_and(|arg| is_known_as(&arg.text, Trait::Looks) || arg.text == "echo");
        let asks = rest[at].text.starts_with("-ok");
        let marks = Marks::EVERYTHING
            .when(everything && !asks)
            .and(Marks::REBUILT.when(search.rebuilt))
            .and(Marks::SENSITIVE.when(search.for_secrets || (search.in_secret && !looks_only)));
        for arg in args.iter_mut().filter(|arg| arg.text.contains("{}")) {
            arg.text = arg.text.replace("{}", "\0");
            arg.marks.add(marks);
        }
        let overwrites = everything && args.first().is_some_and(|arg| is_listed("overwriting", &arg.text));
        refuse_if(overwrites, Danger::RecursiveDelete)?;
        inner.push(Inner::Command(args));
        rest = command.get(end + 1..).unwrap_or(&[]);
    }
    Ok(())
}

/// Returns whether each file that is found is sent to another machine.
fn sends_found(words: &[&str]) -> bool {
    let text = words.join(" ");
    let pieces = || text.split(|c: char| c.is_whitespace() || "'\"|;&<>()".contains(c));
    let sends = pieces().any(|piece| is_known_as(piece, Trait::Client) && !is_listed("own-clients", piece));
    let given = text.contains("{}") || text.contains("$1") || text.contains("$0") || text.contains("$@");
    sends && given && !pieces().any(super::argv::is_local_host)
}

/// Judges `key=value` or `key value`, in which some keys of some programs name a command.
fn setting(call: &Call<'_>, text: &str, inner: &mut Vec<Inner>) -> Result<(), Finding> {
    let (key, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
    let key = key.to_ascii_lowercase();
    let value = value.trim_matches(['=', ' ', '"', '\'', ':']);
    if is_listed("index-keys", &key) {
        return package::check_index(value);
    }
    if value.is_empty() || matches!(value, "true" | "false" | "yes" | "no" | "none") {
        return Ok(());
    }
    // The scripts of a package run when others do, or when it is installed.
    refuse_if(key.starts_with("scripts."), Danger::Persistence)?;
    if is_listed("proxy-keys", &key) {
        let program = command_name(value);
        refuse_if(!is_listed("proxies", program) || command_separators(value), Danger::OptionInjection)?;
        inner.push(Inner::Shell(value.to_owned()));
        return Ok(());
    }
    let runs = holds_listed("running-keys", &key);
    let names_program = holds_listed("program-keys", &key) && !is_plain_program(call, value);
    let loads = holds_listed("loading-keys", &key) && is_foreign_code(call, &Arg::new(value));
    refuse_if(runs || names_program || loads || value.starts_with('!'), Danger::OptionInjection)
}

/// Returns the name of the program that a command line begins with.
pub(super) fn command_name(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("")
}

/// Returns whether a text is more than one command, or is computed.
fn command_separators(text: &str) -> bool {
    text.contains([';', '|', '&', '`', '$', '<', '>', '\n'])
}

/// Returns whether code is loaded from a place that others can write to: an address, a folder for all users, a file
/// that was fetched, or a library outside the folders of the system.
fn is_foreign_code(call: &Call<'_>, value: &Arg) -> bool {
    let lower = value.text.to_ascii_lowercase();
    let system =
        ["/usr/lib", "/lib", "/usr/local/lib", "/opt/", "/snap/"].iter().any(|own| lower.starts_with(own));
    let library = [".so", ".dll", ".dylib", ".inf", ".sct", ".scr", ".ocx", ".cpl", ".node", ".wsf", ".xsl"];
    value.marks.has(Marks::FETCHED)
        || value.marks.has(Marks::PROCESS)
        || lower.contains("://")
        || lower.starts_with("\\\\")
        || lower.contains("scrobj")
        || is_for_everybody(call, &value.text)
        || (!system && library.iter().any(|end| ends_in(&lower, end)))
}

/// Returns whether `path` lies where any user can write.
pub(super) fn is_for_everybody(call: &Call<'_>, path: &str) -> bool {
    lies_in("open-folders", &call.place(path).as_str().to_ascii_lowercase())
}

/// Returns whether `text` contains a file name with this extension.
fn ends_in(text: &str, extension: &str) -> bool {
    text.match_indices(extension).any(|(at, _)| {
        text[at + extension.len()..].chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '/')
    })
}

/// Returns the command behind `:!`, `\!` or `shell` in the command language of an editor, a pager or a client.
fn escaped_command(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['+', ':', ' ', ',']);
    let lower = text.to_ascii_lowercase();
    if matches!(lower.as_str(), "shell" | "sh" | "term" | "terminal") {
        return Some("");
    }
    let spelled =
        ESCAPES.iter().find(|escape| lower.starts_with(**escape)).map(|escape| &text[escape.len()..]);
    let rest = spelled.or_else(|| {
        INNER_ESCAPES.iter().find_map(|escape| lower.find(escape).map(|at| &text[at + escape.len()..]))
    })?;
    Some(rest.trim_start_matches(['(', '"', '\'', ' ']).trim_end_matches(['"', '\'', ')', ' ']))
}

/// Returns whether the command is a shell without commands, so that its user decides what it does.
pub(super) fn is_bare_shell(command: &str) -> bool {
    is_shell(command_name(command))
        && command
            .split_whitespace()
            .skip(1)
            .all(|word| word.starts_with(['-', '<', '>', '0', '1', '2']) && !word.contains('c'))
}

/// Returns whether `value` is an ordinary choice of an editor, a pager or a compiler: one program of the system or of a
/// package that is no shell, does not talk to other machines and takes no code.
pub(super) fn is_plain_program(call: &Call<'_>, value: &str) -> bool {
    let value = value.trim();
    if value.is_empty() || value.chars().all(|c| c == HOLE) {
        return true;
    }
    // A list is one way to write the words of a command.
    if command_separators(value) || value.contains(HOLE) || value.starts_with(['[', '!', '(']) {
        return false;
    }
    let mut words = value.split_whitespace().map(|word| Arg::new(word.trim_matches(['"', '\''])));
    let Some(first) = words.next() else { return true };
    let name = command_name(&first.text).to_ascii_lowercase();
    let args: Vec<Arg> = words.collect();
    let known = facts(&name);
    let talks =
        known.is_some_and(|facts| facts.has(Trait::Client)) && !matches!(name.as_str(), "ssh" | "plink");
    let placed = first.text.contains('/')
        && (is_for_everybody(call, &first.text) || known.is_none() && !call.place(&first.text).is_system());
    let alone = args.iter().all(Arg::is_option);
    !is_shell(&name)
        && !talks
        && !placed
        && !takes_code(call, &name, &args)
        && (known.is_some() || alone || !first.text.contains('/'))
}

/// Returns whether the program deletes, or is an interpreter that is given code or a file of code.
fn takes_code(call: &Call<'_>, name: &str, args: &[Arg]) -> bool {
    if matches!(name, "rm" | "shred" | "dd" | "eval" | "source") {
        return true;
    }
    let input = Flow::default();
    let inner = Call { program: name, head: name, args, input: &input, ..*call };
    Reading::of(&inner).is_some_and(|reading| {
        reading.values(Kind::Code).chain(reading.values(Kind::Script)).next().is_some()
            || reading.kinds().any(|(_, kind)| matches!(kind, Some(Kind::Code | Kind::Script)))
            || reading.refused().is_some()
    })
}

const MAX_FED: usize = 256;

/// The texts, in lower case, with which a command begins in such a language.
const ESCAPES: [&str; 17] = [
    "%(", "%{lua", "!", "\\!", ".!", "r !", "r!", "w !", "%!", "shell ", "system ", "system(", ".shell ",
    ".system ", "silent !", "platform shell ", "process launch ",
];

/// The texts that begin a command in such a language in the middle of a text.
const INNER_ESCAPES: [&str; 8] =
    [":!", "silent !", "platform shell ", "exec:", "shell_escape ", "|!", "system(", "term://"];
