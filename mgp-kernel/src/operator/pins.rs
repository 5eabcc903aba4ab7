//! The definitions of tools that may be used, and those that wait for approval.

use mgp_security::definition::{ApproveError, Diff, PinState, Pinned, server_of};
use mgp_types::mgp::{AuditTarget, ServerId, ToolName};
use mgp_types::{Error, code};
use serde::{Deserialize, Serialize};

use super::layer::Asked;
use super::page::Page;
use crate::parts::Parts;

/// Asks for pins: all, or those of a server, or those that wait.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListPins {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_id: Option<ServerId>,
    /// Only those of which a definition waits for approval.
    pub(crate) waiting: bool,
    #[serde(flatten)]
    pub(crate) page: Page,
}

/// Some of the pins, by server and tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinList {
    pub(crate) pins: Vec<PinRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// A tool of which a definition is known.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinRow {
    /// The server; with `@` and an agent, that agent's own connection to it.
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: ToolName,
    pub(crate) state: PinWord,
    /// The digest of the definition that may be used.
    pub(crate) approved: Option<String>,
    /// The digest of the definition that waits.
    pub(crate) waiting: Option<String>,
}

/// How a tool's definition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PinWord {
    /// It may be used.
    Approved,
    /// Its first definition waits for approval.
    New,
    /// It was approved with another definition.
    Changed,
}

/// Names a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinnedTool {
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: ToolName,
}

/// What changed in a definition since it was approved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinDiff {
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: ToolName,
    pub(crate) state: PinWord,
    /// The digest to approve.
    pub(crate) waiting: Option<String>,
    pub(crate) changes: Vec<PinChange>,
    /// How many more changes there are.
    pub(crate) omitted: u64,
}

/// One change, at a JSON pointer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinChange {
    pub(crate) at: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// Approves the definition that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApprovePin {
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: ToolName,
    /// The digest that was looked at; whatever waits, if it is left out.
    #[serde(default)]
    pub(crate) digest: Option<String>,
}

/// What was approved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApprovedPin {
    pub(crate) digest: String,
}

pub(super) fn list(parts: &Parts, asked: &ListPins) -> PinList {
    let wanted = |row: &PinRow| {
        asked
            .server_id
            .as_ref()
            .is_none_or(|server| *server == row.server_id || server.as_str() == server_of(&row.server_id))
            && (!asked.waiting || row.waiting.is_some())
    };
    let rows = parts.definitions.pins().all().into_iter().map(|pinned| PinRow::of(&pinned));
    let (pins, next_offset) = asked.page.of(rows.filter(wanted));
    PinList { pins, next_offset }
}

pub(super) fn diff(parts: &Parts, tool: &PinnedTool) -> Result<PinDiff, Error> {
    let state = known(parts, &tool.server_id, &tool.tool_name)?;
    let diff = match &state {
        PinState::Changed { approved, pending } => Diff::between(approved, pending),
        _ => Diff::default(),
    };
    let changes = diff.changes.into_iter().map(|change| PinChange {
        at: change.pointer,
        before: change.before,
        after: change.after,
    });
    Ok(PinDiff {
        server_id: tool.server_id.clone(),
        tool_name: tool.tool_name.clone(),
        state: PinWord::of(&state),
        waiting: state.pending().map(|definition| definition.digest().to_string()),
        changes: changes.collect(),
        omitted: diff.omitted as u64,
    })
}

pub(super) async fn approve(asked: &Asked, approve: ApprovePin) -> Result<ApprovedPin, Error> {
    let (server, tool) = (&approve.server_id, &approve.tool_name);
    let state = known(&asked.parts, server, tool)?;
    let Some(pending) = state.pending() else {
        return Err(Error::invalid_params(format!(
            "no definition of `{tool}` of `{server}` waits for approval"
        )));
    };
    let digest = pending.digest();
    let shown = digest.to_string();
    if approve.digest.as_ref().is_some_and(|seen| *seen != shown) {
        return Err(Error::invalid_params(format!(
            "the definition has changed since: {shown} waits now; look at it with `pin diff`"
        )));
    }
    let target = AuditTarget::new(Some(server_of(server).into()), Some(tool.clone()));
    let details = [("digest", &*shown), ("pinned_for", server.as_str())];
    asked.record("dev.cloto.mgp.definition_approved", target, &details).await?;
    let upstream = asked.parts.fleet.get(server_of(server));
    let (definitions, server, tool) = (asked.parts.definitions.clone(), server.clone(), tool.clone());
    let approved = tokio::task::spawn_blocking(move || definitions.pins().approve(&server, &tool, digest));
    match approved.await {
        Ok(Ok(())) => {
            // Those who may use it see it, and hear of it, when it is listed.
            if let Some(upstream) = upstream {
                upstream.list_tools_anew();
            }
            Ok(ApprovedPin { digest: shown })
        }
        Ok(Err(ApproveError::Store(error))) => Err(error.into()),
        Ok(Err(error)) => Err(Error::invalid_params(error.to_string())),
        Err(panic) => Err(Error::internal("the definition was not approved").with_source(panic)),
    }
}

fn known(parts: &Parts, server: &ServerId, tool: &ToolName) -> Result<PinState, Error> {
    parts.definitions.pins().state(server, tool).ok_or_else(|| {
        Error::new(
            code::TOOL_NOT_FOUND,
            format!("nothing is known of a tool `{tool}` of `{server}`; `pin list` names those there are"),
        )
    })
}

impl PinRow {
    fn of(pinned: &Pinned) -> Self {
        let state = &pinned.state;
        Self {
            server_id: pinned.server.clone(),
            tool_name: pinned.tool().clone(),
            state: PinWord::of(state),
            approved: state.approved().map(|definition| definition.digest().to_string()),
            waiting: state.pending().map(|definition| definition.digest().to_string()),
        }
    }
}

impl PinWord {
    fn of(state: &PinState) -> Self {
        match state {
            PinState::Approved(_) => Self::Approved,
            PinState::Asked(_) => Self::New,
            PinState::Changed { .. } => Self::Changed,
        }
    }

    /// The word that lists show.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::New => "new",
            Self::Changed => "changed",
        }
    }
}
