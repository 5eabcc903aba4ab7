//! Validators, the view that they have of a call, and the reasons for which they block it.

use std::borrow::Cow;
use std::fmt;

use mgp_types::mgp::{CodeRejection, ResolvedTool, ValidatorName};
use serde_json::Value;

use super::standard::{AddressesValidator, PathsValidator};
use crate::path::{CallFolders, PathAccess};
use crate::text;
use crate::tool::{ArgumentNature, ArgumentNatures};
use crate::{Finding, SchemaViolation};

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
            let passes = is_plain && !place.is_name && natures.nature(name) == ArgumentNature::Text;
            if !passes {
                text::check(text).inspect_err(|_| hidden = Some(place.pointer.to_owned()))?;
            }
            if !place.is_name {
                let folded = match text::fold(text) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(folded) => Some(folded),
                };
                read.push(CallArgument {
                    pointer: place.pointer.to_owned(),
                    name: name.into(),
                    nature: natures.nature(name),
                    text: text.to_owned(),
                    folded,
                });
            }
            Ok(())
        });
        match walked {
            Ok(()) => Ok(Self { tool, arguments: read, natures, access, folders }),
            Err(finding) => Err(Located { finding, pointer: hidden }),
        }
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

impl From<Finding> for Located {
    fn from(finding: Finding) -> Self {
        Self { finding, pointer: None }
    }
}
