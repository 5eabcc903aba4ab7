//! Putting answers where a document leaves something open.

use std::collections::BTreeMap;

use super::{Answers, Input, LaunchError, Needed, show};
use crate::clients::variable::{self, Unique};

/// Fills in what is open, and remembers what was.
pub(super) struct Filler<'a> {
    id: String,
    answers: &'a Answers,
    names: Unique,
    needed: Vec<Needed>,
    missing: Vec<Needed>,
    variables: Vec<String>,
    wrong: Option<LaunchError>,
}

impl<'a> Filler<'a> {
    pub(super) fn new(id: &str, answers: &'a Answers) -> Self {
        Self {
            id: id.to_owned(),
            answers,
            names: Unique::default(),
            needed: Vec::new(),
            missing: Vec::new(),
            variables: Vec::new(),
            wrong: None,
        }
    }

    /// Whether something is still to be answered.
    pub(super) fn is_missing(&self) -> bool {
        !self.missing.is_empty()
    }

    pub(super) fn into_needed(self) -> Vec<Needed> {
        self.needed
    }

    /// The variables that have to be set, if everything is answered.
    pub(super) fn finish(self) -> Result<Vec<String>, LaunchError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if !self.missing.is_empty() {
            return Err(LaunchError::Missing { needed: self.missing });
        }
        let unknown = |name: &&String| !self.needed.iter().any(|needed| needed.name == **name);
        if let Some(name) = self.answers.0.keys().find(unknown) {
            let known: Vec<&str> = self.needed.iter().map(|needed| needed.name.as_str()).collect();
            let why = format!("nothing is called so; what can be answered is: {}", known.join(", "));
            return Err(LaunchError::BadAnswer { name: name.clone(), why });
        }
        Ok(self.variables)
    }

    /// The value of an input; nothing if it may be left out, and is.
    pub(super) fn one(&mut self, name: &str, input: &Input) -> Result<Option<String>, LaunchError> {
        Ok(self.many(name, input, false)?.into_iter().next())
    }

    /// The values of an input that may be repeated.
    pub(super) fn many(
        &mut self,
        name: &str,
        input: &Input,
        repeated: bool,
    ) -> Result<Vec<String>, LaunchError> {
        match &input.value {
            Some(value) if !input.is_secret || !input.variables.is_empty() => {
                let (text, whole) = self.fill_in(name, value, &input.variables)?;
                // `Bearer ` alone is worse than nothing.
                Ok(if whole || input.is_required { vec![text] } else { Vec::new() })
            }
            _ => self.ask(name, input, repeated),
        }
    }

    /// A text of the document with its `{name}`s filled in.
    pub(super) fn template(
        &mut self,
        place: &str,
        text: &str,
        variables: &BTreeMap<String, Input>,
    ) -> Result<String, LaunchError> {
        self.fill_in(place, text, variables).map(|(text, _)| text)
    }

    /// The text, and whether there was something for every name in it.
    fn fill_in(
        &mut self,
        place: &str,
        text: &str,
        variables: &BTreeMap<String, Input>,
    ) -> Result<(String, bool), LaunchError> {
        authored(place, text)?;
        let mut whole = true;
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            out.push_str(before);
            let known =
                behind.split_once('}').and_then(|(name, after)| Some((name, variables.get(name)?, after)));
            let Some((name, input, after)) = known else {
                out.push('{');
                rest = behind;
                continue;
            };
            let value = match &input.value {
                // Variables have no variables of their own.
                Some(value) if !input.is_secret => {
                    authored(name, value)?;
                    Some(value.clone())
                }
                _ => self.ask(name, input, false)?.into_iter().next(),
            };
            whole &= value.is_some();
            out.push_str(&value.unwrap_or_default());
            rest = after;
        }
        out.push_str(rest);
        Ok((out, whole))
    }

    fn ask(&mut self, name: &str, input: &Input, repeated: bool) -> Result<Vec<String>, LaunchError> {
        let name = self.names.name(name, "_");
        if self.needed.len() == MAX_NEEDED {
            return Err(LaunchError::TooLarge { what: "things to fill in", limit: MAX_NEEDED });
        }
        if let Some(default) = &input.default {
            authored(&name, default)?;
        }
        let secret = input.is_secret.then(|| {
            format!("{}_{}", variable::name(&self.id.to_uppercase()), variable::name(&name.to_uppercase()))
        });
        let needed = Needed {
            name: name.clone(),
            description: input.description.clone(),
            secret: secret.clone(),
            default: input.default.clone().filter(|_| !input.is_secret),
            choices: input.choices.clone(),
            required: input.is_required,
            repeated,
        };
        self.needed.push(needed.clone());
        let answers = self.answers.0.get(&name).map(Vec::as_slice).unwrap_or_default();
        if answers.len() > 1 && !repeated {
            self.refuse(&name, "it takes one answer".to_owned());
        }
        for answer in answers {
            if let Err(why) = fits(input, answer) {
                self.refuse(&name, why);
            }
        }
        if !answers.is_empty() {
            return Ok(answers.to_vec());
        }
        if let Some(variable) = secret {
            if !input.is_required {
                // A reference to what is not set would keep the server from starting.
                return Ok(Vec::new());
            }
            self.variables.push(variable.clone());
            return Ok(vec![format!("${{{variable}}}")]);
        }
        if input.default.is_none() && input.is_required {
            self.missing.push(needed);
        }
        Ok(input.default.iter().cloned().collect())
    }

    fn refuse(&mut self, name: &str, why: String) {
        self.wrong.get_or_insert_with(|| LaunchError::BadAnswer { name: name.to_owned(), why });
    }
}

/// Makes sure that a text of the document does not reach into the environment of the kernel.
pub(super) fn authored(place: &str, text: &str) -> Result<(), LaunchError> {
    if text.contains("${") {
        return Err(LaunchError::Reference { place: show::visible(place) });
    }
    if text.contains(|c: char| c.is_control()) {
        return Err(LaunchError::Malformed {
            what: "text without control characters",
            text: show::visible(text),
        });
    }
    Ok(())
}

fn fits(input: &Input, answer: &str) -> Result<(), String> {
    let reference =
        answer.strip_prefix("${").and_then(|text| text.strip_suffix('}')).is_some_and(variable::is_name);
    if input.is_secret && !reference {
        return Err("it is a secret: answer `${NAME}`, and set that variable".to_owned());
    }
    if answer.contains(|c: char| c.is_control()) {
        return Err("it has control characters".to_owned());
    }
    if reference {
        return Ok(());
    }
    if !input.choices.is_empty() && !input.choices.iter().any(|choice| choice == answer) {
        return Err(format!("it is one of {}", input.choices.join(", ")));
    }
    match input.format.as_deref() {
        Some("number") if answer.parse::<f64>().is_err() => Err("it is a number".to_owned()),
        Some("boolean") if !["true", "false"].contains(&answer) => Err("it is `true` or `false`".to_owned()),
        _ => Ok(()),
    }
}

const MAX_NEEDED: usize = 256;
