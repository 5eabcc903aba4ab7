//! Specification documents of tools: `MCP_TOOL_SPECIFICATION.md` files in Markdown, owned and versioned by the module
//! that has the tools.
//!
//! [`lint()`] checks documents, [`generate()`] writes one from definitions, and [`ToolDiff`] says what changed between two
//! documents or definitions, and which version announces it. JSON Schemas are compiled by whoever calls.
//!
//! ```
//! use mgp_discovery::tool_spec::ToolInterface;
//! use mgp_types::mgp::ChangeClass;
//!
//! let tool = |schema: &str| {
//!     let definition = format!(r#"{{"name": "add", "inputSchema": {schema}}}"#);
//!     ToolInterface::of_definitions(&definition).map(|mut tools| tools.remove(0))
//! };
//! let old = tool(r#"{"type": "object"}"#)?;
//! let new = tool(r#"{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}"#)?;
//! let changes = new.changes_since(&old);
//! assert_eq!(changes[0].class, ChangeClass::Breaking);
//! assert_eq!(changes[0].what, "parameter `a` was added and is required");
//! # Ok::<(), mgp_discovery::tool_spec::InvalidDefinition>(())
//! ```

mod diff;
mod document;
mod finding;
mod generate;
mod interface;
mod lint;
mod schema_diff;
pub(crate) mod schema_rules;
#[cfg(test)]
mod tests;

pub use self::diff::{InterfaceChange, ToolDiff};
pub use self::document::SpecDocument;
pub use self::finding::{LintReport, SpecFinding, ToolVerdicts};
pub use self::generate::{GeneratedSpec, generate};
pub use self::interface::{InvalidDefinition, ToolInterface};
pub use self::lint::{SchemaCheck, lint};
