//! `mgp new server`: writes a small server that works, from a template.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::output::Output;
use crate::terminal::{Exit, Failure, Result, printable};

#[derive(Debug, Args)]
pub(super) struct NewServerArgs {
    /// The name of the server and of its folder: up to 40 lower-case letters, digits and `-`, of which the first is a letter
    name: String,
    /// The language in which it is written
    #[arg(long, value_enum, default_value = "rust")]
    lang: ServerLanguage,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ServerLanguage {
    Rust,
    Python,
    Typescript,
}

pub(super) fn run(output: &Output, args: &NewServerArgs) -> Result {
    let (name, folder) = (args.name.as_str(), Path::new(&args.name));
    if !is_fit(name) {
        return Err(Failure::usage(format!("`{}` is no name for a server and its folder", printable(name)))
            .hint("a name has up to 40 lower-case letters, digits and `-`, and a letter first: my-server"));
    }
    fs::create_dir(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{name} is there already, and nothing was written")).hint("choose another name")
        }
        _ => Failure::file(folder, error),
    })?;
    let files = args.lang.files();
    let written = files.iter().try_for_each(|(file, text)| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text.replace("{{name}}", name))
    });
    if let Err(error) = written {
        // Half a project would have to be removed before the next attempt.
        let _gone = fs::remove_dir_all(folder);
        return Err(Failure::file(folder, error));
    }
    let names: Vec<_> = files.iter().map(|(file, _)| format!("{name}/{file}")).collect();
    output.line(&json!({ "name": name, "files": names }), &format!("{name} is written: {}", names.join(", ")))?;
    let here = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let here = mgp_types::shell_word(&here.to_string_lossy());
    output.note(&args.lang.next_step(name, &here));
    Ok(Exit::Done)
}

fn is_fit(name: &str) -> bool {
    name.len() <= 40
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

impl ServerLanguage {
    /// Returns the files of a server, with `{{name}}` in the place of its name.
    const fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Rust => &[
                ("Cargo.toml", include_str!("templates/rust/Cargo.toml.txt")),
                ("src/main.rs", include_str!("templates/rust/main.rs.txt")),
            ],
            Self::Python => &[("server.py", include_str!("templates/python/server.py.txt"))],
            Self::Typescript => &[
                ("package.json", include_str!("templates/typescript/package.json.txt")),
                ("server.ts", include_str!("templates/typescript/server.ts.txt")),
            ],
        }
    }

    /// Returns what a person does next to use the server in a folder.
    fn next_step(self, name: &str, folder: &str) -> String {
        match self {
            Self::Rust => format!(
                "next: `cargo install --path {folder} --root {folder}`, then `mgp add {name} -- {folder}/bin/{name}`"
            ),
            Self::Python => format!("next: `mgp add {name} -- uv run {folder}/server.py`"),
            Self::Typescript => {
                format!("next: `npm install --prefix {folder}`, then `mgp add {name} -- node {folder}/server.ts`")
            }
        }
    }
}
