use std::ops::Range;

use super::{
    LiteralSecrets, MovedSecret,
    variable::{self, Unique},
};
use crate::{clients::secret, config::model::ServerConfig};

/// Puts references in the place of secrets.
pub(super) struct Concealer {
    secrets: LiteralSecrets,
    variables: Unique,
}

impl Concealer {
    pub(super) fn new(secrets: LiteralSecrets) -> Self {
        Self { secrets, variables: Unique::default() }
    }

    pub(super) fn conceal(&mut self, server: &mut ServerConfig) -> Vec<MovedSecret> {
        let mut moved = Vec::new();
        if self.secrets == LiteralSecrets::Keep {
            return moved;
        }
        let id = server.id.clone();
        let mut one =
            |name: &str, place: String, text: &mut String| self.text(&id, name, &place, text, &mut moved);
        for (name, value) in &mut server.env {
            one(name, format!("env.{name}"), value);
        }
        for (name, value) in &mut server.headers {
            one(name, format!("headers.{name}"), value);
        }
        if let Some(url) = &mut server.url {
            one("url", "url".to_owned(), url);
        }
        if let Some(command) = &mut server.command {
            one("", "command".to_owned(), command);
        }
        let mut option = String::new();
        for (index, argument) in server.args.iter_mut().enumerate() {
            // `--token VALUE` names the value in the argument before it.
            let value_name = if argument.starts_with('-') { "" } else { option.as_str() };
            let place = format!("args[{index}]");
            let before = argument.clone();
            one(value_name, place, argument);
            option = if before.starts_with('-') && !before.contains('=') { before } else { String::new() };
        }
        moved
    }

    fn text(&mut self, id: &str, name: &str, place: &str, text: &mut String, moved: &mut Vec<MovedSecret>) {
        for part in secret::find(name, text).into_iter().rev() {
            let (part, variable) = match enclosing_reference(text, &part) {
                // A secret as what to take otherwise: the variable is there already.
                Some(found) => found,
                None => (part, self.variable(id, place, name)),
            };
            text.replace_range(part, &format!("${{{variable}}}"));
            moved.push(MovedSecret { variable, place: place.to_owned() });
        }
    }

    fn variable(&mut self, id: &str, place: &str, name: &str) -> String {
        let name =
            if name.is_empty() { place.trim_end_matches(']').replace('[', "_") } else { name.to_owned() };
        let name = name.trim_start_matches('-');
        self.variables.name(
            &format!("{}_{}", variable::name(&id.to_uppercase()), variable::name(&name.to_uppercase())),
            "_",
        )
    }
}

/// The `${NAME:-…}` around a part of a text, and its name.
fn enclosing_reference(text: &str, part: &Range<usize>) -> Option<(Range<usize>, String)> {
    let start = text[..part.start].rfind("${")?;
    let end = start + text[start..].find('}')? + 1;
    let (name, _) = text[start + 2..end - 1].split_once(":-")?;
    (end > part.end && variable::is_name(name)).then(|| (start..end, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_wherever_they_stand() {
        let mut server = ServerConfig {
            id: "my-hub".to_owned(),
            args: ["--api-key", "abc", "--header", "Authorization: Bearer xyz", "--token=t", "dir"]
                .map(str::to_owned)
                .to_vec(),
            env: [("HUB_TOKEN", "abc"), ("LEVEL", "info"), ("T", "${T:-ghp_0123456789abcdef}")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            url: Some("https://h/mcp?key=abc&token=def".to_owned()),
            ..ServerConfig::default()
        };
        let moved = Concealer::new(LiteralSecrets::Refer).conceal(&mut server);
        assert_eq!(server.env["HUB_TOKEN"], "${MY_HUB_HUB_TOKEN}");
        assert_eq!(server.env["LEVEL"], "info");
        assert_eq!(server.env["T"], "${T}");
        assert_eq!(server.args[1], "${MY_HUB_API_KEY}");
        assert_eq!(server.args[3], "Authorization: Bearer ${MY_HUB_HEADER}");
        assert_eq!(server.args[4], "--token=${MY_HUB_ARGS_4}");
        assert_eq!(server.args[5], "dir");
        assert_eq!(server.url.as_deref(), Some("https://h/mcp?key=${MY_HUB_URL_2}&token=${MY_HUB_URL}"));
        assert_eq!(moved.len(), 7);
    }

    #[test]
    fn nothing_is_replaced_when_secrets_are_kept() {
        let mut server = ServerConfig { args: vec!["--token=abc".to_owned()], ..ServerConfig::default() };
        assert!(Concealer::new(LiteralSecrets::Keep).conceal(&mut server).is_empty());
        assert_eq!(server.args, ["--token=abc"]);
    }
}
