//! `mgp new server`: writes a small server that works, from a template.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, ValueEnum};
use mgp_kernel_core::terminal::{Failure, Result, printable};
use serde_json::json;

use super::output::Output;

#[derive(Debug, Args)]
pub(super) struct NewServerArgs {
    /// The name of the server and of its folder: up to 40 lower-case letters, digits and `-`, of which the first is a letter
    name: String,
    /// The language in which it is written
    #[arg(long, value_enum, default_value = "rust")]
    lang: ServerLanguage,
    /// The folder of the crate `mgp-server-sdk`, for Rust; by default the one in the checkout that this program was built from
    #[arg(long, value_name = "FOLDER")]
    sdk: Option<PathBuf>,
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
    let sdk = match args.lang {
        ServerLanguage::Rust => sdk_folder(args.sdk.as_deref())?.display().to_string(),
        ServerLanguage::Python | ServerLanguage::Typescript => String::new(),
    };
    // A string of JSON is one of TOML, too.
    let sdk = json!(sdk).to_string();
    let unwritten = |error: io::Error| {
        Failure::file(folder, error).hint("choose another name, or another folder to be in")
    };
    fs::create_dir(folder).map_err(unwritten)?;
    let files = args.lang.files();
    let written = files.iter().try_for_each(|(file, text)| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text.replace("{{project-name}}", name).replace("{{sdk}}", &sdk))
    });
    written.map_err(unwritten)?;
    let names: Vec<_> = files.iter().map(|(file, _)| format!("{name}/{file}")).collect();
    let text = format!("created {}; the first line of {} says how to run it", names.join(" and "), names[0]);
    output.line(&json!({ "name": name, "files": names }), &text)
}

/// Returns the folder of `mgp-server-sdk`: `given`, or the one in the checkout that this program was built from.
fn sdk_folder(given: Option<&Path>) -> Result<PathBuf> {
    let folder = match (given, CHECKOUT_CRATE) {
        (Some(folder), _) => std::path::absolute(folder).ok(),
        (None, Some(kernel)) => Some(Path::new(kernel).with_file_name("mgp-server-sdk")),
        (None, None) => None,
    };
    let found = folder.filter(|folder| folder.join("Cargo.toml").is_file());
    found.ok_or_else(|| {
        Failure::usage("the crate `mgp-server-sdk` was not found, and a server in Rust needs it").hint(
            "name its folder in a clone of mgp with `--sdk FOLDER`, or choose another language: `--lang python`",
        )
    })
}

/// The folder of this crate in the checkout that this program was built from; packages are built without it.
const CHECKOUT_CRATE: Option<&str> =
    if option_env!("MGP_PACKAGED").is_some() { None } else { Some(env!("CARGO_MANIFEST_DIR")) };

impl ServerLanguage {
    /// Returns the files of a server, with `{{project-name}}` in the place of its name and `{{sdk}}` in that of the folder of
    /// `mgp-server-sdk`. The first file begins with how to run the server.
    const fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Rust => &[
                ("Cargo.toml", include_str!("templates/rust/Cargo.toml.liquid")),
                ("src/main.rs", include_str!("templates/rust/src/main.rs.liquid")),
            ],
            Self::Python => &[("server.py", include_str!("templates/python/server.py.liquid"))],
            Self::Typescript => &[
                ("server.ts", include_str!("templates/typescript/server.ts.liquid")),
                ("package.json", include_str!("templates/typescript/package.json.liquid")),
            ],
        }
    }
}
