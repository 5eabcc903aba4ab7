//! Definitions of tools, prompts, templates and resources: pinned, compared, and searched for hidden instructions.
//!
//! A model obeys what it reads, and the definitions are the first text of a server that it reads. So each list is
//! examined before anybody sees it: each must have the shape that clients demand, no name may imitate that of another
//! server or of the kernel, no text may hide instructions, and an approved definition stays as it was or waits for
//! approval again.

mod diff;
mod fold;
mod gate;
mod guard;
mod hold;
mod invisible;
mod kind;
mod names;
mod order;
mod pin;
mod scan;
mod shape;
mod store;
mod verdicts;

pub use self::diff::{DefinitionChange, Diff};
pub use self::gate::{DefinitionGate, DefinitionGuardLayer};
pub use self::guard::{ConfiguredServer, DefinitionAdmission, DefinitionFindings, DefinitionGuard};
pub use self::hold::DefinitionStatus;
pub use self::kind::{Definition, DefinitionError, DefinitionKind, DefinitionName};
#[cfg(feature = "auth")]
pub(crate) use self::names::skeleton;
pub use self::pin::{ApproveError, PinnedDefinitions};
#[cfg(feature = "permission")]
pub(crate) use self::scan::has_orders;
#[cfg(feature = "code-safety")]
pub(crate) use self::scan::keep_signs;
pub use self::scan::{RULES, is_flag, judge_definition, scan_text};
pub use self::shape::{ShapeFault, well_formed};
use self::store::{PinAnnotations, Remark, RemarkKind};
pub use self::store::{PinState, pinned_for, server_of};

use mgp_types::mgp::ServerId;
