//! What takes the effect of a call back: what is known of the tool, and what the handler tells.

use mgp_types::Object;
use parking_lot::Mutex;

/// The place where a handler notes the arguments that take its effect back: an extension of the request of a step.
#[derive(Debug, Default)]
pub(crate) struct StepUndo(pub(crate) Mutex<Option<Object>>);

/// The declarations of a tool about taking its effect back.
#[derive(Debug, Default)]
pub(crate) struct StepRule {
    /// True if the tool says that it changes nothing.
    pub(crate) is_read_only: bool,
    /// The tool that takes the effect back.
    pub(crate) undone_by: Option<Box<str>>,
}
