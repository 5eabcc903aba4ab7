//! The texts of a server that may hold secrets: program, arguments, variables, URL and headers.

use crate::config::model::ServerConfig;

/// A text of a server.
pub(super) struct ImportedText<'s> {
    /// The name of the value; empty if it has none.
    pub(super) name: String,
    /// The place of the text, such as `env.API_TOKEN` or `args[2]`.
    pub(super) place: String,
    pub(super) value: &'s mut String,
}

/// Returns all texts of a server, always in the same order.
pub(super) fn texts(server: &mut ServerConfig) -> Vec<ImportedText<'_>> {
    let names: Vec<String> = value_names(&server.args).map(str::to_owned).collect();
    let of = |name: &str, place: String, value| ImportedText { name: name.to_owned(), place, value };
    let env = server.env.iter_mut().map(|(name, value)| of(name, format!("env.{name}"), value));
    let headers = server.headers.iter_mut().map(|(name, value)| of(name, format!("headers.{name}"), value));
    let url = server.url.iter_mut().map(|url| of("url", "url".to_owned(), url));
    let command = server.command.iter_mut().map(|command| of("", "command".to_owned(), command));
    let args = server.args.iter_mut().zip(names).enumerate();
    let args =
        args.map(|(index, (value, name))| ImportedText { name, place: format!("args[{index}]"), value });
    env.chain(headers).chain(url).chain(command).chain(args).collect()
}

/// Returns the name of each argument: `--token VALUE` names the value in the argument before it.
pub(crate) fn value_names(args: &[String]) -> impl Iterator<Item = &str> {
    let before = std::iter::once("").chain(args.iter().map(String::as_str));
    before.zip(args).map(|(before, argument)| {
        let names = before.starts_with('-') && !before.contains('=') && !argument.starts_with('-');
        if names { before } else { "" }
    })
}
