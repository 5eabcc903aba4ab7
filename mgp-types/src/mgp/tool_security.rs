//! The security of tools (§4): its declaration, the risk and the effect of a call, and all declarations combined in the tool
//! that a request is for.

use std::sync::Arc;

use super::{CodeSafety, Permission, ServerId, ToolName};
use crate::macros::record;
use crate::macros::words::{levels, open_words, words};
use crate::{Object, RawJson, mcp};

levels! {
    /// The risk of calling a tool (§4.4), in the order of the danger.
    ///
    /// ```
    /// use mgp_types::mgp::RiskLevel;
    ///
    /// assert_eq!(RiskLevel::Safe.max(RiskLevel::read("unheard of")), RiskLevel::Dangerous);
    /// ```
    #[derive(Default)]
    RiskLevel else Dangerous {
        /// The tool only reads: no confirmation.
        Safe = "safe",
        /// The tool writes data, within limits: confirmation is optional.
        Moderate = "moderate",
        /// The tool changes the system or cannot be undone: explicit confirmation or permission. A guess must not lower
        /// the risk, so an unknown word means this, too.
        #[default]
        Dangerous = "dangerous",
    }
}

words! {
    /// The effect of a call on the world, as its tool and its arguments tell; the worse one is greater.
    #[derive(Default)]
    CallEffect {
        /// The call changes nothing.
        #[default]
        Reads = "reads",
        /// The call makes something new, or changes something in a way that can be taken back.
        Writes = "writes",
        /// The call writes a file that something runs, or an agent follows, later.
        RunsLater = "runs_later",
        /// Nothing that is known says what the call does.
        Unknown = "unknown",
        /// The call runs code, a command or a program.
        Runs = "runs",
        /// The call runs code, or a command that nobody knows.
        RunsUnknown = "runs_unknown",
        /// The call sends or publishes something to others.
        Sends = "sends",
        /// The call destroys or overwrites something.
        Destroys = "destroys",
        /// The call spends money, or orders something.
        Spends = "spends",
        /// The call gives somebody power or access, or reveals what gives it.
        GivesAccess = "gives_access",
    }
}

impl CallEffect {
    /// Returns the words that say to a person what the call does.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Reads => "changes nothing",
            Self::Writes => "changes something",
            Self::RunsLater => "writes what is run or followed later",
            Self::Unknown => "has an unknown effect",
            Self::Runs => "runs code or a command",
            Self::RunsUnknown => "runs code or a command that mgp does not know",
            Self::Sends => "sends or publishes something",
            Self::Destroys => "destroys or overwrites something",
            Self::Spends => "spends money or orders something",
            Self::GivesAccess => "gives or reveals access",
        }
    }

    /// Returns the least risk of such a call.
    pub const fn risk(self) -> RiskLevel {
        match self {
            Self::Reads | Self::Writes | Self::RunsLater | Self::Unknown => RiskLevel::Safe,
            Self::Sends => RiskLevel::Moderate,
            Self::Runs | Self::RunsUnknown | Self::Destroys | Self::Spends | Self::GivesAccess => {
                RiskLevel::Dangerous
            }
        }
    }

    /// Returns whether each such call is a matter of its own, so that a permission of its server does not cover it.
    pub const fn is_grave(self) -> bool {
        matches!(self, Self::RunsUnknown | Self::Sends | Self::Destroys | Self::Spends | Self::GivesAccess)
    }
}

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

/// The security of a tool, combined from all declarations about it: the strictest value of each.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EffectiveSecurity {
    /// The risk of a call.
    pub risk: RiskLevel,
    /// The risk of a call whose statements for a database only read.
    pub risk_of_reading: RiskLevel,
    /// The effect of a call as far as the definition tells; `None` if the declaration of a trusted server is believed.
    pub effect: Option<CallEffect>,
    /// The permissions that the server needs for a call.
    pub permissions: Vec<Permission>,
    /// The permissions among them that were only guessed, for a server that nobody distrusts.
    pub guessed_permissions: Vec<Permission>,
    /// The effects of a call beyond its answer.
    pub side_effects: Vec<SideEffect>,
    /// The validators of the arguments; each of them has to agree.
    pub validators: Vec<ValidatorName>,
    /// True if a human confirms each call.
    pub confirmation: bool,
    /// True if the effects can be undone; `None` if no declaration says so.
    pub reversible: Option<bool>,
    /// The declared restrictions on code arguments (§7.3): of the server, of the configuration.
    pub code_safety: Vec<RawJson>,
    /// The arguments that name what a call acts on beyond the tool; the server declares them.
    pub target_arguments: Vec<Box<str>>,
    /// True if the values were derived from a definition without a security declaration (§8.2).
    pub derived: bool,
}

impl EffectiveSecurity {
    /// Creates the security of a tool of this risk, without further facts.
    pub fn new(risk: RiskLevel) -> Self {
        Self { risk, risk_of_reading: risk, ..Self::default() }
    }
}

/// The tool that a request is for. The layer that knows the catalog writes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResolvedTool {
    /// The server that has the tool.
    pub server: ServerId,
    /// The name of the tool at its server.
    pub name: ToolName,
    /// The definition of the tool, as the server gave it.
    pub definition: Object,
    /// The combined security of the tool.
    pub security: EffectiveSecurity,
}

impl ResolvedTool {
    /// Creates the tool `name` of `server`.
    pub fn new(
        server: ServerId,
        name: ToolName,
        definition: Object,
        security: EffectiveSecurity,
    ) -> Arc<Self> {
        Arc::new(Self { server, name, definition, security })
    }

    /// Returns the name as a JSON string, without a copy where the definition has it as it is.
    pub fn written_name(&self) -> RawJson {
        let is_it = |written: &RawJson| {
            written.as_bytes().strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""))
                == Some(self.name.as_str().as_bytes())
        };
        let written = self.definition.get("name").filter(is_it);
        written.unwrap_or_else(|| RawJson::from_text(self.name.as_str()))
    }
}

/// A request that calls no tool, in the form that gates judge: the call of a tool that is named after the method.
///
/// Reading `file:///notes` is judged as `resources/read` with the argument `path`, so that one set of rules holds for
/// tools, resources, prompts, completions and methods of vendors. The layer that resolves requests writes the
/// operation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// The method in the form of a tool, with the combined security of the request.
    pub tool: Arc<ResolvedTool>,
    /// The arguments that gates judge: decoded, and under descriptive names.
    pub arguments: RawJson,
}

impl Operation {
    /// Creates an operation that is judged as the call of `tool` with `arguments`.
    pub fn new(tool: Arc<ResolvedTool>, arguments: RawJson) -> Arc<Self> {
        Arc::new(Self { tool, arguments })
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

    #[test]
    fn an_effect_is_read_by_its_word_and_a_later_word_is_worse() {
        let words = [
            "reads", "writes", "runs_later", "unknown", "runs", "runs_unknown", "sends", "destroys",
            "spends", "gives_access",
        ];
        let effects = words.map(|word| {
            let effect: CallEffect = serde_json::from_str(&format!("{word:?}")).unwrap();
            assert_eq!(effect.as_str(), word);
            effect
        });
        assert_eq!(effects, CallEffect::ALL);
        assert!(effects.is_sorted() && effects[9] == CallEffect::GivesAccess, "{effects:?}");
    }
}
