//! Detection of programs that are given code, or another program, on their command line.

use super::program::{program_name, table};

/// Code, or another program, that stands on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InlineCode {
    /// The use that the program makes of it.
    pub(super) what: &'static str,
    /// The text from its begin on, as it was given.
    pub(super) text: String,
}

impl InlineCode {
    /// Returns the code or the program that `command` is given with `args`, if there is any.
    pub(super) fn of(command: &str, args: &[String]) -> Option<Self> {
        let [what, place] = table(include_str!("given_code.txt"), &program_name(command))?;
        let mut words = place.split(' ');
        let (place, words) = (words.next(), words.collect::<Vec<_>>());
        let text = match place {
            Some("behind") => args.iter().enumerate().find_map(|(at, arg)| {
                let option = words.iter().find(|option| is_option(arg, option))?;
                let joined = arg.strip_prefix(option).map(|rest| rest.trim_start_matches('='));
                match joined {
                    Some(text) if !text.is_empty() => Some(text.to_owned()),
                    _ => Some(args.get(at + 1).cloned().unwrap_or_default()),
                }
            }),
            Some("first") if args.iter().any(|arg| words.iter().any(|option| is_option(arg, option))) => None,
            Some("first") => args.iter().find(|arg| !arg.starts_with('-')).cloned(),
            _ => {
                let at = args.iter().position(|arg| words.contains(&&**arg))?;
                Some(args.get(at + 1..).unwrap_or_default().join(" "))
            }
        };
        Some(Self { what, text: text? })
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
