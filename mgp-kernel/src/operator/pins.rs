//! The definitions that may be used, those that wait for approval, and those that are refused.

use mgp_security::definition::{
    ApproveError, DefinitionName, Diff, Hold, PinState, Pinned, Refused, server_of,
};
use mgp_types::mgp::{AuditTarget, ServerId, ToolName};
use mgp_types::{Error, RawJson, code};
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
    /// Only those that cannot be used: a definition waits for approval, or is refused.
    pub(crate) waiting: bool,
    #[serde(flatten)]
    pub(crate) page: Page,
}

/// Some of the pins, by server, kind and name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinList {
    pub(crate) pins: Vec<PinRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// What is known of a definition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinRow {
    /// The server; with `@` and an agent, that agent's own connection to it.
    pub(crate) server_id: ServerId,
    /// `NAME` of a tool, `prompt:NAME`, `template:URI_TEMPLATE` or `resource:URI`.
    pub(crate) name: DefinitionName,
    pub(crate) state: PinWord,
    /// The digest of the definition that may be used.
    pub(crate) approved: Option<String>,
    /// The digest of the definition that waits.
    pub(crate) waiting: Option<String>,
    /// What is in the definition that is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

/// How a definition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PinWord {
    /// It may be used.
    Approved,
    /// Its first definition waits for approval.
    New,
    /// It was approved with another definition.
    Changed,
    /// It hides something, so that it can be approved only after its server has mended it.
    Refused,
}

/// Names a definition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinnedName {
    pub(crate) server_id: ServerId,
    pub(crate) name: DefinitionName,
}

/// A definition, and what changed in it since it was approved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinDiff {
    pub(crate) server_id: ServerId,
    pub(crate) name: DefinitionName,
    pub(crate) state: PinWord,
    /// The digest to approve.
    pub(crate) waiting: Option<String>,
    /// What is in it that must not reach a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// The definition that waits, or else the approved one, in canonical form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<RawJson>,
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
    pub(crate) name: DefinitionName,
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
            && (!asked.waiting || row.waiting.is_some() || row.refused.is_some())
    };
    let refused = parts.definitions.refused();
    let is_refused = |pinned: &Pinned| {
        refused.iter().any(|other| other.server == pinned.server && other.name == *pinned.name())
    };
    let pinned = parts.definitions.pins().all().into_iter().filter(|pinned| !is_refused(pinned));
    let mut rows: Vec<_> = pinned.map(|pinned| PinRow::of(&pinned)).collect();
    rows.extend(refused.iter().map(|refused| {
        let state = parts.definitions.pins().state(&refused.server, &refused.name);
        PinRow::refused(refused, state.as_ref())
    }));
    rows.sort_by(|one, other| (&one.server_id, &one.name).cmp(&(&other.server_id, &other.name)));
    let (pins, next_offset) = asked.page.of(rows.into_iter().filter(wanted));
    PinList { pins, next_offset }
}

pub(super) fn diff(parts: &Parts, named: &PinnedName) -> Result<PinDiff, Error> {
    let (server, name) = (&named.server_id, &named.name);
    let refused = refused(parts, server, name);
    let state = match parts.definitions.pins().state(server, name) {
        None if refused.is_none() => return Err(unknown(server, name)),
        state => state,
    };
    let diff = match &state {
        Some(PinState::Changed { approved, pending }) => Diff::between(approved, pending),
        _ => Diff::default(),
    };
    let changes = diff.changes.into_iter().map(|change| PinChange {
        at: change.pointer,
        before: change.before,
        after: change.after,
    });
    let pending = state.as_ref().and_then(PinState::pending);
    let definition = pending.or_else(|| state.as_ref().and_then(PinState::approved));
    Ok(PinDiff {
        server_id: server.clone(),
        name: name.clone(),
        state: if refused.is_some() {
            PinWord::Refused
        } else {
            state.as_ref().map_or(PinWord::New, PinWord::of)
        },
        waiting: pending.filter(|_| refused.is_none()).map(|definition| definition.digest().to_string()),
        definition: definition.filter(|_| refused.is_none()).map(|definition| definition.canonical().clone()),
        refused: refused.map(|refused| refused.finding.to_string()),
        changes: changes.collect(),
        omitted: diff.omitted as u64,
    })
}

pub(super) async fn approve(asked: &Asked, approve: ApprovePin) -> Result<ApprovedPin, Error> {
    let (server, name) = (&approve.server_id, &approve.name);
    if let Some(refused) = refused(&asked.parts, server, name) {
        return Err(Error::invalid_params(format!(
            "the definition of `{name}` of `{server}` is refused, and can be approved only after its server has mended it: {}",
            refused.finding
        )));
    }
    let state = asked.parts.definitions.pins().state(server, name).ok_or_else(|| unknown(server, name))?;
    let Some(pending) = state.pending() else {
        return Err(Error::invalid_params(format!(
            "no definition of `{name}` of `{server}` waits for approval"
        )));
    };
    let digest = pending.digest();
    let shown = digest.to_string();
    if approve.digest.as_ref().is_some_and(|seen| *seen != shown) {
        return Err(Error::invalid_params(format!(
            "the definition has changed since: {shown} waits now; look at it with `mgp pin diff`"
        )));
    }
    let target = AuditTarget::new(Some(server_of(server).into()), Some(ToolName::new(name.to_string())));
    let details = [("digest", &*shown), ("pinned_for", server.as_str())];
    asked.record("dev.cloto.mgp.definition_approved", target, &details).await?;
    let upstream = asked.parts.fleet.get(server_of(server));
    let kind = name.kind();
    let (definitions, server, name) = (asked.parts.definitions.clone(), server.clone(), name.clone());
    let approved = tokio::task::spawn_blocking(move || definitions.pins().approve(&server, &name, digest));
    match approved.await {
        Ok(Ok(())) => {
            // Those who may use it see it, and hear of it, when it is listed.
            if let Some(upstream) = upstream {
                upstream.list_anew(kind);
            }
            Ok(ApprovedPin { digest: shown })
        }
        Ok(Err(ApproveError::Store(error))) => Err(error.into()),
        Ok(Err(error)) => Err(Error::invalid_params(error.to_string())),
        Err(panic) => Err(Error::internal("the definition was not approved").with_source(panic)),
    }
}

fn refused(parts: &Parts, server: &ServerId, name: &DefinitionName) -> Option<Refused> {
    let is_refused = matches!(parts.definitions.hold(server, name), Some(Hold::Refused(_)));
    let refused = is_refused.then(|| parts.definitions.refused())?;
    refused.into_iter().find(|refused| refused.server == *server && refused.name == *name)
}

fn unknown(server: &ServerId, name: &DefinitionName) -> Error {
    Error::new(
        code::TOOL_NOT_FOUND,
        format!("no definition of `{name}` of `{server}` is known; `mgp pin list` names those there are"),
    )
}

impl PinRow {
    fn of(pinned: &Pinned) -> Self {
        let state = &pinned.state;
        Self {
            server_id: pinned.server.clone(),
            name: pinned.name().clone(),
            state: PinWord::of(state),
            approved: state.approved().map(|definition| definition.digest().to_string()),
            waiting: state.pending().map(|definition| definition.digest().to_string()),
            refused: None,
        }
    }

    fn refused(refused: &Refused, state: Option<&PinState>) -> Self {
        let approved = state.and_then(PinState::approved);
        Self {
            server_id: refused.server.clone(),
            name: refused.name.clone(),
            state: PinWord::Refused,
            approved: approved.map(|definition| definition.digest().to_string()),
            waiting: None,
            refused: Some(refused.finding.to_string()),
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
            Self::Refused => "refused",
        }
    }
}
