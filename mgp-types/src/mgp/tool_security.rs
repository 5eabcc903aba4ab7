//! The security declarations of tools (§4): risk, permissions, effects and validators.

use super::{CodeSafety, Permission, RiskLevel};
use crate::macros::record;
use crate::macros::words::open_words;
use crate::{RawJson, mcp};

open_words! {
    /// A category of effects that a tool has beyond its answer (§4.3).
    #[derive(PartialOrd, Ord)]
    pub enum SideEffect or Other {
        /// The tool changes files.
        Filesystem = "filesystem",
        /// The tool sends data over the network.
        Network = "network",
        /// The tool starts programs.
        Process = "process",
        /// The tool changes a database.
        Database = "database",
        /// The tool notifies somebody.
        Notification = "notification",
    }
}

open_words! {
    /// A check that the kernel applies to the arguments of a call (§4.5).
    #[derive(PartialOrd, Ord)]
    pub enum ValidatorName or Custom {
        /// The validator refuses dangerous shell commands.
        Sandbox = "sandbox",
        /// The validator refuses commands and statements that write.
        Readonly = "readonly",
        /// The validator refuses addresses of the host and its network.
        NetworkRestricted = "network_restricted",
        /// The validator holds code to the code safety framework (§7).
        CodeSafety = "code_safety",
        /// The server checks its arguments itself.
        None = "none",
    }
}

record! {
    /// The declaration of a tool's definition about its security (§4.3): the member `security` beside `name`.
    pub struct ToolSecurity {
        /// The risk of a call. A definition without it declares nothing that lowers the risk.
        #[serde(default)]
        required risk_level: RiskLevel;
        /// The permissions that the server needs for a call.
        list permissions_required: Permission;
        /// The effects of a call beyond its answer.
        list side_effects: SideEffect;
        /// The validator that the kernel applies to the arguments.
        optional validator: ValidatorName => with_validator;
        /// True if the effects can be undone.
        optional reversible: bool => with_reversible;
        /// True if a human confirms each call.
        optional confirmation_required: bool => with_confirmation_required;
        /// The restrictions on code arguments (§7.3); the checkers of code read them.
        optional code_safety: RawJson;
        /// The arguments that name what a call acts on beyond the tool, such as an instance of another kernel: they are
        /// recorded in the target of the call. The specification does not have this member.
        list target_arguments: Box<str>;
    }
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

    crate::setters! { self =>
        /// Sets the permissions that a call needs.
        pub fn with_permissions(permissions: impl IntoIterator<Item = Permission>) =>
            self.permissions_required.extend(permissions);

        /// Sets the effects of a call beyond its answer.
        pub fn with_side_effects(effects: impl IntoIterator<Item = SideEffect>) =>
            self.side_effects.extend(effects);

        /// Sets the arguments that name what a call acts on beyond the tool.
        pub fn with_target_arguments(names: impl IntoIterator<Item = impl Into<Box<str>>>) =>
            self.target_arguments.extend(names.into_iter().map(Into::into));

        /// Sets the restrictions on code arguments.
        pub fn with_code_safety(declaration: &CodeSafety) =>
            self.code_safety = RawJson::from_value(declaration).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_specification_are_known() {
        for word in ["filesystem", "network", "process", "database", "notification"] {
            assert!(!matches!(SideEffect::read(word), SideEffect::Other(_)), "{word}");
        }
        for word in ["sandbox", "readonly", "network_restricted", "code_safety", "none"] {
            assert!(!matches!(ValidatorName::read(word), ValidatorName::Custom(_)), "{word}");
        }
    }
}
