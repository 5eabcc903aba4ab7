//! The security declarations of tools (§4): risk, permissions, effects and validators.

use serde::{Deserialize, Serialize};

use super::{CodeSafety, Permission, RiskLevel};
use crate::macros::text_traits;
use crate::{RawJson, mcp};

/// A category of effects that a tool has beyond its answer (§4.3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SideEffect {
    /// The tool changes files.
    Filesystem,
    /// The tool sends data over the network.
    Network,
    /// The tool starts programs.
    Process,
    /// The tool changes a database.
    Database,
    /// The tool notifies somebody.
    Notification,
    /// A category that the specification does not name.
    Other(Box<str>),
}

/// A check that the kernel applies to the arguments of a call (§4.5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ValidatorName {
    /// The validator refuses dangerous shell commands.
    Sandbox,
    /// The validator refuses commands and statements that write.
    Readonly,
    /// The validator refuses addresses of the host and its network.
    NetworkRestricted,
    /// The validator holds code to the code safety framework (§7).
    CodeSafety,
    /// The server checks its arguments itself.
    None,
    /// The validator of a third party, or an unknown one.
    Custom(Box<str>),
}

macro_rules! words {
    ($type:ident or $other:ident: $($variant:ident = $word:literal,)+) => {
        impl $type {
            /// Reads the word on the wire.
            pub fn read(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::$other(other.into()),
                }
            }

            /// Returns the word that stands for the value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::$other(word) => word,
                }
            }
        }

        text_traits!($type: Display, Serialize, Deserialize(Self::read));
    };
}

words! { SideEffect or Other:
    Filesystem = "filesystem",
    Network = "network",
    Process = "process",
    Database = "database",
    Notification = "notification",
}

words! { ValidatorName or Custom:
    Sandbox = "sandbox",
    Readonly = "readonly",
    NetworkRestricted = "network_restricted",
    CodeSafety = "code_safety",
    None = "none",
}

/// The declaration of a tool's definition about its security (§4.3): the member `security` beside `name`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolSecurity {
    /// The risk of a call. A definition without it declares nothing that lowers the risk.
    #[serde(default = "unstated")]
    pub risk_level: RiskLevel,
    /// The permissions that the server needs for a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions_required: Vec<Permission>,
    /// The effects of a call beyond its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects: Vec<SideEffect>,
    /// The validator that the kernel applies to the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validator: Option<ValidatorName>,
    /// True if the effects can be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversible: Option<bool>,
    /// True if a human confirms each call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_required: Option<bool>,
    /// The restrictions on code arguments (§7.3); the checkers of code read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_safety: Option<RawJson>,
    /// The arguments that name what a call acts on beyond the tool, such as an instance of another kernel: they are
    /// recorded in the target of the call. The specification does not have this member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_arguments: Vec<Box<str>>,
}

impl ToolSecurity {
    /// The member of a definition that holds the declaration.
    pub const MEMBER: &'static str = "security";

    /// Returns the security declaration of a tool's definition; `None` if the definition has none.
    ///
    /// # Errors
    /// The declaration has another shape. A decision then takes the tool for a dangerous one.
    pub fn of(tool: &mcp::Tool) -> Result<Option<Self>, serde_json::Error> {
        tool.extra.read(Self::MEMBER)
    }

    /// Creates the declaration of a tool of this risk.
    pub const fn new(risk_level: RiskLevel) -> Self {
        Self {
            risk_level,
            permissions_required: Vec::new(),
            side_effects: Vec::new(),
            validator: None,
            reversible: None,
            confirmation_required: None,
            code_safety: None,
            target_arguments: Vec::new(),
        }
    }

    /// Sets the permissions that a call needs.
    pub fn with_permissions(mut self, permissions: impl IntoIterator<Item = Permission>) -> Self {
        self.permissions_required.extend(permissions);
        self
    }

    /// Sets the effects of a call beyond its answer.
    pub fn with_side_effects(mut self, effects: impl IntoIterator<Item = SideEffect>) -> Self {
        self.side_effects.extend(effects);
        self
    }

    /// Sets the validator that the kernel applies to the arguments.
    pub fn with_validator(mut self, validator: ValidatorName) -> Self {
        self.validator = Some(validator);
        self
    }

    /// Sets whether the effects can be undone.
    pub const fn with_reversible(mut self, reversible: bool) -> Self {
        self.reversible = Some(reversible);
        self
    }

    /// Sets whether a human confirms each call.
    pub const fn with_confirmation_required(mut self, required: bool) -> Self {
        self.confirmation_required = Some(required);
        self
    }

    /// Sets the arguments that name what a call acts on beyond the tool.
    pub fn with_target_arguments(mut self, names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        self.target_arguments.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the restrictions on code arguments.
    pub fn with_code_safety(mut self, declaration: &CodeSafety) -> Self {
        self.code_safety = RawJson::from_value(declaration).ok();
        self
    }
}

const fn unstated() -> RiskLevel {
    RiskLevel::Dangerous
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_of_the_specification_are_read_and_written() {
        let json = concat!(
            r#"{"risk_level":"dangerous","permissions_required":["shell.execute"],"#,
            r#""side_effects":["filesystem","process"],"validator":"sandbox","#,
            r#""reversible":false,"confirmation_required":true}"#
        );
        let security = ToolSecurity::new(RiskLevel::Dangerous)
            .with_permissions([Permission::ShellExecute])
            .with_side_effects([SideEffect::Filesystem, SideEffect::Process])
            .with_validator(ValidatorName::Sandbox)
            .with_reversible(false)
            .with_confirmation_required(true);
        assert_eq!(serde_json::to_string(&security).unwrap(), json);
        assert_eq!(serde_json::from_str::<ToolSecurity>(json).unwrap(), security);
        for word in ["filesystem", "network", "process", "database", "notification"] {
            assert!(!matches!(SideEffect::read(word), SideEffect::Other(_)), "{word}");
        }
        for word in ["sandbox", "readonly", "network_restricted", "code_safety", "none"] {
            assert!(!matches!(ValidatorName::read(word), ValidatorName::Custom(_)), "{word}");
        }
    }

    #[test]
    fn a_definition_that_leaves_out_the_risk_is_not_safe() {
        let security: ToolSecurity = serde_json::from_str("{}").unwrap();
        assert_eq!(security.risk_level, RiskLevel::Dangerous);
    }
}
