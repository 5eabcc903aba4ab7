//! `mgp new server`: writes a small server that works, from a template.

use std::path::Path;
use std::{fs, io};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::output::Output;
use crate::terminal::{Failure, Result, printable};

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
    let is_fit = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_fit || name.len() > 40 {
        return Err(Failure::usage(format!("`{}` is no name for a server and its folder", printable(name)))
            .hint("a name has up to 40 lower-case letters, digits and `-`, and a letter first: my-server"));
    }
    let unwritten = |error: io::Error| {
        Failure::file(folder, error).hint("choose another name, or another folder to be in")
    };
    fs::create_dir(folder).map_err(unwritten)?;
    let files = args.lang.files();
    let written = files.iter().try_for_each(|(file, text)| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text.replace("{{project-name}}", name))
    });
    written.map_err(unwritten)?;
    let names: Vec<_> = files.iter().map(|(file, _)| format!("{name}/{file}")).collect();
    output
        .line(&json!({ "name": name, "files": names }), &format!("{} tell what to do next", names.join(", ")))
}

impl ServerLanguage {
    /// Returns the files of a server, with `{{project-name}}` in the place of its name.
    const fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Rust => &[
                ("Cargo.toml", include_str!("templates/rust/Cargo.toml.liquid")),
                ("src/main.rs", include_str!("templates/rust/src/main.rs.liquid")),
            ],
            Self::Python => &[("server.py", include_str!("templates/python/server.py.liquid"))],
            Self::Typescript => &[
                ("package.json", include_str!("templates/typescript/package.json.liquid")),
                ("server.ts", include_str!("templates/typescript/server.ts.liquid")),
            ],
        }
    }
}
