//! Programs that run other programs: what they run is judged as if it stood there alone.

use crate::Finding;

use super::argv::{Call, is_shell};
use super::finding::{REFUSE_OPTION, REFUSE_RECURSIVE_DELETE, refuse};
use super::value::{Arg, HOLE, Marks, Text};
use super::wrapper::{WRAPPERS, Wrapper};

/// What a program runs in turn.
pub(super) enum Inner {
    Command(Vec<Arg>),
    /// A text that a shell reads.
    Shell(String),
}

/// The commands `call` runs in turn.
pub(super) fn inner_commands(call: &Call<'_>) -> Result<Vec<Inner>, Finding> {
    let mut inner = Vec::new();
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == call.program) {
        if call.program == "command" && (call.flag('v', "") || call.flag('V', "")) {
            return Ok(inner);
        }
        wrapped(wrapper, call, &mut inner);
    }
    match call.program {
        "find" | "fd" | "fdfind" => found(call, &mut inner)?,
        "ssh" | "autossh" | "mosh" => remote(call, &mut inner),
        "su" | "runuser" | "script" | "sg" | "flock" => {
            if let Some(command) = call.value('c', "command") {
                inner.push(Inner::Shell(command.to_owned()));
            }
        }
        "env" => {
            if let Some(text) = call.value('S', "split-string") {
                inner.push(Inner::Shell(text.to_owned()));
            }
        }
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "lxc" | "incus" | "flatpak-spawn"
        | "docker-compose" => {
            in_container(call, &mut inner);
        }
        "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" | "less" | "more" | "gdb" | "lldb" | "sqlite3"
        | "mysql" | "psql" | "ed" | "nmap" => {
            for arg in call.args {
                if let Some(command) = escaped_command(&arg.text) {
                    if is_bare_shell(command) {
                        return Err(refuse(REFUSE_OPTION));
                    }
                    inner.push(Inner::Shell(command.to_owned()));
                }
            }
        }
        "git" => of_git(call, &mut inner)?,
        "npx" | "npm" | "pnpm" if call.program == "npx" || call.verb() == "exec" => {
            if let Some(command) = call.value('c', "call") {
                inner.push(Inner::Shell(command.to_owned()));
            }
        }
        "tmux" | "screen" => {
            if let Some(last) = call.args.last().filter(|arg| arg.text.contains(' ')) {
                inner.push(Inner::Shell(last.text.trim_end_matches("\\n").to_owned()));
            }
        }
        "at" | "batch" => {
            if let Text::Known(text) = &call.input.text {
                inner.push(Inner::Shell(text.clone()));
            }
        }
        _ => {}
    }
    Ok(inner)
}

fn wrapped(wrapper: &Wrapper, call: &Call<'_>, inner: &mut Vec<Inner>) {
    let args = call.args;
    let mut at = 0;
    let mut skip = wrapper.skip;
    let mut replaced: Option<String> = None;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        if text == "--" {
            at += 1;
            if skip == 0 {
                break;
            }
        } else if let Some(long) = text.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if name == "replace" {
                replaced = Some(value.unwrap_or("{}").to_owned());
            }
            at += if value.is_none() && wrapper.long.contains(&name) { 2 } else { 1 };
        } else if arg.is_option() {
            let takes = text.char_indices().skip(1).find(|&(_, c)| wrapper.short.contains(c));
            let separate = takes.is_some_and(|(position, c)| position + c.len_utf8() == text.len());
            if let Some((position, 'I' | 'J')) = takes {
                let value = if separate {
                    args.get(at + 1).map(|a| a.text.as_str())
                } else {
                    text.get(position + 1..)
                };
                replaced = value.map(str::to_owned);
            } else if call.program == "xargs" && text.contains('i') {
                replaced = Some("{}".to_owned());
            }
            at += if separate { 2 } else { 1 };
        } else if is_assignment(text) && matches!(wrapper.name, "env" | "sudo" | "doas") {
            at += 1;
        } else if skip > 0 {
            skip -= 1;
            at += 1;
        } else {
            break;
        }
    }
    let mut command: Vec<Arg> = args.get(at..).unwrap_or(&[]).to_vec();
    if command.is_empty() {
        return;
    }
    if matches!(call.program, "xargs" | "parallel") {
        fed(call, replaced.as_deref(), &mut command);
    }
    if wrapper.shell {
        let words: Vec<&str> = command.iter().map(|arg| arg.text.as_str()).collect();
        inner.push(Inner::Shell(words.join(" ")));
    } else {
        inner.push(Inner::Command(command));
    }
}

/// Adds the arguments that `xargs` and `parallel` read from their input.
fn fed(call: &Call<'_>, replaced: Option<&str>, command: &mut Vec<Arg>) {
    if let Some(at) = command.iter().position(|arg| arg.text.starts_with(":::")) {
        let values = command.split_off(at);
        command.extend(values.into_iter().skip(1));
        return;
    }
    let replaced = replaced.or_else(|| (call.program == "parallel").then_some("{}"));
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
    match &call.input.text {
        Text::Known(text) => command.extend(text.split_whitespace().take(MAX_FED).map(Arg::new)),
        _ => command.push(Arg { text: HOLE.to_string(), marks: call.input.marks }),
    }
}

/// `find -exec .. ;` and its kin.
fn found(call: &Call<'_>, inner: &mut Vec<Inner>) -> Result<(), Finding> {
    let unfiltered = super::argv::delete::is_unfiltered(call);
    let secrets = super::argv::delete::looks_for_secrets(call);
    let chosen = super::argv::delete::chooses_here(call);
    let own = super::argv::delete::is_below_here(call);
    let in_secret = super::argv::delete::begins_in_secret(call);
    let actions = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut rest = call.args;
    while let Some(at) = rest.iter().position(|arg| actions.contains(&arg.text.as_str())) {
        let command = &rest[at + 1..];
        let end =
            command.iter().position(|arg| matches!(arg.text.as_str(), ";" | "+")).unwrap_or(command.len());
        let mut args: Vec<Arg> = command[..end].to_vec();
        if let [only] = args.as_slice()
            && is_shell(only.text.rsplit('/').next().unwrap_or(""))
        {
            return Err(refuse(REFUSE_OPTION));
        }
        let looks_only = args.first().is_some_and(|arg| {
            matches!(
                arg.text.as_str(),
                "chmod" | "chown" | "chgrp" | "ls" | "stat" | "file" | "test" | "[" | "touch" | "echo"
            )
        });
        let asks = rest[at].text.starts_with("-ok");
        for arg in args.iter_mut().filter(|arg| arg.text.contains("{}")) {
            arg.text = arg.text.replace("{}", "\0");
            if unfiltered && !own && !asks {
                arg.marks.add(Marks::EVERYTHING);
            }
            if chosen || (unfiltered && own) {
                arg.marks.add(Marks::CHOSEN);
            }
            if secrets || (in_secret && !looks_only) {
                arg.marks.add(Marks::SENSITIVE);
            }
        }
        let deletes = args.first().is_some_and(|arg| matches!(arg.text.as_str(), "shred" | "srm" | "wipe"));
        if deletes && unfiltered && !own {
            return Err(refuse(REFUSE_RECURSIVE_DELETE));
        }
        inner.push(Inner::Command(args));
        rest = command.get(end + 1..).unwrap_or(&[]);
    }
    Ok(())
}

fn remote(call: &Call<'_>, inner: &mut Vec<Inner>) {
    let wrapper =
        Wrapper { name: "ssh", short: "bcDEeFIiJLlmOopQRSWw", long: &["ssh", "port"], skip: 1, shell: true };
    wrapped(&wrapper, call, inner);
    if inner.is_empty()
        && let Text::Known(text) = &call.input.text
    {
        inner.push(Inner::Shell(text.clone()));
    }
}

fn in_container(call: &Call<'_>, inner: &mut Vec<Inner>) {
    let Some(at) = call.args.iter().position(|arg| matches!(arg.text.as_str(), "exec" | "run" | "--host"))
    else {
        return;
    };
    let args = &call.args[at + 1..];
    if let Some(dashes) = args.iter().position(|arg| arg.text == "--") {
        inner.push(Inner::Command(args[dashes + 1..].to_vec()));
        return;
    }
    // Which options take values differs from program to program; shells and deleters are found by their names.
    let known = |arg: &Arg| matches!(arg.text.rsplit('/').next(), Some("sh" | "bash" | "ash" | "zsh" | "rm"));
    if let Some(start) = args.iter().position(known) {
        inner.push(Inner::Command(args[start..].to_vec()));
    }
}

/// The commands that git runs for each commit, each module or each match.
fn of_git(call: &Call<'_>, inner: &mut Vec<Inner>) -> Result<(), Finding> {
    let operands: Vec<&Arg> = call.operands().collect();
    let words: Vec<&str> = operands.iter().map(|arg| arg.text.as_str()).collect();
    match words.as_slice() {
        ["submodule", "foreach", command @ ..] => inner.push(Inner::Shell(command.join(" "))),
        ["bisect", "run", ..] => {
            let at = call.args.iter().position(|arg| arg.text == "run").map_or(0, |at| at + 1);
            inner.push(Inner::Command(call.args[at..].to_vec()));
        }
        ["rebase" | "difftool", ..] => {
            let command = call.value('x', "exec").or_else(|| call.value('x', "extcmd"));
            inner.extend(command.map(|text| Inner::Shell(text.to_owned())));
        }
        ["filter-branch", ..] => {
            let filters = call.args.windows(2).filter(|two| two[0].text.ends_with("-filter"));
            inner.extend(filters.map(|two| Inner::Shell(two[1].text.clone())));
        }
        ["grep", ..] => {
            let opens = call.args.iter().any(|arg| {
                let text =
                    arg.text.strip_prefix("-O").or_else(|| arg.text.strip_prefix("--open-files-in-pager="));
                text.is_some_and(|program| !program.is_empty() && !matches!(program, "less" | "vim" | "vi"))
            });
            if opens {
                return Err(refuse(REFUSE_OPTION));
            }
        }
        _ => {}
    }
    Ok(())
}

/// What stands behind `:!`, `\!` or `shell` in the command language of an editor, a pager or a client.
fn escaped_command(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['+', ':', ' ']);
    let rest = text
        .strip_prefix('!')
        .or_else(|| text.strip_prefix("\\!"))
        .or_else(|| text.strip_prefix("shell "))
        .or_else(|| text.strip_prefix("system "))
        .or_else(|| text.strip_prefix(".shell "))
        .or_else(|| text.strip_prefix(".system "))
        .or_else(|| text.split_once(":!").map(|(_, rest)| rest))
        .or_else(|| text.split_once("platform shell ").map(|(_, rest)| rest))?;
    Some(rest.trim_end_matches(['"', '\'', ')']))
}

/// A shell without anything to do: what it will do is up to whoever sits before it.
pub(super) fn is_bare_shell(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or("").rsplit('/').next().unwrap_or("");
    is_shell(program) && words.all(|word| matches!(word, "-i" | "-p" | "-l"))
}

/// Refuses the options by which common programs run a command of the caller's choice.
pub(super) fn check_options(call: &Call<'_>) -> Result<Vec<Inner>, Finding> {
    let mut inner = Vec::new();
    for (at, arg) in call.args.iter().enumerate() {
        let text = arg.text.as_str();
        let lower = text.to_ascii_lowercase();
        if RUNNING_OPTIONS.iter().any(|option| lower.starts_with(option)) {
            return Err(refuse(REFUSE_OPTION));
        }
        let joined = SSH_COMMANDS.iter().find_map(|option| {
            let at = lower.find(option)?;
            let before = &lower[..at];
            (before.is_empty() || before == "-o" || before == "-o ").then(|| text.get(at + option.len()..))?
        });
        if let Some(value) = joined
            && matches!(
                call.program,
                "ssh" | "scp" | "sftp" | "sshfs" | "rsync" | "autossh" | "git" | "ssh-copy-id"
            )
        {
            let command = value.trim_start_matches(['=', ' ', '"', '\'']);
            let program = command.split(' ').next().unwrap_or("").rsplit('/').next().unwrap_or("");
            if !matches!(
                program,
                "ssh" | "nc" | "ncat" | "connect" | "corkscrew" | "none" | "cloudflared" | "aws" | "gcloud"
            ) {
                return Err(refuse(REFUSE_OPTION));
            }
            if program != "none" && command.contains([';', '|', '&', '`', '$']) {
                return Err(refuse(REFUSE_OPTION));
            }
            if program != "none" {
                inner.push(Inner::Shell(command.trim_end_matches(['"', '\'']).to_owned()));
            }
        }
        let next = call.args.get(at + 1).map_or("", |arg| arg.text.as_str());
        let attached = |option: &str| -> Option<String> {
            let value = text.strip_prefix(option)?;
            Some(if value.is_empty() { next.to_owned() } else { value.trim_start_matches('=').to_owned() })
        };
        let command = match call.program {
            "tar" | "gtar" | "bsdtar" => [
                "--to-command",
                "--use-compress-program",
                "--info-script",
                "--new-volume-script",
                "--rsh-command",
                "-I",
            ]
            .iter()
            .find_map(|option| attached(option)),
            "rsync" => ["--rsh", "-e", "--rsync-path"].iter().find_map(|option| attached(option)),
            "psql" | "strace" | "ltrace"
                if attached("-o").is_some_and(|value| value.starts_with(['|', '!'])) =>
            {
                return Err(refuse(REFUSE_OPTION));
            }
            "man" => ["--pager", "-P", "--html"].iter().find_map(|option| attached(option)),
            "sort" => attached("--compress-program"),
            "split" => attached("--filter"),
            "zip" => ["--unzip-command", "-TT"].iter().find_map(|option| attached(option)),
            "make" | "gmake" => attached("--eval"),
            "tcpdump" => attached("-z"),
            _ => None,
        };
        if let Some(command) = command {
            let program = command.split_whitespace().next().unwrap_or("").rsplit('/').next().unwrap_or("");
            if is_shell(program)
                && !matches!(call.program, "tar" | "gtar" | "bsdtar" | "split" | "make" | "gmake")
            {
                return Err(refuse(REFUSE_OPTION));
            }
            inner.push(Inner::Shell(command));
        }
    }
    Ok(inner)
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

const MAX_FED: usize = 256;

/// Options that run a program whatever they are given.
const RUNNING_OPTIONS: [&str; 9] = [
    "--checkpoint-action=exec",
    "--gpu-launcher=",
    "--renderer-cmd-prefix=",
    "--utility-cmd-prefix=",
    "--ppapi-plugin-launcher=",
    "--browser-subprocess-path=",
    "--use-askpass=",
    "--upload-pack=",
    "--receive-pack=",
];

const SSH_COMMANDS: [&str; 4] = ["proxycommand", "localcommand", "knownhostscommand", "permitlocalcommand"];
