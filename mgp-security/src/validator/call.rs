use std::borrow::Cow;

use mgp_types::mgp::{ResolvedTool, ValidatorName};
use mgp_types::{Object, RawJson};

use super::standard::PathsValidator;
use super::text::{self, StringPart};
use crate::Finding;
use crate::tool::{ArgumentNature, ArgumentNatures};

/// One call, as validators see it: the tool, and every string among the arguments.
#[derive(Debug)]
#[non_exhaustive]
pub struct ValidatedCall<'a> {
    /// The tool.
    pub tool: &'a ResolvedTool,
    /// The strings of the arguments at any depth, in order; names of members are not among them.
    pub arguments: Vec<CallArgument>,
    /// What the arguments are.
    pub natures: &'a ArgumentNatures,
}

/// One string among the arguments of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallArgument {
    /// Where it stands, as a JSON pointer.
    pub pointer: String,
    /// The innermost member it is or stands in.
    pub name: Box<str>,
    /// What it is.
    pub nature: ArgumentNature,
    /// The text, as the server will read it.
    pub text: String,
    /// The text after NFKC, if that is another one.
    folded: Option<String>,
}

impl<'a> ValidatedCall<'a> {
    /// Reads the arguments of a call of `tool`.
    ///
    /// # Errors
    /// A text among them hides something: invisible, bidirectional or tag characters.
    pub fn read(
        tool: &'a ResolvedTool,
        natures: &'a ArgumentNatures,
        arguments: &RawJson,
    ) -> Result<Self, Located> {
        let mut read = Vec::new();
        let mut hidden = None;
        // Where nothing but paths is judged, what people write to each other may look as it likes.
        let only_paths = tool.security.validators.iter().all(|validator| {
            matches!(validator, ValidatorName::None) || validator.to_string() == PathsValidator::NAME
        });
        let walked = text::walk(arguments, &mut |place, text| {
            let name = place.member.unwrap_or_default();
            let passes =
                only_paths && place.part == StringPart::Value && natures.nature(name) == ArgumentNature::Text;
            if !passes {
                text::check(text).inspect_err(|_| hidden = Some(place.pointer.to_owned()))?;
            }
            if place.part == StringPart::Value {
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
            Ok(()) => Ok(Self { tool, arguments: read, natures }),
            Err(finding) => Err(Located { finding, pointer: hidden }),
        }
    }

    /// The arguments of one nature.
    pub fn of(&self, nature: ArgumentNature) -> impl Iterator<Item = &CallArgument> {
        self.arguments.iter().filter(move |argument| argument.nature == nature)
    }

    /// The definition of the tool.
    pub fn definition(&self) -> &Object {
        &self.tool.definition
    }
}

impl CallArgument {
    /// Every reading of the text: as it stands, and folded.
    ///
    /// What is forwarded are the bytes as they came, but whoever gets them may fold them, so both have to pass.
    pub fn readings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.text).chain(self.folded.as_deref())
    }

    /// Checks every reading of the text.
    ///
    /// # Errors
    /// What `check` found, with the place.
    pub fn check(&self, mut check: impl FnMut(&str) -> Result<(), Finding>) -> Result<(), Located> {
        self.readings().try_for_each(&mut check).map_err(|finding| self.locate(finding))
    }

    /// A finding in this argument.
    pub fn locate(&self, finding: Finding) -> Located {
        Located { finding, pointer: Some(self.pointer.clone()) }
    }

    /// The place of the object or array it stands in, if it is an element of an array.
    pub(super) fn array(&self) -> Option<&str> {
        let (parent, last) = self.pointer.rsplit_once('/')?;
        last.bytes().all(|byte| byte.is_ascii_digit()).then_some(parent)
    }
}

/// A finding, and where among the arguments it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Located {
    /// The finding.
    pub finding: Finding,
    /// The JSON pointer of the argument; `None` if it is the call as a whole.
    pub pointer: Option<String>,
}

impl From<Finding> for Located {
    fn from(finding: Finding) -> Self {
        Self { finding, pointer: None }
    }
}
