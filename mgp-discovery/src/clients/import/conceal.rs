//! Replacement of secrets in imported servers by references.

use std::{collections::HashMap, ops::Range};

use super::MovedSecret;
use crate::clients::secret;
use crate::config::{Environment, Reference, model::ServerConfig, unspelled};
use crate::names::{self, ReferenceKind};

/// Replaces values that look like secrets by references to the user's secrets, and tells servers apart by them.
///
/// The concealer remembers the value of each reference: a name that stands for one value is given to no other value,
/// whatever file that is from. The values in the environment and of the user's secrets are known as well.
pub struct Concealer<'e> {
    /// The value of each name in use; `None` where the value is not known.
    values: HashMap<ReferenceName, Option<String>>,
    environment: &'e dyn Environment,
}

/// A variable of the environment or a secret of the user, with its name.
type ReferenceName = (ReferenceKind, String);

impl<'e> Concealer<'e> {
    /// Returns a concealer that knows the environment and the user's secrets only.
    pub fn new(environment: &'e dyn Environment) -> Self {
        Self { values: HashMap::new(), environment }
    }

    /// Reserves the names that a server refers to: they are given to no value, because they may stand for any.
    pub fn reserve(&mut self, server: &ServerConfig) {
        for (_, text) in server.texts() {
            let mut rest = text;
            while let Some(at) = rest.find("${") {
                rest = &rest[at..];
                if let Some((reference, _)) = at_start(rest) {
                    self.values.entry(name_of(&reference)).or_default();
                }
                rest = &rest[2..];
            }
        }
    }

    /// Replaces the secrets of a server by references, and returns the replaced secrets.
    pub fn conceal(&mut self, server: &mut ServerConfig) -> Vec<MovedSecret> {
        let mut moved = Vec::new();
        let id = server.id.clone();
        for text in texts(server) {
            for FoundSecret { part, literal, said } in found(&text).into_iter().rev() {
                let (held_in, name) = match said {
                    Some(name) => self.said_name(&name, &literal),
                    None => (ReferenceKind::Store, self.new_secret(&wanted(&id, &text), &literal)),
                };
                let reference = match held_in {
                    ReferenceKind::Environment => format!("${{{name}}}"),
                    ReferenceKind::Store => format!("${{secret:{name}}}"),
                };
                text.value.replace_range(part, &reference);
                let (place, value) = (text.place.clone(), literal.into());
                moved.push(MovedSecret { held_in, name, place, value });
            }
        }
        moved
    }

    /// Compares a configured server with an entry of a client's file, in which secrets stand in plain text. Returns the
    /// secrets that the references of the configured server stand for, or `None` where the two are different servers.
    ///
    /// Two servers are the same if both start the same program with the same arguments, or have the same address; other
    /// keys do not count. A reference matches any secret, unless it is known to stand for another value.
    pub fn same(&mut self, own: &ServerConfig, other: &ServerConfig) -> Option<Vec<MovedSecret>> {
        if own.cwd != other.cwd || own.socket != other.socket {
            return None;
        }
        let (mut own, mut other) = (own.clone(), other.clone());
        let (own, other) = (texts(&mut own), texts(&mut other));
        if own.len() != other.len() {
            return None;
        }
        let mut known: HashMap<ReferenceName, String> = HashMap::new();
        let mut moved = Vec::new();
        for (own, other) in own.iter().zip(other) {
            if own.place != other.place {
                return None;
            }
            for (reference, literal) in counterparts(own.value, &other)? {
                let before = known.insert(name_of(&reference), literal.clone());
                let value = before.or_else(|| self.value_of(&reference));
                if value.is_some_and(|value| value != literal) {
                    return None;
                }
                let (held_in, name) = name_of(&reference);
                let (place, value) = (other.place.clone(), literal.into());
                moved.push(MovedSecret { held_in, name, place, value });
            }
        }
        self.values.extend(known.into_iter().map(|(name, value)| (name, Some(value))));
        Some(moved)
    }

    fn value_of(&self, reference: &Reference<'_>) -> Option<String> {
        let name = name_of(reference);
        let remembered = self.values.get(&name).cloned().flatten();
        remembered.or_else(|| self.set(&name)).or_else(|| reference.otherwise.map(str::to_owned))
    }

    /// Returns the value that the environment or the user's secrets have for a name. Secrets that cannot be read count
    /// as not set: they cannot be written either, and writing them reports the error.
    fn set(&self, (held_in, name): &ReferenceName) -> Option<String> {
        match held_in {
            ReferenceKind::Environment => self.environment.variable(name),
            ReferenceKind::Store => Some(self.environment.secret(name).ok()??.expose().to_owned()),
        }
    }

    /// Returns the name to refer to in place of the value in `${NAME:-value}`: the variable where it is set, else a new
    /// secret.
    fn said_name(&mut self, name: &str, literal: &str) -> ReferenceName {
        if self.environment.variable(name).is_some_and(|value| !value.is_empty()) {
            return (ReferenceKind::Environment, name.to_owned());
        }
        (ReferenceKind::Store, self.new_secret(name, literal))
    }

    fn new_secret(&mut self, wanted: &str, literal: &str) -> String {
        let mut name = (ReferenceKind::Store, wanted.to_owned());
        let mut number = 1_usize;
        while !self.can_stand_for(&name, literal) {
            number += 1;
            name.1 = format!("{wanted}_{number}");
        }
        self.values.insert(name.clone(), Some(literal.to_owned()));
        name.1
    }

    fn can_stand_for(&self, name: &ReferenceName, literal: &str) -> bool {
        match self.values.get(name) {
            Some(Some(value)) => value == literal,
            Some(None) => self.set(name).is_some_and(|value| value == literal),
            None => self.set(name).is_none_or(|value| value == literal),
        }
    }
}

// The names are shown without their values.
mgp_types::partial_debug!([] Concealer<'_>, self => names: self.values.keys());

/// A text of a server that may hold a secret: its program, an argument, a variable, its URL or a header.
struct ImportedText<'s> {
    /// The name of the value; empty if it has none.
    name: String,
    /// The place of the text, such as `env.API_TOKEN` or `args[2]`.
    place: String,
    value: &'s mut String,
}

/// Returns all texts of a server, always in the same order.
fn texts(server: &mut ServerConfig) -> Vec<ImportedText<'_>> {
    let names: Vec<String> = secret::value_names(&server.args).map(str::to_owned).collect();
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

/// Returns the reference at the start of a text of ours, and its length.
fn at_start(text: &str) -> Option<(Reference<'_>, usize)> {
    let (inner, _) = text.strip_prefix("${")?.split_once('}')?;
    Some((Reference::read(inner)?, inner.len() + 3))
}

fn name_of(reference: &Reference<'_>) -> ReferenceName {
    (reference.held_in, reference.name.to_owned())
}

/// Returns our references that stand where the other text has secrets, with those secrets; `None` if the texts differ
/// otherwise.
fn counterparts<'t>(own: &'t str, other: &ImportedText<'_>) -> Option<Vec<(Reference<'t>, String)>> {
    let mut counterparts = Vec::new();
    if own == other.value.as_str() {
        return Some(counterparts);
    }
    let (mut own, mut done) = (own, 0);
    for FoundSecret { part, literal, said } in found(other) {
        own = own.strip_prefix(&other.value[done..part.start])?;
        done = part.end;
        if let Some(rest) = own.strip_prefix(&other.value[part]) {
            own = rest;
            continue;
        }
        let (reference, length) = at_start(own)?;
        own = &own[length..];
        if said.as_deref() != Some(reference.name) || reference.held_in == ReferenceKind::Store {
            counterparts.push((reference, literal));
        }
    }
    (own == &other.value[done..]).then_some(counterparts)
}

/// A secret in a text.
struct FoundSecret {
    /// The part of the text that is replaced.
    part: Range<usize>,
    /// The secret itself.
    literal: String,
    /// The variable in front of the secret, if the secret is only its default.
    said: Option<String>,
}

fn found(text: &ImportedText<'_>) -> Vec<FoundSecret> {
    let mut all: Vec<FoundSecret> = Vec::new();
    for part in secret::find(&text.name, text.value) {
        let written = &text.value[part.clone()];
        let found = match enclosing_reference(text.value, &part) {
            Some((part, name)) => {
                FoundSecret { part, literal: written.to_owned(), said: Some(name.to_owned()) }
            }
            None => FoundSecret { part, literal: unspelled(written), said: None },
        };
        // Two secrets within one reference are replaced as one.
        if all.last().is_none_or(|before| before.part.end <= found.part.start) {
            all.push(found);
        }
    }
    all
}

/// Returns the `${NAME:-…}` around a part of a text, and its name.
fn enclosing_reference<'t>(text: &'t str, part: &Range<usize>) -> Option<(Range<usize>, &'t str)> {
    let start = text[..part.start].rfind("${")?;
    let (reference, length) = at_start(&text[start..])?;
    let end = start + length;
    (end > part.end && reference.otherwise.is_some()).then_some((start..end, reference.name))
}

/// The length of the longest name that is proposed for a secret, in characters: it leaves room for a number within the
/// longest valid name.
const LONGEST_NAME: usize = 100;

/// Returns the name that a secret gets unless another secret has that name.
fn wanted(id: &str, text: &ImportedText<'_>) -> String {
    let place = || text.place.trim_end_matches(']').replace('[', "_");
    let name = if text.name.is_empty() { place() } else { text.name.clone() };
    let name = name.trim_start_matches('-');
    let name = format!("{}_{}", names::variable(&id.to_uppercase()), names::variable(&name.to_uppercase()));
    name.chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;
    use crate::secrets::SecretStoreError;

    #[test]
    fn secrets_are_replaced_wherever_they_stand() {
        let unset = |_: &str| None;
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
        let moved = Concealer::new(&unset).conceal(&mut server);
        assert_eq!(server.env["HUB_TOKEN"], "${secret:MY_HUB_HUB_TOKEN}");
        assert_eq!(server.env["LEVEL"], "info");
        assert_eq!(server.env["T"], "${secret:T}");
        assert_eq!(server.args[1], "${secret:MY_HUB_API_KEY}");
        assert_eq!(server.args[3], "Authorization: Bearer ${secret:MY_HUB_HEADER}");
        assert_eq!(server.args[4], "--token=${secret:MY_HUB_ARGS_4}");
        assert_eq!(server.args[5], "dir");
        assert_eq!(
            server.url.as_deref(),
            Some("https://h/mcp?key=${secret:MY_HUB_URL_2}&token=${secret:MY_HUB_URL}")
        );
        assert_eq!(moved.len(), 7);
    }

    #[test]
    fn two_secrets_never_share_a_name() {
        let set = Known("SET_API_KEY", "other");
        let mut concealer = Concealer::new(&set);
        concealer.reserve(&keyed("x", "${secret:TAKEN_API_KEY}"));
        let mut variable = |id: &str, key: &str| {
            let mut server = keyed(id, key);
            concealer.conceal(&mut server);
            server.env.remove("API_KEY").unwrap()
        };
        assert_eq!(variable("api", "aaa"), "${secret:API_API_KEY}");
        assert_eq!(variable("api", "bbb"), "${secret:API_API_KEY_2}");
        assert_eq!(variable("api", "aaa"), "${secret:API_API_KEY}", "the same secret has the same name");
        assert_eq!(variable("taken", "aaa"), "${secret:TAKEN_API_KEY_2}", "somebody else refers to it");
        assert_eq!(variable("set", "aaa"), "${secret:SET_API_KEY_2}", "it is set to something else");
        assert_eq!(variable("set", "other"), "${secret:SET_API_KEY}");
        let mut otherwise = |secret: &str| {
            let env = [("LEVEL".to_owned(), format!("${{T:-{secret}}}"))].into();
            let mut server = ServerConfig { env, ..ServerConfig::default() };
            concealer.conceal(&mut server);
            server.env.remove("LEVEL").unwrap()
        };
        assert_eq!(otherwise("ghp_0123456789abcdef"), "${secret:T}");
        assert_eq!(otherwise("ghp_9876543210fedcba"), "${secret:T_2}");
    }

    #[test]
    fn a_reference_of_ours_counts_for_a_secret_of_theirs_until_it_is_known_to_be_another() {
        let set = Known("SET", "aaa");
        let mut concealer = Concealer::new(&set);
        let mut same = |own: &str, other: &str| {
            concealer.same(&keyed("a", own), &keyed("b", other)).map(|moved| moved.len())
        };
        assert_eq!(same("aaa", "aaa"), Some(0));
        assert_eq!(same("aaa", "bbb"), None);
        assert_eq!(same("${SET}", "aaa"), Some(1));
        assert_eq!(same("${SET}", "bbb"), None);
        assert_eq!(same("${secret:SET}", "aaa"), Some(1));
        assert_eq!(same("${secret:SET}", "bbb"), None);
        assert_eq!(same("${ENV:-bbb}", "aaa"), None);
        assert_eq!(same("${FREE}", "aaa"), Some(1));
        assert_eq!(same("${FREE}", "bbb"), None, "it stands for the other one now");
        assert_eq!(same("x${FREE}", "aaa"), None);
    }

    #[test]
    fn what_is_no_secret_has_to_be_the_same() {
        let unset = |_: &str| None;
        let mut concealer = Concealer::new(&unset);
        let base = ServerConfig {
            command: Some("db".to_owned()),
            args: ["--token", "aaa", "x"].map(str::to_owned).to_vec(),
            env: [("DB_NAME".to_owned(), "prod".to_owned())].into(),
            ..ServerConfig::default()
        };
        let mut own = ServerConfig { enabled: false, description: Some("d".to_owned()), ..base.clone() };
        own.args[1] = "${TOKEN}".to_owned();
        assert_eq!(concealer.same(&own, &base).unwrap()[0].name, "TOKEN");
        let alterations: [fn(&mut ServerConfig); 6] = [
            |server| server.env = [("DB_NAME".to_owned(), "staging".to_owned())].into(),
            |server| server.env = [("DB_NAME".to_owned(), "${DB_NAME}".to_owned())].into(),
            |server| server.env.clear(),
            |server| server.args[2] = "y".to_owned(),
            |server| server.command = Some("other".to_owned()),
            |server| server.cwd = Some("/p".to_owned()),
        ];
        for (index, alter) in alterations.into_iter().enumerate() {
            let mut altered = own.clone();
            alter(&mut altered);
            assert!(concealer.same(&altered, &base).is_none(), "{index}");
        }
    }

    #[test]
    fn a_variable_that_is_set_counts_before_what_stands_behind_it() {
        let set = Known("T", "of the environment");
        let env = [("LEVEL".to_owned(), "${T:-ghp_0123456789abcdef}".to_owned())].into();
        let mut server = ServerConfig { env, ..ServerConfig::default() };
        let moved = Concealer::new(&set).conceal(&mut server);
        assert_eq!((server.env["LEVEL"].as_str(), moved[0].held_in), ("${T}", ReferenceKind::Environment));
    }

    /// An environment with a variable and a secret of one name that have the same value.
    struct Known(&'static str, &'static str);

    impl Environment for Known {
        fn variable(&self, name: &str) -> Option<String> {
            (name == self.0).then(|| self.1.to_owned())
        }

        fn secret(&self, name: &str) -> Result<Option<Secret>, SecretStoreError> {
            Ok(self.variable(name).map(Secret::from))
        }
    }

    fn keyed(id: &str, key: &str) -> ServerConfig {
        let env = [("API_KEY".to_owned(), key.to_owned())].into();
        ServerConfig { id: id.to_owned(), command: Some("x".to_owned()), env, ..ServerConfig::default() }
    }
}
