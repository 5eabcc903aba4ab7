//! The definitions of tools, prompts, templates and resources: pinned, compared, and searched for hidden instructions.
//!
//! A model obeys what it reads, and a definition is the first thing it reads of a server. So each list is
//! examined before anybody sees it: no name may pass for another server's or the kernel's, no text may hide
//! instructions, and what was approved once stays as it was or waits for approval again.

mod configured;
mod diff;
mod fingerprint;
mod fold;
mod found;
mod guard;
mod hold;
mod holder;
mod invisible;
mod kind;
mod layer;
mod names;
mod pin;
mod remark;
mod scan;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;

pub use self::configured::ConfiguredServer;
pub use self::diff::{DefinitionChange, Diff};
pub use self::fingerprint::{Definition, DefinitionError};
pub use self::found::{DefinitionFindings, FlaggedDefinition};
pub use self::guard::{DefinitionAdmission, DefinitionGuard, ExaminedList, QuarantineReason};
pub use self::hold::{DefinitionStatus, HoldReason};
pub use self::holder::{pinned_for, server_of};
pub use self::kind::{DefinitionKind, DefinitionName, UnknownDefinitionKind};
pub use self::layer::{DefinitionGuardLayer, DefinitionGuardService};
pub(crate) use self::names::skeleton;
pub use self::pin::{ApproveError, FirstUse, PinVerdict, PinnedDefinitions};
pub use self::remark::{PinAnnotations, Remark, RemarkKind, UnknownRemark};
pub use self::scan::{Judgement, RULES, judge_definition, scan_text};
use self::scan::{is_rule, judge_definition_sparing, scan_instructions};
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqlitePins;
pub use self::store::{MemoryPins, PinState, PinStore, StoredPin};

use mgp_types::mgp::{ServerId, ToolName};
