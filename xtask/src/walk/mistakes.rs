//! Mistakes that people make on their first day, each with what has to be said: what happened, to what, and what to do.

use anyhow::{Result, ensure};

use super::{Walk, home::Home};

/// A mistake: what is made of it, the servers of the configuration, the command, and what the command has to say.
struct Mistake {
    what: &'static str,
    servers: &'static str,
    command: &'static [&'static str],
    says: &'static [&'static str],
}

impl Walk {
    /// Makes the mistakes in a home beside the walk's own.
    pub(super) fn mistakes(&mut self) {
        let home = match self.home.beside("walk-mistakes") {
            Ok(home) => home,
            Err(error) => return self.step("a home for mistakes", |_| Err(error)),
        };
        for mistake in &MISTAKES {
            self.step(mistake.what, |_| try_mistake(&home, mistake));
        }
    }
}

fn try_mistake(home: &Home, mistake: &Mistake) -> Result<String> {
    // The kernel of the mistake before may be there still, and follow the new file only when an operator has it.
    home.ended(&mut home.mgp(&["stop"]))?;
    home.configure(&format!("[kernel]\nlinger = 0\n\n{}", mistake.servers))?;
    let ended = home.ended(&mut home.mgp(mistake.command))?;
    let output = format!("{}{}", ended.out, ended.errors);
    for says in mistake.says {
        ensure!(output.contains(says), "`{says}` is not said: {ended:?}");
    }
    Ok(mistake.says[0].to_owned())
}

const MISTAKES: [Mistake; 11] = [
    Mistake {
        what: "a program that is not installed",
        servers: "[[servers]]\nid = \"lost\"\ncommand = \"uvx-is-not-here\"\nargs = [\"server\"]\n",
        command: &["doctor"],
        says: &[
            "no program `uvx-is-not-here` in PATH",
            "tried: `uvx-is-not-here server`",
            "[servers.env] PATH",
        ],
    },
    Mistake {
        what: "an environment that is gone",
        servers: "[[servers]]\nid = \"gone\"\ncommand = \"/nowhere/.venv/bin/python\"\n",
        command: &["doctor"],
        says: &["there is no file `/nowhere/.venv/bin/python`", "make the program again"],
    },
    Mistake {
        what: "a package that does not exist",
        servers: "[[servers]]\nid = \"npm\"\ncommand = \"npx\"\nargs = [\"-y\", \"@nobody-has-this/at-all-4711\"]\n",
        command: &["doctor"],
        says: &["no such package", "exit status", "npm"],
    },
    Mistake {
        what: "`~` in an argument",
        servers: "[[servers]]\nid = \"home\"\ncommand = \"python3\"\nargs = [\"~/server.py\"]\n",
        command: &["doctor"],
        says: &["`~` and `$HOME` are not replaced there", "~/server.py"],
    },
    Mistake {
        what: "a program that prints to its standard output",
        servers: "[[servers]]\nid = \"loud\"\ncommand = \"sh\"\nargs = [\"-c\", \"echo Ready on port 80; read -r x\"]\n",
        command: &["doctor"],
        says: &["wrote `Ready on port 80` to its standard output", "have it log to its standard error"],
    },
    Mistake {
        what: "an address that nobody serves",
        servers: "[[servers]]\nid = \"web\"\nurl = \"http://127.0.0.1:9/mcp\"\n",
        command: &["doctor"],
        says: &["http://127.0.0.1:9/mcp: the server cannot be reached", "correct its `url`"],
    },
    Mistake {
        what: "a key that is not known",
        servers: "[[servers]]\nid = \"web\"\nurl = \"http://127.0.0.1:9/mcp\"\nstartup_timeout_ms = 5\n",
        command: &["servers"],
        says: &["`startup_timeout_ms` is not a known key here", "[servers.limits]"],
    },
    Mistake {
        what: "a comma behind a value",
        servers: "[[servers]]\nid = \"a\",\ncommand = \"x\"\n",
        command: &["servers"],
        says: &["remove what follows it, such as a comma"],
    },
    Mistake {
        what: "a path of Windows in double quotes",
        servers: "[[servers]]\nid = \"win\"\ncommand = \"C:\\Users\\me\\server.exe\"\n",
        command: &["servers"],
        says: &["in single quotes"],
    },
    Mistake {
        what: "`mgp add` without `--`",
        servers: "",
        command: &["add", "x", "npx", "-y", "some-server"],
        says: &["did you mean `mgp add x -- npx -y some-server`?"],
    },
    Mistake {
        what: "nothing to undo",
        servers: "",
        command: &["export", "--to", "cursor", "--rollback"],
        says: &["there is nothing to undo"],
    },
];
