//! The pins of definitions: those that may be used, those that wait for approval, and those that are refused.

use std::sync::Arc;

use mgp_discovery::tool_spec::{InterfaceChange, ToolInterface};
use mgp_security::definition::{
    ApproveError, Definition, DefinitionFindings, DefinitionGuard, DefinitionKind, DefinitionName, Diff,
    PinState, server_of,
};
use mgp_types::mgp::{AuditTarget, ServerId, ToolName};
use mgp_types::{Error, RawJson, code};
use serde::{Deserialize, Serialize};

use super::definition_status::ShownDefinitionStatus;
use super::page::PageRequest;
use super::request::OperatorRequest;
use crate::servers::fleet::Fleet;

/// The params that ask for pins: all, those of a server, or those that wait.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListPins {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_id: Option<ServerId>,
    /// True if only definitions that are held or flagged are listed.
    pub(crate) waiting: bool,
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// A page of the pins, by server, kind and name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinList {
    pub(crate) pins: Vec<PinRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// The pin and the status of a definition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinRow {
    /// The server; with `@` and an agent, that agent's own connection to it.
    pub(crate) server_id: ServerId,
    /// The name: `NAME` of a tool, `prompt:NAME`, `template:URI_TEMPLATE`, `resource:URI` or
    /// `text:instructions`.
    pub(crate) name: DefinitionName,
    pub(crate) state: PinStatus,
    /// The digest of the definition that may be used.
    pub(crate) approved: Option<String>,
    /// The digest of the definition that waits.
    pub(crate) waiting: Option<String>,
    /// The finding in the definition that is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// The status of the definition if it is held or flagged, with the reason and what changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) standing: Option<ShownDefinitionStatus>,
}

/// The status of a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PinStatus {
    /// The definition may be used.
    Approved,
    /// The first definition of the name waits for approval.
    New,
    /// Another definition of the name was approved; this one waits.
    Changed,
    /// The definition contains evidence of an attack, or its form is wrong.
    Refused,
}

/// The params that name a definition.
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
    pub(crate) state: PinStatus,
    /// The digest to approve.
    pub(crate) waiting: Option<String>,
    /// The finding in the definition that must not reach a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// The status of the definition if it is held or flagged, with the reason and what changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) standing: Option<ShownDefinitionStatus>,
    /// The definition that waits, or else the approved one, in canonical form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<RawJson>,
    pub(crate) changes: Vec<PinChange>,
    /// The number of further changes, which are left out.
    pub(crate) omitted: u64,
    /// What the changes of a tool mean for those who call it, the breaking ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) interface: Vec<InterfaceChange>,
}

/// A change at a JSON pointer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PinChange {
    pub(crate) at: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// The params that approve the definition that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApprovePin {
    pub(crate) server_id: ServerId,
    pub(crate) name: DefinitionName,
    /// The digest that the operator has looked at; if it is left out, any definition that waits is approved.
    pub(crate) digest: Option<String>,
    /// The rules whose findings the operator has looked at: findings of other rules are not approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) despite: Vec<String>,
    /// True if the definition may come with its lists in any order and with other figures from then on.
    #[serde(default)]
    pub(crate) any_order: bool,
}

/// The result of an approval.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApprovedPin {
    pub(crate) digest: String,
}

pub(super) fn list(definitions: &DefinitionGuard, asked: &ListPins) -> PinList {
    let wanted = |row: &PinRow| {
        asked
            .server_id
            .as_ref()
            .is_none_or(|server| *server == row.server_id || server.as_str() == server_of(&row.server_id))
            && (!asked.waiting || row.standing.is_some())
    };
    let pinned = definitions.pins().all().into_iter();
    let mut named: Vec<_> = pinned.map(|pinned| (pinned.server.clone(), pinned.name().clone())).collect();
    named.extend(definitions.found().into_iter().map(|found| (found.server, found.name)));
    named.sort();
    named.dedup();
    let rows = named.into_iter().map(|(server, name)| PinRow::of(definitions, server, name));
    let (pins, next_offset) = asked.page.of(rows.filter(wanted));
    PinList { pins, next_offset }
}

pub(super) fn diff(definitions: &DefinitionGuard, named: &PinnedName) -> Result<PinDiff, Error> {
    let (server, name) = (&named.server_id, &named.name);
    let found = definitions.found_in(server, name);
    let state = match definitions.pins().state(server, name) {
        None if found.is_none() => return Err(unknown(server, name)),
        state => state,
    };
    let listed = found.as_ref().filter(|found| found.is_held).and_then(|found| found.definition.as_ref());
    let approved = state.as_ref().and_then(PinState::approved);
    let waiting = listed.or_else(|| state.as_ref().and_then(PinState::pending));
    let diff = match (approved, waiting) {
        (Some(approved), Some(waiting)) => Diff::between(approved, waiting),
        _ => Diff::default(),
    };
    let changes = diff.changes.into_iter().map(|change| PinChange {
        at: change.pointer,
        before: change.before,
        after: change.after,
    });
    let PinRow { state, refused, standing, .. } = PinRow::of(definitions, server.clone(), name.clone());
    Ok(PinDiff {
        server_id: server.clone(),
        name: name.clone(),
        state,
        waiting: waiting.map(|definition| definition.digest().to_string()),
        definition: waiting.or(approved).map(|definition| definition.canonical().clone()),
        refused,
        standing,
        changes: changes.collect(),
        omitted: diff.omitted as u64,
        interface: approved.zip(waiting).map(|(old, new)| interface(name, old, new)).unwrap_or_default(),
    })
}

/// Returns what the changes of a tool mean for those who call it.
fn interface(name: &DefinitionName, approved: &Definition, waiting: &Definition) -> Vec<InterfaceChange> {
    if name.kind() != DefinitionKind::Tool {
        return Vec::new();
    }
    let [old, new] =
        [approved, waiting].map(|definition| ToolInterface::of_definition(definition.canonical()));
    let mut changes = old.zip(new).map(|(old, new)| new.changes_since(&old)).unwrap_or_default();
    changes.truncate(MOST_CLASSED);
    changes
}

/// The largest number of changes whose classes are told.
const MOST_CLASSED: usize = 100;

pub(super) async fn approve(
    asked: &OperatorRequest,
    definitions: &Arc<DefinitionGuard>,
    fleet: &Fleet,
    approve: ApprovePin,
) -> Result<ApprovedPin, Error> {
    let (server, name) = (&approve.server_id, &approve.name);
    let found = definitions.found_in(server, name);
    let waiting = match (&found, definitions.pins().state(server, name)) {
        (Some(found), _) if found.is_held && found.definition.is_none() => {
            return Err(Error::invalid_params(format!(
                "the definition of `{name}` of `{server}` is refused, and can be approved only after its server has mended \
                 it: {}",
                found.told()
            )));
        }
        (Some(found), _) => found.digest(),
        (None, Some(state)) => state.pending().map(Definition::digest),
        (None, None) => return Err(unknown(server, name)),
    };
    let approved =
        || definitions.pins().state(server, name).and_then(|it| it.approved().map(Definition::digest));
    let Some(digest) = waiting.or_else(|| approved().filter(|_| approve.any_order)) else {
        return Err(Error::invalid_params(format!(
            "no definition of `{name}` of `{server}` waits for approval"
        )));
    };
    let unseen = found.as_ref().filter(|found| found.is_held && !is_named(found, &approve.despite));
    if let Some(found) = unseen {
        return Err(Error::invalid_params(format!(
            "the definition of `{name}` of `{server}` is held for what is in it, and is approved only by whoever names that: {}",
            found.told()
        )));
    }
    let shown = digest.to_string();
    if approve.digest.as_ref().is_some_and(|seen| *seen != shown) {
        return Err(Error::invalid_params(format!(
            "the definition has changed since: {shown} waits now; look at it with `mgp pin diff`"
        )));
    }
    let target = AuditTarget::new(Some(server_of(server).into()), Some(ToolName::new(name.to_string())));
    let despite = approve.despite.join(" ");
    let mut details = vec![("digest", &*shown), ("pinned_for", server.as_str())];
    if !despite.is_empty() {
        details.push(("despite", &despite));
    }
    if approve.any_order {
        details.push(("any_order", "true"));
    }
    asked.record("dev.cloto.mgp.definition_approved", target, &details).await?;
    let upstream = fleet.get(server_of(server));
    let kind = name.kind();
    let (definitions, server, name) = (Arc::clone(definitions), server.clone(), name.clone());
    let approved = tokio::task::spawn_blocking(move || {
        let despite: Vec<_> = approve.despite.iter().map(String::as_str).collect();
        if waiting.is_some() {
            definitions.approve(&server, &name, digest, &despite)?;
        }
        if approve.any_order { definitions.pins().allow_any_order(&server, &name) } else { Ok(()) }
    });
    match approved.await {
        Ok(Ok(())) => {
            // Clients that may use it see it, and are notified, when it is listed.
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

/// Returns whether the rules of all findings are named.
fn is_named(found: &DefinitionFindings, despite: &[String]) -> bool {
    found.rules().all(|rule| despite.iter().any(|named| named == rule))
}

fn unknown(server: &ServerId, name: &DefinitionName) -> Error {
    Error::new(
        code::TOOL_NOT_FOUND,
        format!("no definition of `{name}` of `{server}` is known; `mgp pin list` names those there are"),
    )
}

impl PinRow {
    fn of(definitions: &DefinitionGuard, server: ServerId, name: DefinitionName) -> Self {
        let held = definitions.found_in(&server, &name).filter(|found| found.is_held);
        let state = definitions.pins().state(&server, &name);
        let approved = state.as_ref().and_then(PinState::approved);
        let digest = |definition: &Definition| definition.digest().to_string();
        Self {
            state: match &state {
                _ if held.is_some() => PinStatus::Refused,
                Some(state) => PinStatus::of(state),
                // A definition that is not pinned is used unless something is held.
                None => PinStatus::Approved,
            },
            approved: approved.map(digest),
            waiting: match &held {
                Some(held) => held.definition.as_ref().map(digest),
                None => state.as_ref().and_then(PinState::pending).map(digest),
            },
            refused: held.map(|held| held.told()),
            standing: ShownDefinitionStatus::of(definitions, &server, &name),
            server_id: server,
            name,
        }
    }
}

impl PinStatus {
    fn of(state: &PinState) -> Self {
        match state {
            PinState::Approved(_) => Self::Approved,
            PinState::Asked(_) => Self::New,
            PinState::Changed { .. } => Self::Changed,
        }
    }

    /// Returns the word that lists show.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Refused => "refused",
        }
    }
}
