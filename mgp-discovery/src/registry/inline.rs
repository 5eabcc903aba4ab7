//! Detection of programs that are given code, or another program, on their command line.

use super::program::program_name;

/// Code, or another program, that stands on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InlineCode {
    /// The use that the program makes of it.
    pub(super) what: &'static str,
    /// The text from its begin on, as it was given.
    pub(super) text: String,
}

const GIVEN_CODE: &[InlineRule] = &[
    InlineRule {
        names: &["python", "pypy", "pythonw", "py"],
        what: "runs code",
        how: InlinePosition::Option(&["-c"]),
    },
    InlineRule {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        what: "runs code",
        how: InlinePosition::Option(&["-e", "-p", "--eval", "--print"]),
    },
    InlineRule { names: &["deno"], what: "runs code", how: InlinePosition::Rest(&["eval"]) },
    InlineRule {
        names: &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "csh", "tcsh"],
        what: "runs a shell's commands",
        how: InlinePosition::Option(&["-c"]),
    },
    InlineRule { names: &["perl"], what: "runs code", how: InlinePosition::Option(&["-e", "-E"]) },
    InlineRule {
        names: &["ruby", "lua", "luajit", "rscript", "osascript"],
        what: "runs code",
        how: InlinePosition::Option(&["-e"]),
    },
    InlineRule { names: &["php"], what: "runs code", how: InlinePosition::Option(&["-r", "-B", "-R"]) },
    InlineRule {
        names: &["psql", "sqlite", "mysql"],
        what: "runs statements",
        how: InlinePosition::Option(&["-c", "-e", "-cmd"]),
    },
    InlineRule {
        names: &["awk", "gawk", "mawk", "nawk"],
        what: "runs code",
        how: InlinePosition::First { unless: &["-f", "--file"] },
    },
    InlineRule {
        names: &["sed", "gsed"],
        what: "runs a script",
        how: InlinePosition::First { unless: &["-f", "--file"] },
    },
    InlineRule {
        names: &["jq", "yq"],
        what: "runs a filter",
        how: InlinePosition::First { unless: &["-f", "--from-file"] },
    },
    InlineRule {
        names: &["pwsh", "powershell"],
        what: "runs code",
        how: InlinePosition::Option(&["-c", "-Command", "-e", "-EncodedCommand"]),
    },
    InlineRule {
        names: &["cmd"],
        what: "runs commands",
        how: InlinePosition::Rest(&["/c", "/C", "/k", "/K"]),
    },
    InlineRule {
        names: &["docker", "podman", "nerdctl", "lxc", "kubectl"],
        what: "starts a container, which no confinement of its client bounds",
        how: InlinePosition::Rest(&["run", "exec", "create", "start", "compose"]),
    },
    InlineRule {
        names: &["npx", "pnpx", "bunx", "uvx", "pipx"],
        what: "fetches and runs a package",
        how: InlinePosition::First { unless: &[] },
    },
    InlineRule {
        names: &["npm", "pnpm", "yarn", "uv", "poetry", "conda", "cargo", "go"],
        what: "runs a package or a program",
        how: InlinePosition::Rest(&["exec", "run", "x", "dlx"]),
    },
];

impl InlineCode {
    /// Returns the code or the program that `command` is given with `args`, if there is any.
    pub(super) fn of(command: &str, args: &[String]) -> Option<Self> {
        let name = program_name(command);
        let known = GIVEN_CODE.iter().find(|known| known.names.contains(&&*name))?;
        let text = known.how.find(args)?;
        Some(Self { what: known.what, text })
    }
}

struct InlineRule {
    names: &'static [&'static str],
    what: &'static str,
    how: InlinePosition,
}

/// The place of code on a command line.
enum InlinePosition {
    /// The code stands behind one of these options, joined to it or as the next word.
    Option(&'static [&'static str]),
    /// The code is the first word that is no option, unless one of these options names a file in its place.
    First { unless: &'static [&'static str] },
    /// The code is everything behind one of these words.
    Rest(&'static [&'static str]),
}

impl InlinePosition {
    fn find(&self, args: &[String]) -> Option<String> {
        match self {
            Self::Option(options) => args.iter().enumerate().find_map(|(at, arg)| {
                let option = options.iter().find(|option| is_option(arg, option))?;
                let joined = arg.strip_prefix(option).map(|rest| rest.trim_start_matches('='));
                match joined {
                    Some(text) if !text.is_empty() => Some(text.to_owned()),
                    _ => Some(args.get(at + 1).cloned().unwrap_or_default()),
                }
            }),
            Self::First { unless } => {
                if args.iter().any(|arg| unless.iter().any(|option| is_option(arg, option))) {
                    return None;
                }
                args.iter().find(|arg| !arg.starts_with('-')).cloned()
            }
            Self::Rest(words) => {
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
