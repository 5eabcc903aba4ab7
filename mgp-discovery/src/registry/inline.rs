//! Detection of programs that are given code, or another program, on their command line.

use self::InlinePosition::{Behind, First, Rest};
use super::program::program_name;

/// Code, or another program, that stands on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InlineCode {
    /// The use that the program makes of it.
    pub(super) what: &'static str,
    /// The text from its begin on, as it was given.
    pub(super) text: String,
}

/// The programs that take code, the use that they make of it, and its place.
const GIVEN_CODE: &[(&[&str], &str, InlinePosition)] = &[
    (&["python", "pypy", "pythonw", "py"], "runs code", Behind(&["-c"])),
    (&["node", "nodejs", "bun", "tsx", "ts-node"], "runs code", Behind(&["-e", "-p", "--eval", "--print"])),
    (&["deno"], "runs code", Rest(&["eval"])),
    (
        &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "csh", "tcsh"],
        "runs a shell's commands",
        Behind(&["-c"]),
    ),
    (&["perl"], "runs code", Behind(&["-e", "-E"])),
    (&["ruby", "lua", "luajit", "rscript", "osascript"], "runs code", Behind(&["-e"])),
    (&["php"], "runs code", Behind(&["-r", "-B", "-R"])),
    (&["psql", "sqlite", "mysql"], "runs statements", Behind(&["-c", "-e", "-cmd"])),
    (&["awk", "gawk", "mawk", "nawk"], "runs code", First { unless: &["-f", "--file"] }),
    (&["sed", "gsed"], "runs a script", First { unless: &["-f", "--file"] }),
    (&["jq", "yq"], "runs a filter", First { unless: &["-f", "--from-file"] }),
    (&["pwsh", "powershell"], "runs code", Behind(&["-c", "-Command", "-e", "-EncodedCommand"])),
    (&["cmd"], "runs commands", Rest(&["/c", "/C", "/k", "/K"])),
    (
        &["docker", "podman", "nerdctl", "lxc", "kubectl"],
        "starts a container, which no confinement of its client bounds",
        Rest(&["run", "exec", "create", "start", "compose"]),
    ),
    (&["npx", "pnpx", "bunx", "uvx", "pipx"], "fetches and runs a package", First { unless: &[] }),
    (
        &["npm", "pnpm", "yarn", "uv", "poetry", "conda", "cargo", "go"],
        "runs a package or a program",
        Rest(&["exec", "run", "x", "dlx"]),
    ),
];

impl InlineCode {
    /// Returns the code or the program that `command` is given with `args`, if there is any.
    pub(super) fn of(command: &str, args: &[String]) -> Option<Self> {
        let name = program_name(command);
        let (_, what, place) = GIVEN_CODE.iter().find(|(names, ..)| names.contains(&&*name))?;
        Some(Self { what, text: place.find(args)? })
    }
}

/// The place of code on a command line.
enum InlinePosition {
    /// The code stands behind one of these options, joined to it or as the next word.
    Behind(&'static [&'static str]),
    /// The code is the first word that is no option, unless one of these options names a file in its place.
    First { unless: &'static [&'static str] },
    /// The code is everything behind one of these words.
    Rest(&'static [&'static str]),
}

impl InlinePosition {
    fn find(&self, args: &[String]) -> Option<String> {
        match self {
            Behind(options) => args.iter().enumerate().find_map(|(at, arg)| {
                let option = options.iter().find(|option| is_option(arg, option))?;
                let joined = arg.strip_prefix(option).map(|rest| rest.trim_start_matches('='));
                match joined {
                    Some(text) if !text.is_empty() => Some(text.to_owned()),
                    _ => Some(args.get(at + 1).cloned().unwrap_or_default()),
                }
            }),
            First { unless } => {
                if args.iter().any(|arg| unless.iter().any(|option| is_option(arg, option))) {
                    return None;
                }
                args.iter().find(|arg| !arg.starts_with('-')).cloned()
            }
            Rest(words) => {
                let at = args.iter().position(|arg| words.contains(&&**arg))?;
                Some(args.get(at + 1..).unwrap_or_default().join(" "))
            }
        }
    }
}

/// Returns whether the word is the option, with its value or without, or a group of short ones that ends in it.
fn is_option(arg: &str, option: &str) -> bool {
    if arg == option || arg.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')) {
        return true;
    }
    let Some(letter) = option.strip_prefix('-').filter(|rest| rest.len() == 1) else { return false };
    let is_group = |rest: &str| !rest.starts_with('-') && rest.bytes().all(|byte| byte.is_ascii_alphabetic());
    let joined = arg.strip_prefix(option).is_some_and(|rest| !rest.is_empty());
    joined || arg.strip_prefix('-').is_some_and(|rest| is_group(rest) && rest.ends_with(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &[&str]) -> Option<String> {
        let args: Vec<String> = line[1..].iter().map(|&word| word.to_owned()).collect();
        InlineCode::of(line[0], &args).map(|inline| inline.text)
    }

    #[test]
    fn code_on_the_command_line_is_found_in_every_form() {
        for line in [
            &["python3", "-c", "CODE"][..],
            &["/usr/bin/python3.12", "-uc", "CODE"],
            &["python", "-cCODE"],
            &["node", "--eval=CODE"],
            &["sh", "-lc", "CODE"],
            &["perl", "-ne", "CODE"],
            &["awk", "-F:", "CODE", "file"],
            &["deno", "eval", "CODE"],
        ] {
            assert_eq!(found(line).as_deref(), Some("CODE"), "{line:?}");
        }
        assert_eq!(found(&["docker", "run", "-v", "/:/h", "x"]).as_deref(), Some("-v /:/h x"));
    }

    #[test]
    fn a_script_is_no_code_on_the_command_line() {
        for line in
            [&["python3", "a.py"][..], &["awk", "-f", "a.awk"], &["node", "a.js"], &["files", "-c", "x"]]
        {
            assert_eq!(found(line), None, "{line:?}");
        }
    }
}
