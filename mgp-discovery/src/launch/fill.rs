//! The values of a document that a person fills in.

use std::collections::BTreeMap;

use super::{Input, LaunchError, LaunchResult, RequiredInput};
use crate::names::{self, UniqueNames};
use crate::registry::visible;

/// Fills in open values, and remembers which ones were open.
#[derive(Default)]
pub(super) struct Filler<'a> {
    id: String,
    answers: &'a [(String, String)],
    names: UniqueNames,
    /// The names of the values that can be answered.
    asked: Vec<String>,
    pub(super) missing: Vec<RequiredInput>,
    secrets: Vec<String>,
    wrong: Option<LaunchError>,
}

const MAX_NEEDED: usize = 256;

impl<'a> Filler<'a> {
    pub(super) fn new(id: &str, answers: &'a [(String, String)]) -> Self {
        Self { id: id.to_owned(), answers, ..Self::default() }
    }

    /// Returns the secrets that have to be set, if all values are answered.
    pub(super) fn finish(self) -> LaunchResult<Vec<String>> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if !self.missing.is_empty() {
            return Err(LaunchError::Missing(self.missing));
        }
        if let Some((name, _)) = self.answers.iter().find(|(name, _)| !self.asked.contains(name)) {
            let why = format!("there is no value of this name; the names are: {}", self.asked.join(", "));
            return Err(LaunchError::BadAnswer { name: name.clone(), why });
        }
        Ok(self.secrets)
    }

    /// Returns the value of an input; `None` if it is optional and has no answer.
    pub(super) fn one(&mut self, name: &str, input: &Input) -> LaunchResult<Option<String>> {
        Ok(self.many(name, input, false)?.into_iter().next())
    }

    /// Returns the values of an input that may be repeated.
    pub(super) fn many(&mut self, name: &str, input: &Input, repeated: bool) -> LaunchResult<Vec<String>> {
        match &input.value {
            Some(value) if !input.is_secret || !input.variables.is_empty() => {
                let (text, whole) = self.fill_in(name, value, &input.variables)?;
                // A lone `Bearer ` is worse than no header.
                Ok(if whole || input.is_required { vec![text] } else { Vec::new() })
            }
            _ => self.ask(name, input, repeated),
        }
    }

    /// Returns a text of the document with its `{name}`s filled in, and whether every name in it has a value.
    pub(super) fn fill_in(
        &mut self,
        place: &str,
        text: &str,
        variables: &BTreeMap<String, Input>,
    ) -> LaunchResult<(String, bool)> {
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

    fn ask(&mut self, name: &str, input: &Input, repeated: bool) -> LaunchResult<Vec<String>> {
        let name = self.names.name(name, "_");
        if self.asked.len() == MAX_NEEDED {
            return Err(LaunchError::too_large("values to fill in", MAX_NEEDED));
        }
        if let Some(default) = &input.default {
            authored(&name, default)?;
        }
        self.asked.push(name.clone());
        let answers: Vec<String> =
            self.answers.iter().filter(|(of, _)| *of == name).map(|(_, answer)| answer.clone()).collect();
        if answers.len() > 1 && !repeated {
            self.refuse(&name, "the value takes one answer".to_owned());
        }
        if let Some(why) = answers.iter().find_map(|answer| fits(input, answer).err()) {
            self.refuse(&name, why);
        }
        if !answers.is_empty() {
            return Ok(answers);
        }
        if input.is_secret {
            if !input.is_required {
                // A reference to a secret that is not set would keep the server from starting.
                return Ok(Vec::new());
            }
            let [id, name] = [&self.id, &name].map(|part| names::variable(&part.to_uppercase()));
            let secret = format!("{id}_{name}");
            let reference = format!("${{secret:{secret}}}");
            self.secrets.push(secret);
            return Ok(vec![reference]);
        }
        if input.default.is_none() && input.is_required {
            let (description, choices) = (input.description.clone(), input.choices.clone());
            self.missing.push(RequiredInput { name, description, choices });
        }
        Ok(input.default.iter().cloned().collect())
    }

    fn refuse(&mut self, name: &str, why: String) {
        self.wrong.get_or_insert_with(|| LaunchError::BadAnswer { name: name.to_owned(), why });
    }
}

/// Checks that a text of the document does not refer to the environment of the kernel.
pub(super) fn authored(place: &str, text: &str) -> LaunchResult<()> {
    if text.contains("${") {
        return Err(LaunchError::Refused(format!(
            "{} refers to the environment by `${{…}}`: a document may only have `{{name}}` and `variables`",
            visible(place)
        )));
    }
    if text.contains(|c: char| c.is_control()) {
        return Err(LaunchError::malformed("text without control characters", text));
    }
    Ok(())
}

fn fits(input: &Input, answer: &str) -> Result<(), String> {
    let inner = answer.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    let reference = inner.is_some_and(|name| names::is_variable(name.trim_start_matches("secret:")));
    if input.is_secret && !reference {
        return Err("the value is a secret: answer `${secret:NAME}`, and set that secret".to_owned());
    }
    if answer.contains(|c: char| c.is_control()) {
        return Err("the answer has control characters".to_owned());
    }
    if reference {
        return Ok(());
    }
    if !input.choices.is_empty() && !input.choices.iter().any(|choice| choice == answer) {
        return Err(format!("the answer must be one of {}", input.choices.join(", ")));
    }
    match input.format.as_deref() {
        Some("number") if answer.parse::<f64>().is_err() => Err("the answer must be a number".to_owned()),
        Some("boolean") if !["true", "false"].contains(&answer) => {
            Err("the answer must be `true` or `false`".to_owned())
        }
        _ => Ok(()),
    }
}
