//! Validators, the view that they have of a call, and the reasons for which they block it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use mgp_types::mgp::{CodeRejection, ResolvedTool, ValidatorName};
use mgp_types::{RawJson, folded};
use serde_json::Value;

use super::standard::{AddressesValidator, PathsValidator};
use crate::path::{CallFolders, PathAccess};
use crate::tool::{ArgumentNature, ArgumentNatures};
use crate::{Finding, SchemaViolation, text};

/// A check of the arguments of a call, applied before the call is forwarded (MGP §4.5).
///
/// Third parties add their own validators under a name in reverse-domain notation.
///
/// ```
/// use mgp_security::Finding;
/// use mgp_security::validator::{BlockedCall, ValidatedCall, Validator};
/// use mgp_types::mgp::ValidatorName;
///
/// #[derive(Debug)]
/// struct NoDrafts(ValidatorName);
///
/// impl Validator for NoDrafts {
///     fn name(&self) -> &ValidatorName {
///         &self.0
///     }
///
///     fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
///         for argument in &call.arguments {
///             argument.check(|text| match text.starts_with("DRAFT") {
///                 true => Err(Finding::new("draft", "finish the text first")),
///                 false => Ok(()),
///             })?;
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Validator: fmt::Debug + Send + Sync + 'static {
    /// Returns the name by which tools require the validator.
    fn name(&self) -> &ValidatorName;

    /// Checks a call. The check must not wait for anything.
    ///
    /// # Errors
    /// Returns the reason why the call must not be forwarded.
    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall>;

    /// Returns whether a person is to be asked before a call that passed is forwarded.
    fn asks_about(&self, _call: &ValidatedCall<'_>) -> bool {
        false
    }
}

/// The reason why a call is not forwarded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BlockedCall {
    /// The arguments do not fit the schema of the tool.
    Schema(SchemaViolation),
    /// An argument has a value that the validator forbids.
    Argument(Located),
    /// The code among the arguments does something that its declared level forbids (§7.4).
    Code(Box<CodeRejection>),
}

impl<T: Into<Located>> From<T> for BlockedCall {
    fn from(located: T) -> Self {
        Self::Argument(located.into())
    }
}

/// One call, as validators see it: the tool, and every string among the arguments.
#[derive(Debug)]
#[non_exhaustive]
pub struct ValidatedCall<'a> {
    /// The tool that is called.
    pub tool: &'a ResolvedTool,
    /// The strings among the arguments at any depth, in order. Names of members are not among them.
    pub arguments: Vec<CallArgument>,
    /// The natures of the arguments, such as path, URL or command, by name.
    pub natures: &'a ArgumentNatures,
    /// The use that the tool makes of files.
    pub(super) access: PathAccess,
    /// The folders of the client that calls.
    pub(super) folders: CallFolders<'a>,
}

/// One string among the arguments of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallArgument {
    /// The JSON pointer to the string within the arguments.
    pub pointer: String,
    /// The name of the innermost member that the string is the value of, or stands in.
    pub name: Box<str>,
    /// The nature of the argument, such as path, URL or command.
    pub nature: ArgumentNature,
    /// The text as the server will read it.
    pub text: String,
    /// The text after NFKC normalization, if that differs from the text.
    folded: Option<String>,
}

impl<'a> ValidatedCall<'a> {
    /// Reads the arguments of a call to `tool`, which does `access` with files.
    ///
    /// # Errors
    /// Fails if a string hides something: invisible, bidirectional or tag characters.
    pub(super) fn read(
        tool: &'a ResolvedTool,
        natures: &'a ArgumentNatures,
        access: PathAccess,
        folders: CallFolders<'a>,
        arguments: &Value,
    ) -> Result<Self, Located> {
        let mut read = Vec::new();
        let mut hidden = None;
        // If no validator applies but those that every tool has, plain text between people may contain any characters.
        let of_every_tool = [ValidatorName::None.as_str(), PathsValidator::NAME, AddressesValidator::NAME];
        let is_plain = tool.security.validators.iter().all(|name| of_every_tool.contains(&name.as_str()));
        let walked = text::walk(arguments, &mut |place, text| {
            let name = place.member.unwrap_or_default();
            let nature = (!place.is_name).then(|| natures.nature(name));
            let passes = is_plain && nature == Some(ArgumentNature::Text);
            if !passes {
                text::check(text).inspect_err(|_| hidden = Some(place.pointer.to_owned()))?;
            }
            if let Some(nature) = nature {
                let folded = if let Cow::Owned(folded) = text::fold(text) { Some(folded) } else { None };
                read.push(CallArgument {
                    pointer: place.pointer.to_owned(),
                    name: name.into(),
                    nature,
                    text: text.to_owned(),
                    folded,
                });
            }
            Ok(())
        });
        walked.map_err(|finding| Located { finding, pointer: hidden })?;
        Ok(Self { tool, arguments: read, natures, access, folders })
    }

    /// Returns the arguments with this nature.
    pub fn of(&self, nature: ArgumentNature) -> impl Iterator<Item = &CallArgument> {
        self.arguments.iter().filter(move |argument| argument.nature == nature)
    }
}

impl CallArgument {
    /// Returns every reading of the text: the text as it stands, and the folded one.
    ///
    /// The text is forwarded byte for byte as it came, but the server may fold it, so both readings have to pass.
    pub fn readings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.text).chain(self.folded.as_deref())
    }

    /// Checks every reading of the text.
    ///
    /// # Errors
    /// Fails with the first finding of `check`, located at this argument.
    pub fn check(&self, mut check: impl FnMut(&str) -> Result<(), Finding>) -> Result<(), Located> {
        self.readings().try_for_each(&mut check).map_err(|finding| self.locate(finding))
    }

    /// Returns `finding` with the place of this argument.
    pub fn locate(&self, finding: Finding) -> Located {
        Located { finding, pointer: Some(self.pointer.clone()) }
    }

    /// Returns the pointer to the array that the argument is an element of; `None` if it is no element of an array.
    pub(super) fn array(&self) -> Option<&str> {
        let (parent, last) = self.pointer.rsplit_once('/')?;
        last.bytes().all(|byte| byte.is_ascii_digit()).then_some(parent)
    }
}

/// A finding and its place among the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Located {
    /// The finding.
    pub finding: Finding,
    /// The JSON pointer to the argument; `None` if the finding is about the call as a whole.
    pub pointer: Option<String>,
}

mgp_types::convert!(Finding => Located, finding => Self { finding, pointer: None });

/// The argument names in the schema of a tool, level by level.
///
/// Validators judge an argument such as `path` by its name, but a server that ignores the case of names accepts `Path`
/// for it as well. An argument that is not in the schema but reads like a name in it is therefore refused. Arguments
/// that read like no name in the schema are left to the tool.
#[derive(Debug, Default)]
pub(super) struct ArgumentNames {
    members: HashMap<Box<str>, Self, foldhash::fast::RandomState>,
    /// The argument names in folded form, in which a lenient server compares them, each with its proper spelling.
    read: HashMap<Box<str>, Box<str>, foldhash::fast::RandomState>,
    /// The names in the elements of a list.
    items: Option<Box<Self>>,
}

impl ArgumentNames {
    /// Returns the argument names in `schema`.
    pub(super) fn of(schema: &RawJson) -> Self {
        schema.to::<Value>().map(|schema| Self::in_schema(&schema)).unwrap_or_default()
    }

    fn in_schema(schema: &Value) -> Self {
        let mut names = Self::default();
        for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            names.read.insert(folded(name).into(), name.as_str().into());
            names.members.insert(name.as_str().into(), Self::in_schema(schema));
        }
        let items = schema.get("items").map(Self::in_schema);
        names.items = items.filter(|items| !items.is_empty()).map(Box::new);
        names
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.items.is_none()
    }

    /// Checks that no argument in `value`, at any level, has a name that reads like one in the schema but is spelled
    /// differently; `above` is the pointer to the value.
    pub(super) fn check(&self, value: &Value, above: &str) -> Result<(), Located> {
        match (value, &self.items) {
            (Value::Object(object), _) if !self.members.is_empty() => {
                object.iter().try_for_each(|(name, value)| match self.members.get(&**name) {
                    Some(inner) if inner.is_empty() => Ok(()),
                    Some(inner) => inner.check(value, &format!("{above}/{name}")),
                    None => self.check_unknown(name, above),
                })
            }
            (Value::Array(elements), Some(items)) => {
                let mut elements = elements.iter().enumerate();
                elements.try_for_each(|(index, element)| items.check(element, &format!("{above}/{index}")))
            }
            _ => Ok(()),
        }
    }

    fn check_unknown(&self, name: &str, above: &str) -> Result<(), Located> {
        let Some(proper) = self.read.get(&*folded(name)) else { return Ok(()) };
        let message = format!("the tool spells it `{proper}`, and its server may take one for the other");
        let pointer = format!("{above}/{}", name.escape_debug());
        Err(Located { finding: Finding::new("misspelled-argument", message), pointer: Some(pointer) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_spelling_of_an_argument_is_refused_at_every_level() {
        let schema = r#"{"properties":{
            "path":{"type":"string"}, "ID":{}, "id":{},
            "to":{"type":"array","items":{"properties":{"host":{}}}}, "options":{"properties":{"force":{}}}
        }}"#;
        let names = ArgumentNames::of(&RawJson::parse(schema).unwrap());
        let check = |arguments: &str| names.check(&serde_json::from_str(arguments).unwrap(), "");
        for arguments in [
            r#"{"path":"a","Path":"b"}"#,
            r#"{"PATH":"b"}"#,
            r#"{"path ":"b"}"#,
            r#"{"p\u0041th":"b"}"#,
            r#"{"ｐath":"b"}"#,
            r#"{"Id":1}"#,
            r#"{"options":{"Force":true}}"#,
            r#"{"to":[{"host":"a"},{"Host":"b"}]}"#,
        ] {
            let refused = check(arguments).expect_err(arguments);
            assert_eq!(refused.finding.rule, "misspelled-argument", "{arguments}");
        }
        for arguments in [
            r#"{"path":"a","ID":1,"id":2}"#,
            r#"{"other":1,"Other":2,"paths":[]}"#,
            r#"{"path":{"Path":1},"options":{"Path":1},"to":[]}"#,
            "{}",
            "[]",
        ] {
            assert!(check(arguments).is_ok(), "{arguments}");
        }
    }
}
