//! The texts of a server that may hold secrets: program, arguments, variables, URL and headers.

use std::collections::BTreeMap;

use crate::config::model::ServerConfig;

/// A text of a server.
pub(super) struct ImportedText<'s> {
    /// The name of the value; empty if it has none.
    pub(super) name: String,
    /// The place of the text, such as `env.API_TOKEN` or `args[2]`.
    pub(super) place: String,
    pub(super) value: &'s str,
}

/// Returns all texts of a server, always in the same order.
pub(super) fn texts(server: &ServerConfig) -> Vec<ImportedText<'_>> {
    let of = |name: &str, place: String, value| ImportedText { name: name.to_owned(), place, value };
    let env = server.env.iter().map(|(name, value)| of(name, format!("env.{name}"), value));
    let headers = server.headers.iter().map(|(name, value)| of(name, format!("headers.{name}"), value));
    let url = server.url.iter().map(|url| of("url", "url".to_owned(), url));
    let command = server.command.iter().map(|command| of("", "command".to_owned(), command));
    let names = value_names(&server.args);
    let args = server.args.iter().zip(names).enumerate();
    let args = args.map(|(index, (argument, name))| of(name, format!("args[{index}]"), argument));
    env.chain(headers).chain(url).chain(command).chain(args).collect()
}

/// Replaces the texts at these places.
pub(super) fn replace(server: &mut ServerConfig, mut by_place: BTreeMap<String, String>) {
    let mut put = |place: String, value: &mut String| {
        if let Some(new) = by_place.remove(&place) {
            *value = new;
        }
    };
    for (name, value) in &mut server.env {
        put(format!("env.{name}"), value);
    }
    for (name, value) in &mut server.headers {
        put(format!("headers.{name}"), value);
    }
    if let Some(url) = &mut server.url {
        put("url".to_owned(), url);
    }
    if let Some(command) = &mut server.command {
        put("command".to_owned(), command);
    }
    for (index, argument) in server.args.iter_mut().enumerate() {
        put(format!("args[{index}]"), argument);
    }
}

/// Returns the name of each argument: `--token VALUE` names the value in the argument before it.
pub(crate) fn value_names(args: &[String]) -> impl Iterator<Item = &str> {
    let before = std::iter::once("").chain(args.iter().map(String::as_str));
    before.zip(args).map(|(before, argument)| {
        let names = before.starts_with('-') && !before.contains('=') && !argument.starts_with('-');
        if names { before } else { "" }
    })
}
