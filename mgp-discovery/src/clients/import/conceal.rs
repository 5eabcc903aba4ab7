use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::{MovedSecret, places, variable};
use crate::{
    clients::secret,
    config::{Environment, model::ServerConfig},
};

/// Puts references to variables in the place of secrets, and tells servers apart by them.
///
/// It remembers what each variable stands for: one that stands for a secret is given to no other secret, whatever file
/// that is from. What is set in the environment is known as well.
pub struct Concealer<'e> {
    /// What the variables stand for; nothing for one that is referred to, and whose value is not known.
    values: HashMap<String, Option<String>>,
    environment: &'e dyn Environment,
}

impl<'e> Concealer<'e> {
    /// One that knows the environment only.
    pub fn new(environment: &'e dyn Environment) -> Self {
        Self { values: HashMap::new(), environment }
    }

    /// Gives the variables that a server refers to to no secret, as they may stand for anything.
    pub fn reserve(&mut self, server: &ServerConfig) {
        let agents =
            server.agents.values().flat_map(|agent| agent.env.values().chain(agent.headers.values()));
        let texts = places::texts(server).into_iter().map(|text| text.value);
        for text in agents.map(String::as_str).chain(texts) {
            let mut rest = text;
            while let Some(at) = rest.find("${") {
                rest = &rest[at..];
                if let Some(reference) = Reference::at_start(rest) {
                    self.values.entry(reference.name.to_owned()).or_default();
                }
                rest = &rest[2..];
            }
        }
    }

    /// Replaces the secrets of a server by references, and says which there were.
    pub fn conceal(&mut self, server: &mut ServerConfig) -> Vec<MovedSecret> {
        let mut moved = Vec::new();
        let mut concealed = BTreeMap::new();
        for text in places::texts(server) {
            let mut value = text.value.to_owned();
            for Found { part, literal, said } in found(&text).into_iter().rev() {
                let variable = match said {
                    Some(name) => self.said_variable(name, literal),
                    None => self.new_variable(&wanted(&server.id, &text), literal),
                };
                value.replace_range(part, &format!("${{{variable}}}"));
                moved.push(MovedSecret { variable, place: text.place.clone() });
            }
            if value != text.value {
                concealed.insert(text.place, value);
            }
        }
        places::replace(server, concealed);
        moved
    }

    /// Whether a server of ours is one of a client's, in which secrets stand as they are; and if so, which variables of
    /// ours stand for them.
    ///
    /// It is if both start the same program in the same way, or reach the same address, whatever else is said of it. A
    /// reference of ours counts for a secret of theirs, unless it is known to stand for something else.
    pub fn same(&mut self, own: &ServerConfig, other: &ServerConfig) -> Option<Vec<MovedSecret>> {
        if own.cwd != other.cwd || own.socket != other.socket {
            return None;
        }
        let (own, other) = (places::texts(own), places::texts(other));
        if own.len() != other.len() {
            return None;
        }
        let mut known: HashMap<String, String> = HashMap::new();
        let mut moved = Vec::new();
        for (own, other) in own.iter().zip(other) {
            if own.place != other.place {
                return None;
            }
            for (reference, literal) in counterparts(own.value, &other)? {
                let before = known.insert(reference.name.to_owned(), literal.to_owned());
                let value = before.or_else(|| self.value_of(&reference));
                if value.is_some_and(|value| value != literal) {
                    return None;
                }
                moved.push(MovedSecret { variable: reference.name.to_owned(), place: other.place.clone() });
            }
        }
        self.values.extend(known.into_iter().map(|(name, value)| (name, Some(value))));
        Some(moved)
    }

    fn value_of(&self, reference: &Reference<'_>) -> Option<String> {
        let remembered = self.values.get(reference.name).cloned().flatten();
        let value = remembered.or_else(|| self.environment.variable(reference.name));
        value.or_else(|| reference.otherwise.map(str::to_owned))
    }

    /// The variable that a client's file has for a secret, unless it stands for another one by now.
    fn said_variable(&mut self, name: &str, literal: &str) -> String {
        match self.values.get(name) {
            Some(Some(other)) if other != literal => self.new_variable(name, literal),
            _ => {
                self.values.insert(name.to_owned(), Some(literal.to_owned()));
                name.to_owned()
            }
        }
    }

    fn new_variable(&mut self, wanted: &str, literal: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1_usize;
        while !self.can_stand_for(&name, literal) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.values.insert(name.clone(), Some(literal.to_owned()));
        name
    }

    fn can_stand_for(&self, name: &str, literal: &str) -> bool {
        let set = || self.environment.variable(name);
        match self.values.get(name) {
            Some(Some(value)) => value == literal,
            Some(None) => set().is_some_and(|value| value == literal),
            None => set().is_none_or(|value| value == literal),
        }
    }
}

impl std::fmt::Debug for Concealer<'_> {
    /// Without what the variables stand for.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Concealer").field("variables", &self.values.keys()).finish_non_exhaustive()
    }
}

/// A reference to a variable in a text of ours.
struct Reference<'t> {
    name: &'t str,
    otherwise: Option<&'t str>,
    len: usize,
}

impl<'t> Reference<'t> {
    fn at_start(text: &'t str) -> Option<Self> {
        let (inner, _) = text.strip_prefix("${")?.split_once('}')?;
        let said = inner.strip_prefix("env:").unwrap_or(inner);
        let (name, otherwise) = match said.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (said, None),
        };
        variable::is_name(name).then_some(Self { name, otherwise, len: inner.len() + 3 })
    }
}

/// The references of ours that stand where the other text has secrets, with those; nothing if the texts differ otherwise.
fn counterparts<'t>(own: &'t str, other: &places::Text<'t>) -> Option<Vec<(Reference<'t>, &'t str)>> {
    let mut counterparts = Vec::new();
    if own == other.value {
        return Some(counterparts);
    }
    let (mut own, mut done) = (own, 0);
    for Found { part, literal, said } in found(other) {
        own = own.strip_prefix(&other.value[done..part.start])?;
        done = part.end;
        if let Some(rest) = own.strip_prefix(&other.value[part]) {
            own = rest;
            continue;
        }
        let reference = Reference::at_start(own)?;
        own = &own[reference.len..];
        if said != Some(reference.name) {
            counterparts.push((reference, literal));
        }
    }
    (own == &other.value[done..]).then_some(counterparts)
}

/// A secret in a text.
struct Found<'t> {
    /// What is replaced.
    part: Range<usize>,
    literal: &'t str,
    /// The variable that goes before it, if it is only what to take otherwise.
    said: Option<&'t str>,
}

fn found<'t>(text: &places::Text<'t>) -> Vec<Found<'t>> {
    let mut all: Vec<Found<'t>> = Vec::new();
    for part in secret::find(&text.name, text.value) {
        let literal = &text.value[part.clone()];
        let found = match enclosing_reference(text.value, &part) {
            Some((part, name)) => Found { part, literal, said: Some(name) },
            None => Found { part, literal, said: None },
        };
        // Two within one reference are replaced as one.
        if all.last().is_none_or(|before| before.part.end <= found.part.start) {
            all.push(found);
        }
    }
    all
}

/// The `${NAME:-…}` around a part of a text, and its name.
fn enclosing_reference<'t>(text: &'t str, part: &Range<usize>) -> Option<(Range<usize>, &'t str)> {
    let start = text[..part.start].rfind("${")?;
    let reference = Reference::at_start(&text[start..])?;
    let end = start + reference.len;
    (end > part.end && reference.otherwise.is_some()).then_some((start..end, reference.name))
}

/// What a variable for a secret is called if nothing else is called so.
fn wanted(id: &str, text: &places::Text<'_>) -> String {
    let place = || text.place.trim_end_matches(']').replace('[', "_");
    let name = if text.name.is_empty() { place() } else { text.name.clone() };
    let name = name.trim_start_matches('-');
    format!("{}_{}", variable::name(&id.to_uppercase()), variable::name(&name.to_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn two_secrets_never_share_a_variable() {
        let set = |name: &str| (name == "SET_API_KEY").then(|| "other".to_owned());
        let mut concealer = Concealer::new(&set);
        concealer.reserve(&keyed("x", "${TAKEN_API_KEY}"));
        let mut variable = |id: &str, key: &str| {
            let mut server = keyed(id, key);
            concealer.conceal(&mut server);
            server.env.remove("API_KEY").unwrap()
        };
        assert_eq!(variable("api", "aaa"), "${API_API_KEY}");
        assert_eq!(variable("api", "bbb"), "${API_API_KEY_2}");
        assert_eq!(variable("api", "aaa"), "${API_API_KEY}", "the same secret has the same variable");
        assert_eq!(variable("taken", "aaa"), "${TAKEN_API_KEY_2}", "somebody else refers to it");
        assert_eq!(variable("set", "aaa"), "${SET_API_KEY_2}", "it is set to something else");
        assert_eq!(variable("set", "other"), "${SET_API_KEY}");
        let mut otherwise = |secret: &str| {
            let env = [("LEVEL".to_owned(), format!("${{T:-{secret}}}"))].into();
            let mut server = ServerConfig { env, ..ServerConfig::default() };
            concealer.conceal(&mut server);
            server.env.remove("LEVEL").unwrap()
        };
        assert_eq!(otherwise("ghp_0123456789abcdef"), "${T}");
        assert_eq!(otherwise("ghp_9876543210fedcba"), "${T_2}");
    }

    #[test]
    fn a_reference_of_ours_counts_for_a_secret_of_theirs_until_it_is_known_to_be_another() {
        let set = |name: &str| (name == "SET").then(|| "aaa".to_owned());
        let mut concealer = Concealer::new(&set);
        let mut same = |own: &str, other: &str| {
            concealer.same(&keyed("a", own), &keyed("b", other)).map(|moved| moved.len())
        };
        assert_eq!(same("aaa", "aaa"), Some(0));
        assert_eq!(same("aaa", "bbb"), None);
        assert_eq!(same("${SET}", "aaa"), Some(1));
        assert_eq!(same("${SET}", "bbb"), None);
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
        assert_eq!(concealer.same(&own, &base).unwrap()[0].variable, "TOKEN");
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

    fn keyed(id: &str, key: &str) -> ServerConfig {
        let env = [("API_KEY".to_owned(), key.to_owned())].into();
        ServerConfig { id: id.to_owned(), command: Some("x".to_owned()), env, ..ServerConfig::default() }
    }
}
