//! Texts with references to variables and secrets.

use crate::names::{self, ReferenceKind};
use crate::secrets::{Environment, Secret, SecretName};

/// A text that may refer to variables and secrets: `${NAME}`, `${env:NAME}`, `${NAME:-otherwise}` with a default for a
/// variable that is not set or empty, and `${secret:NAME}`.
///
/// Any other text stands for itself, `$HOME` and `pa$$word` too. Right before a brace, two dollars stand for one that
/// begins no reference: `$${NAME}` is the text `${NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template<'a>(Vec<Part<'a>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Reference(Reference<'a>),
}

/// A reference of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) held_in: ReferenceKind,
    pub(crate) name: &'a str,
    /// The text for which a variable stands that is not set or empty.
    pub(crate) otherwise: Option<&'a str>,
}

/// A malformed reference. Its text may be part of a secret, so the message does not repeat it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this reference names no variable and no secret; write `${{NAME}}`, `${{NAME:-otherwise}}`, `${{secret:NAME}}`, or \
     `$${{` for the text `${{`"
)]
#[non_exhaustive]
pub(super) struct InvalidReference;

impl<'a> Template<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, InvalidReference> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(brace) = rest.find("${") {
            let dollars = rest[..=brace].bytes().rev().take_while(|byte| *byte == b'$').count();
            let before = brace + 1 - dollars;
            // Two dollars stand for one.
            parts.push(Part::Text(&rest[..before + dollars / 2]));
            rest = &rest[brace + 1..];
            if dollars % 2 == 0 {
                parts.push(Part::Text(&rest[..1]));
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.find('}') else { return Err(InvalidReference) };
            parts.push(Part::Reference(Reference::read(&rest[1..end]).ok_or(InvalidReference)?));
            rest = &rest[end + 1..];
        }
        parts.push(Part::Text(rest));
        Ok(Self(parts))
    }

    /// Returns the text with its references resolved, or the reason why one has no value, with the way to mend it behind
    /// a semicolon.
    pub(super) fn resolve(&self, environment: &dyn Environment) -> Result<Secret, String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Reference(Reference { held_in: ReferenceKind::Environment, name, otherwise }) => {
                    let set = environment.variable(name);
                    let set = set.filter(|value| otherwise.is_none() || !value.is_empty());
                    let value = set.or_else(|| otherwise.map(str::to_owned)).ok_or_else(|| {
                        format!(
                            "the variable {name} is not set; set {name}, or write `${{{name}:-otherwise}}`"
                        )
                    })?;
                    text.push_str(&value);
                }
                Part::Reference(Reference { held_in: ReferenceKind::Store, name, .. }) => {
                    let secret = environment.secret(name).map_err(|error| error.to_string())?;
                    let unset = || format!("the secret {name} is not set; run `mgp secrets set {name}`");
                    text.push_str(secret.ok_or_else(unset)?.expose());
                }
            }
        }
        Ok(text.into())
    }

    /// Returns whether the text has no references.
    pub(super) fn is_literal(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// Returns the names of the secrets in the text.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(|part| match part {
            Part::Reference(Reference { held_in: ReferenceKind::Store, name, .. }) => Some(*name),
            _ => None,
        })
    }
}

/// Returns whether a text refers to a secret of the user.
pub(crate) fn refers_to_secret(text: &str) -> bool {
    Template::parse(text).is_ok_and(|template| template.secrets().next().is_some())
}

/// Returns a spelling of a foreign text in which it refers to no variable.
pub fn literal(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(brace) = rest.find("${") {
        let dollars = rest[..=brace].bytes().rev().take_while(|byte| *byte == b'$').count();
        spelled.push_str(&rest[..=brace]);
        spelled.extend(std::iter::repeat_n('$', dollars));
        rest = &rest[brace + 1..];
    }
    spelled.push_str(rest);
    spelled
}

/// Returns the value of a text without references, the reverse of [`literal`]; any other text unchanged.
pub(crate) fn unspelled(text: &str) -> String {
    let Ok(Template(parts)) = Template::parse(text) else { return text.to_owned() };
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => Some(*text),
        Part::Reference(_) => None,
    });
    texts.collect::<Option<String>>().unwrap_or_else(|| text.to_owned())
}

impl<'a> Reference<'a> {
    /// Reads what stands within the braces of a reference.
    pub(crate) fn read(inside: &'a str) -> Option<Self> {
        if let Some(name) = inside.strip_prefix("secret:") {
            let secret = Self { held_in: ReferenceKind::Store, name, otherwise: None };
            return SecretName::is_name(name).then_some(secret);
        }
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let split = inside.split_once(":-");
        let (name, otherwise) = split.map_or((inside, None), |(name, otherwise)| (name, Some(otherwise)));
        // The brace that would end an inner reference has ended the outer one.
        let is_nested = otherwise.is_some_and(|text| text.contains("${"));
        let variable = Self { held_in: ReferenceKind::Environment, name, otherwise };
        (names::is_variable(name) && !is_nested).then_some(variable)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::secrets::SecretStoreError;

    fn resolved(text: &str) -> Result<String, String> {
        struct Known;

        impl Environment for Known {
            fn variable(&self, name: &str) -> Option<String> {
                match name {
                    "KEY" => Some("k".to_owned()),
                    "EMPTY" => Some(String::new()),
                    _ => None,
                }
            }

            fn secret(&self, name: &str) -> Result<Option<Secret>, SecretStoreError> {
                Ok((name == "hub.KEY-1").then(|| "s${KEY}".to_owned().into()))
            }
        }

        let environment = Known;
        let template = Template::parse(text).map_err(|error| error.to_string())?;
        template.resolve(&environment).map(|secret| secret.expose().to_owned())
    }

    // covers: MGP-15.2-14
    #[test]
    fn references_are_replaced_and_other_texts_are_left_alone() {
        for (text, value) in [
            ("Bearer ${KEY}", "Bearer k"),
            ("${env:KEY}${KEY}", "kk"),
            ("${NONE:-otherwise}", "otherwise"),
            ("${EMPTY:-otherwise}", "otherwise"),
            ("${KEY:-otherwise}", "k"),
            ("${EMPTY}", ""),
            ("${NONE:-}", ""),
            ("$KEY pa$$word {} $", "$KEY pa$$word {} $"),
            ("Bearer ${secret:hub.KEY-1}", "Bearer s${KEY}"),
            ("$${secret:hub.KEY-1}", "${secret:hub.KEY-1}"),
            ("$${KEY}", "${KEY}"),
            ("$$${KEY}", "$k"),
            ("$$$${KEY}", "$${KEY}"),
            ("ä$${ö${KEY}ü", "ä${ökü"),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(value), "{text}");
        }
    }

    // covers: MGP-15.2-14
    #[test]
    fn a_variable_that_is_not_set_is_named_and_never_empty() {
        assert!(resolved("${KEY}${NONE}").unwrap_err().starts_with("the variable NONE is not set; "));
        assert!(resolved("${KEY}${secret:KEY}").unwrap_err().starts_with("the secret KEY is not set; "));
    }

    #[test]
    fn what_refers_to_nothing_says_what_to_write() {
        for text in [
            "${", "${}", "${a-b}", "${1}", "${input:x}", "${KEY", "${NONE:-${KEY}}", "${KEY:+x}",
            "${secret:}", "${secret:a b}", "${secret:KEY:-x}",
        ] {
            assert!(resolved(text).unwrap_err().contains("write `${NAME}`"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r"[$\{\}A:\-ä]{0,12}") {
            let _ = resolved(&text);
        }

        #[test]
        fn a_literal_stands_for_the_text_it_was_made_from(text in r"[$\{\}KEY ä]{0,12}") {
            prop_assert_eq!(&unspelled(&literal(&text)), &text);
            prop_assert_eq!(resolved(&literal(&text)), Ok(text));
        }

        #[test]
        fn texts_without_a_dollar_and_brace_stand_for_themselves(text in r"[$A\}: ä]{0,12}") {
            prop_assert_eq!(resolved(&text), Ok(text));
        }
    }
}
