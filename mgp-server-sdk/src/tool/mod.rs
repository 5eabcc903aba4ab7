//! Tools: async functions that a server runs for its clients.

pub(crate) mod arguments;
mod as_task;
mod entry;
#[cfg(feature = "ext")]
mod extended;
#[cfg(feature = "ext")]
mod guard;
mod result;

use mgp_types::RawJson;
use mgp_types::mcp::{self, Icon, Meta, ToolAnnotations};
use mgp_types::mgp::ToolSecurity;

pub(crate) use self::as_task::start_task;
pub use self::entry::ToolHandler;
pub(crate) use self::entry::{CallInput, ToolEntry, ToolFuture, form};
#[cfg(feature = "ext")]
use self::extended::ToolExtensions;
pub(crate) use self::result::turn_into;
pub use self::result::{IntoToolResult, Json, ToolError, ToolResult};

/// The description of a tool; [`Server::tool`](crate::Server::tool) adds the function that it runs.
#[derive(Debug, Clone)]
#[must_use = "a tool does nothing until it is registered"]
pub struct Tool {
    wire: mcp::Tool,
    /// The security declaration (MGP §4.2), as lists hold it.
    security: Option<RawJson>,
    has_schema: bool,
    validated: bool,
    inline: bool,
    mode: TaskMode,
    #[cfg(feature = "ext")]
    extensions: ToolExtensions,
}

/// The decision whether calls of a tool run as tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TaskMode {
    /// Calls never run as tasks.
    #[default]
    Never,
    /// Calls run as tasks for clients that can handle tasks (2026-07-28) or ask for one (2025-11-25).
    Optional,
    /// Calls always run as tasks; other clients are refused.
    Required,
    /// The handler decides during the call, with [`Cx::into_task`](crate::Cx::into_task).
    Manual,
}

impl Tool {
    /// Creates a tool whose arguments are described by the type that its handler takes.
    ///
    /// A name has 1 to 128 letters, digits, `_`, `.` or `-`. Several models take at most 64 characters, and no dot.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let wire = mcp::Tool::new(name, RawJson::empty_object()).with_description(description);
        Self { has_schema: false, ..Self::listed(wire) }
    }

    /// Creates a tool whose arguments are described by this JSON Schema, which clients get exactly as it is.
    pub fn with_schema(name: impl Into<String>, description: impl Into<String>, schema: RawJson) -> Self {
        Self::listed(mcp::Tool::new(name, schema).with_description(description))
    }

    fn listed(wire: mcp::Tool) -> Self {
        Self {
            wire,
            security: None,
            has_schema: true,
            validated: true,
            inline: false,
            mode: TaskMode::Never,
            #[cfg(feature = "ext")]
            extensions: ToolExtensions::default(),
        }
    }

    mgp_types::setters! { self =>
        /// Sets the name for people.
        pub fn title(title: impl Into<String>) => self.wire.title = Some(title.into());

        /// Adds an image for a user interface.
        pub fn icon(icon: Icon) => self.wire.icons.get_or_insert_default().push(icon);

        /// Sets hints about the behaviour of the tool.
        pub fn annotations(annotations: ToolAnnotations) =>
            self.wire.annotations = Some(Box::new(annotations));

        /// Hints that the tool changes nothing.
        pub fn read_only() => self.wire.annotations.get_or_insert_default().read_only_hint = Some(true);

        /// Hints whether the tool may destroy something.
        pub fn destructive(destructive: bool) =>
            self.wire.annotations.get_or_insert_default().destructive_hint = Some(destructive);

        /// Hints that calling the tool again with the same arguments changes nothing more.
        pub fn idempotent() => self.wire.annotations.get_or_insert_default().idempotent_hint = Some(true);

        /// Hints whether the tool deals with a world beyond the server.
        pub fn open_world(open_world: bool) =>
            self.wire.annotations.get_or_insert_default().open_world_hint = Some(open_world);

        /// Sets the JSON Schema of the structured result, in place of the one that the handler's result has.
        pub fn output_schema(schema: RawJson) => self.wire.output_schema = Some(schema);

        /// Adds metadata that clients get with the tool.
        pub fn meta(key: impl Into<Box<str>>, value: RawJson) =>
            self.wire.meta.get_or_insert_with(Meta::new).insert(key, value);

        /// Sets any other member of the tool as it is listed.
        pub fn member(name: impl Into<Box<str>>, value: RawJson) => self.wire.extra.insert(name, value);

        /// Sets the effects and the guards of the tool (MGP §4), for clients that speak MGP; others never see them.
        ///
        /// ```
        /// use mgp_server_sdk::Tool;
        /// use mgp_types::mgp::{Permission, RiskLevel, ToolSecurity, ValidatorName};
        ///
        /// let tool = Tool::new("execute_command", "Executes a shell command").security(
        ///     &ToolSecurity::new(RiskLevel::Dangerous)
        ///         .with_permissions([Permission::ShellExecute])
        ///         .with_validator(ValidatorName::Sandbox)
        ///         .with_confirmation_required(true),
        /// );
        /// ```
        pub fn security(security: &ToolSecurity) => self.security = Some(crate::schema::to_raw(security));

        /// Leaves the demands of the schema beyond the types of the arguments to the handler.
        pub fn unvalidated() => self.validated = false;

        /// Runs the handler where the call is read, without a task of its own.
        ///
        /// This saves a few microseconds and is for handlers that are done in that time and never block: while one
        /// runs, its connection stands still.
        pub fn inline() => self.inline = true;

        /// Sets whether calls run as tasks.
        pub fn task(mode: TaskMode) => self.mode = mode;
    }
}
