use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::place::Place;

#[derive(Debug, Args)]
pub(super) struct Add {
    /// What the server is called: letters, digits, `.`, `_` and `-`
    name: String,
    /// The command that starts it, with its arguments
    #[arg(last = true, value_name = "CMD", conflicts_with = "url")]
    command: Vec<String>,
    /// Where it is reached over HTTP
    #[arg(long, required_unless_present = "command")]
    url: Option<String>,
    /// A variable for its environment; ${NAME} refers to the kernel's
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    env: Vec<(String, String)>,
    /// A header for its requests; ${NAME} refers to the kernel's environment
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    header: Vec<(String, String)>,
    /// How to talk to it, if not as usual: stdio, http or sse
    #[arg(long, value_name = "HOW", value_parser = ["stdio", "http", "sse"])]
    transport: Option<String>,
    /// What it is for, in a line
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Remove {
    /// The server
    name: String,
}

/// What was changed, and where.
#[derive(Debug, Serialize)]
struct Changed<'a> {
    server_id: &'a str,
    file: PathBuf,
}

pub(super) fn add(place: &Place, output: &Output, add: Add) -> Result<Exit, Failure> {
    if add.name.is_empty() || !add.name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) {
        return Err(Failure::usage(format!("`{}` is no name for a server", add.name))
            .hint("letters, digits, `.`, `_` and `-` make one"));
    }
    let file = place.to_change()?;
    let mut document = read(&file)?;
    let servers = servers(&mut document, &file)?;
    if servers.iter().any(|server| is_called(server, &add.name)) {
        return Err(Failure::usage(format!("there is a server `{}` already in {}", add.name, file.display()))
            .hint(format!("`mgp remove {}` removes it", add.name)));
    }
    servers.push(table(&add));
    write(&file, &document)?;
    let changed = Changed { server_id: &add.name, file };
    output.show(&changed, |changed, out| {
        writeln!(out, "added {} to {}", changed.server_id, changed.file.display())
    })?;
    Ok(Exit::Done)
}

pub(super) fn remove(place: &Place, output: &Output, remove: &Remove) -> Result<Exit, Failure> {
    let file = place.to_change()?;
    let mut document = read(&file)?;
    let servers = servers(&mut document, &file)?;
    let Some(index) = servers.iter().position(|server| is_called(server, &remove.name)) else {
        let names: Vec<_> = servers.iter().filter_map(|server| server.get("id")?.as_str()).collect();
        let failure = Failure::usage(format!("there is no server `{}` in {}", remove.name, file.display()));
        return Err(if names.is_empty() { failure } else { failure.hint(format!("there are {}", names.join(", "))) });
    };
    servers.remove(index);
    write(&file, &document)?;
    let changed = Changed { server_id: &remove.name, file };
    output.show(&changed, |changed, out| {
        writeln!(out, "removed {} from {}", changed.server_id, changed.file.display())
    })?;
    Ok(Exit::Done)
}

fn table(add: &Add) -> Table {
    let mut table = Table::new();
    table.insert("id", value(&add.name));
    if let Some((program, args)) = add.command.split_first() {
        table.insert("command", value(program));
        if !args.is_empty() {
            table.insert("args", value(args.iter().collect::<Array>()));
        }
    }
    if let Some(url) = &add.url {
        table.insert("url", value(url));
    }
    for (name, pairs) in [("env", &add.env), ("headers", &add.header)] {
        if !pairs.is_empty() {
            let inline: InlineTable =
                pairs.iter().map(|(name, text)| (name.as_str(), Value::from(text.as_str()))).collect();
            table.insert(name, value(inline));
        }
    }
    if let Some(transport) = &add.transport {
        table.insert("transport", value(transport));
    }
    if let Some(description) = &add.description {
        table.insert("description", value(description));
    }
    table
}

/// The servers of the file. What else stands in it stays as it is, comments included.
fn servers<'a>(document: &'a mut DocumentMut, file: &Path) -> Result<&'a mut ArrayOfTables, Failure> {
    let servers = document.entry("servers").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if servers.as_array().is_some_and(Array::is_empty) {
        *servers = Item::ArrayOfTables(ArrayOfTables::new());
    }
    servers.as_array_of_tables_mut().ok_or_else(|| {
        Failure::usage(format!("`servers` in {} is not written as [[servers]]", file.display()))
            .hint("write each server as a table of its own, under [[servers]]")
    })
}

fn is_called(server: &Table, name: &str) -> bool {
    server.get("id").and_then(Item::as_str) == Some(name)
}

fn read(file: &Path) -> Result<DocumentMut, Failure> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::usage(format!("{} cannot be read: {error}", file.display()))),
    };
    text.parse().map_err(|error: toml_edit::TomlError| {
        Failure::usage(format!("{}: {}", file.display(), error.to_string().trim_end()))
    })
}

/// Writes beside the file and moves it there, so that nobody ever reads half of it.
fn write(file: &Path, document: &DocumentMut) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::usage(format!("{} cannot be written: {error}", file.display()));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(fail)?;
    // A link stays one: what it leads to is replaced.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let beside = target.with_extension(format!("toml.{}", std::process::id()));
    let written = fs::write(&beside, document.to_string()).and_then(|()| {
        if let Ok(before) = fs::metadata(&target) {
            fs::set_permissions(&beside, before.permissions())?;
        }
        fs::rename(&beside, &target)
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        fail(error)
    })
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))
}
