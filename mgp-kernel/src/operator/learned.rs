//! The method that forgets what searches learned from use.

use std::sync::Arc;

use mgp_types::Error;
use mgp_types::mgp::AuditTarget;
use serde::{Deserialize, Serialize};

use super::request::OperatorRequest;
use crate::learned::{ForgottenUses, LearnedStore};

/// The params that ask to forget what was learned of all tools, or of the tool that clients call by a name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ForgetUses {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

pub(super) async fn forget(
    asked: &OperatorRequest,
    learned: &Arc<LearnedStore>,
    forget: ForgetUses,
) -> Result<ForgottenUses, Error> {
    let of = forget.name.as_deref().unwrap_or("all tools");
    asked.record("dev.cloto.mgp.learned_uses_forgotten", AuditTarget::new(None, None), &[("of", of)]).await?;
    let learned = Arc::clone(learned);
    let forgotten = tokio::task::spawn_blocking(move || learned.forget(forget.name.as_deref())).await;
    forgotten.map_err(std::io::Error::other).and_then(|forgotten| forgotten).map_err(|error| {
        Error::internal("the files of what was learned cannot be changed").with_source(error)
    })
}
