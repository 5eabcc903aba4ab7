//! The pins of definitions: those that may be used, those that wait for approval, and those that are refused.

use std::io::{self, Write as _};
use std::sync::Arc;

use clap::Args;
use mgp_discovery::tool_spec::{InterfaceChange, ToolInterface};
use mgp_security::definition::{
    ApproveError, Definition, DefinitionChange, DefinitionGuard, DefinitionKind, DefinitionName, Diff,
    PinState, server_of,
};
use mgp_types::mgp::{AuditTarget, ServerId, ToolName};
use mgp_types::{Error, RawJson, code};
use serde::{Deserialize, Serialize};

use super::definition_status::ShownDefinitionStatus;
use super::operation::{KernelNeed, Operation, OperatorCall, PageRequest};
use crate::sections::Sections;
use crate::terminal::{TextForm, TextWriter, line_form, or_dash, printable, word_of};

/// Lists the pins by server, kind and name: all, those of a server, or those that wait.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ListPins {
    /// List the definitions of this server only
    #[arg(value_name = "SERVER")]
    pub server_id: Option<ServerId>,
    /// List the definitions that are held or flagged only
    #[arg(long)]
    pub waiting: bool,
    /// The part of the list that is wanted.
    #[command(flatten)]
    #[serde(flatten)]
    pub page: PageRequest,
}

/// A page of the pins.
#[derive(Debug, Serialize, Deserialize)]
pub struct PinList {
    /// The pins.
    pub pins: Vec<PinRow>,
    /// The start of the next part; `None` at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// The pin and the status of a definition.
#[derive(Debug, Serialize, Deserialize)]
pub struct PinRow {
    /// The server; with `@` and an agent, that agent's own connection to it.
    pub server_id: ServerId,
    /// The name: `NAME` of a tool, `prompt:NAME`, `template:URI_TEMPLATE`, `resource:URI` or
    /// `text:instructions`.
    pub name: DefinitionName,
    pub(crate) state: PinStatus,
    /// The digest of the definition that may be used.
    pub(crate) approved: Option<String>,
    /// The digest of the definition that waits.
    pub waiting: Option<String>,
    /// The finding in the definition that is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// The status of the definition if it is held or flagged, with the reason and what changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<ShownDefinitionStatus>,
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

/// Shows a definition that waits for approval, or else the approved one, and what changed in it since it was approved.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct PinnedName {
    /// The id of the server
    #[arg(value_name = "SERVER")]
    pub server_id: ServerId,
    /// The definition, as its server names it: TOOL, prompt:NAME, template:URI_TEMPLATE, resource:URI
    /// or text:instructions
    pub name: DefinitionName,
}

/// A definition, and what changed in it since it was approved.
#[derive(Debug, Serialize, Deserialize)]
pub struct PinDiff {
    /// The pin, with the digest to approve as the one that waits.
    #[serde(flatten)]
    pub row: PinRow,
    /// The definition that waits, or else the approved one, in canonical form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<RawJson>,
    pub(crate) changes: Vec<DefinitionChange>,
    /// The number of further changes, which are left out.
    pub(crate) omitted: u64,
    /// The changes of a tool as its callers meet them, the breaking ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) interface: Vec<InterfaceChange>,
}

/// Approves the definition that waits.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApprovePin {
    /// The server.
    pub server_id: ServerId,
    /// The name of the definition.
    pub name: DefinitionName,
    /// The digest that the operator has looked at; if it is left out, any definition that waits is approved.
    pub digest: Option<String>,
    /// The rules whose findings the operator has looked at: findings of other rules are not approved.
    #[serde(default)]
    pub despite: Vec<String>,
    /// True if the definition may come with its lists in any order and with other figures from then on.
    #[serde(default)]
    pub any_order: bool,
}

/// The result of an approval.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApprovedPin {
    pub(crate) digest: String,
}

impl Operation for ListPins {
    type Reply = PinList;

    async fn run(self, call: &OperatorCall) -> Result<PinList, Error> {
        let definitions = &call.kernel.policies.definitions;
        let wanted = |row: &PinRow| {
            let is_of =
                |server: &ServerId| *server == row.server_id || server.as_str() == server_of(&row.server_id);
            self.server_id.as_ref().is_none_or(is_of) && (!self.waiting || row.standing.is_some())
        };
        let pinned = definitions.pins().all().into_iter();
        let mut named: Vec<_> = pinned.map(|(server, state)| (server, state.name().clone())).collect();
        named.extend(definitions.found().into_iter().map(|(server, name, _)| (server, name)));
        named.sort();
        named.dedup();
        let rows = named.into_iter().map(|(server, name)| PinRow::of(definitions, server, name));
        let (pins, next_offset) = self.page.of(rows.filter(wanted));
        Ok(PinList { pins, next_offset })
    }

    // Findings in definitions are known only for servers that have listed them, so the servers have to run.
    fn need(&self) -> KernelNeed {
        KernelNeed::of_server(self.server_id.as_ref())
    }
}

impl TextForm for PinList {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let short = |digest: &Option<String>| {
            or_dash(digest.as_ref().map(|digest| digest.chars().take(19).collect::<String>()))
        };
        let rows = self.pins.iter().map(|row| {
            [
                row.server_id.to_string(),
                row.name.to_string(),
                word_of(row.state),
                short(&row.approved),
                short(&row.waiting),
                or_dash(row.standing.as_ref().map(|standing| &standing.is)),
            ]
        });
        out.table(&["SERVER", "NAME", "STATE", "APPROVED", "WAITING", "MARK"], rows, "no definitions")?;
        for row in &self.pins {
            let Some(standing) = row.standing.as_ref().filter(|_| !out.is_quiet) else { continue };
            writeln!(out, "\n{}", printable(&standing.sentence(&row.server_id, &row.name)))?;
            writeln!(out, "    {}", printable(&standing.way))?;
        }
        Ok(())
    }
}

impl Operation for PinnedName {
    type Reply = PinDiff;

    async fn run(self, call: &OperatorCall) -> Result<PinDiff, Error> {
        let definitions = &call.kernel.policies.definitions;
        let Self { server_id, name } = self;
        let found = definitions.found_in(&server_id, &name);
        let state = match definitions.pins().state(&server_id, &name) {
            None if found.is_none() => return Err(unknown(&server_id, &name)),
            state => state,
        };
        let listed = found.as_ref().filter(|found| found.is_held).and_then(|found| found.definition.as_ref());
        let approved = state.as_ref().and_then(PinState::approved);
        let waiting = listed.or_else(|| state.as_ref().and_then(PinState::pending));
        let both = approved.zip(waiting);
        let diff = both.map(|(approved, waiting)| Diff::between(approved, waiting)).unwrap_or_default();
        let interface = both.map(|(old, new)| interface(&name, old, new));
        let definition = waiting.or(approved).map(|definition| definition.canonical().clone());
        let waiting = waiting.map(|definition| definition.digest().to_string());
        Ok(PinDiff {
            row: PinRow { waiting, ..PinRow::of(definitions, server_id, name) },
            definition,
            changes: diff.changes,
            omitted: diff.omitted as u64,
            interface: interface.unwrap_or_default(),
        })
    }

    fn need(&self) -> KernelNeed {
        KernelNeed::of_server(Some(&self.server_id))
    }
}

impl TextForm for PinDiff {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let state = match self.row.state {
            PinStatus::Approved => "the definition is the approved one\n",
            PinStatus::New => {
                "the definition is new, and none was approved before; `mgp pin show` shows it\n"
            }
            PinStatus::Changed | PinStatus::Refused => "",
        };
        write!(out, "{state}")?;
        self.write_changes(out)?;
        self.write_standing(out)?;
        self.write_waiting(out)
    }
}

impl PinDiff {
    /// Writes the definition, with its status.
    pub fn write_definition(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "{}", word_of(self.row.state))?;
        self.write_standing(out)?;
        if let Some(definition) = &self.definition {
            writeln!(out, "{}", printable(&String::from_utf8_lossy(definition.as_bytes())))?;
        }
        self.write_waiting(out)
    }

    /// Writes why a definition is held or flagged, and what changed in it.
    pub fn write_findings(&self, out: &mut Vec<u8>) -> io::Result<()> {
        if let Some(standing) = &self.row.standing {
            writeln!(out, "{}", printable(&standing.sentence(&self.row.server_id, &self.row.name)))?;
        }
        if let (true, Some(definition)) = (self.changes.is_empty(), &self.definition) {
            let definition = String::from_utf8_lossy(definition.as_bytes());
            writeln!(out, "  {}", printable(&definition))?;
        }
        self.write_changes(out)
    }

    /// Writes what changed in a definition since it was approved, and what each change means for those who call the
    /// tool.
    fn write_changes(&self, out: &mut impl io::Write) -> io::Result<()> {
        for change in &self.changes {
            writeln!(out, "{}", printable(&change.pointer))?;
            for (sign, text) in [('-', &change.before), ('+', &change.after)] {
                text.iter().try_for_each(|text| writeln!(out, "  {sign} {}", printable(text)))?;
            }
        }
        if self.omitted > 0 {
            writeln!(out, "and {} more", self.omitted)?;
        }
        self.interface.iter().try_for_each(|change| write_interface_change(out, change))
    }

    /// Writes why a definition is held or flagged, and how to change that.
    fn write_standing(&self, out: &mut TextWriter) -> io::Result<()> {
        let Some(standing) = &self.row.standing else { return Ok(()) };
        writeln!(out, "{}", printable(&standing.sentence(&self.row.server_id, &self.row.name)))?;
        writeln!(out, "{}", printable(&standing.way))
    }

    fn write_waiting(&self, out: &mut TextWriter) -> io::Result<()> {
        self.row.waiting.iter().try_for_each(|digest| writeln!(out, "waiting: {digest}"))
    }
}

/// Writes a line with the class of a change, the change, and where it is.
pub fn write_interface_change(out: &mut impl io::Write, change: &InterfaceChange) -> io::Result<()> {
    write!(out, "{:<13}  {}", change.class.as_str(), printable(&change.what).replace('\n', " "))?;
    if change.at.is_empty() {
        return writeln!(out);
    }
    writeln!(out, "  ({})", printable(&change.at).replace('\n', " "))
}

/// Returns what the changes of a tool mean for those who call it.
fn interface(name: &DefinitionName, approved: &Definition, waiting: &Definition) -> Vec<InterfaceChange> {
    if name.kind() != DefinitionKind::Tool {
        return Vec::new();
    }
    let [old, new] =
        [approved, waiting].map(|definition| ToolInterface::of_definition(definition.canonical()));
    let mut changes = old.zip(new).map(|(old, new)| new.changes_since(&old)).unwrap_or_default();
    changes.truncate(MAX_CLASSED);
    changes
}

/// The largest number of changes whose classes are told.
const MAX_CLASSED: usize = 100;

impl Operation for ApprovePin {
    type Reply = ApprovedPin;

    async fn run(self, call: &OperatorCall) -> Result<ApprovedPin, Error> {
        let Sections { policies, fleet, .. } = &*call.kernel;
        let definitions = &policies.definitions;
        let (server, name) = (&self.server_id, &self.name);
        let found = definitions.found_in(server, name);
        let waiting = match (&found, definitions.pins().state(server, name)) {
            (Some(found), _) if found.is_held && found.definition.is_none() => {
                return Err(Error::invalid_params(format!(
                    "the definition of `{name}` of `{server}` is left out, and can be approved only after its server has \
                     corrected it: {}",
                    found.describe()
                )));
            }
            (Some(found), _) => found.digest(),
            (None, Some(state)) => state.pending().map(Definition::digest),
            (None, None) => return Err(unknown(server, name)),
        };
        let approved =
            || definitions.pins().state(server, name).and_then(|it| it.approved().map(Definition::digest));
        let Some(digest) = waiting.or_else(|| approved().filter(|_| self.any_order)) else {
            let why = format!("no definition of `{name}` of `{server}` waits for approval");
            return Err(Error::invalid_params(why));
        };
        let is_named = |rule: &str| self.despite.iter().any(|named| named == rule);
        if let Some(found) = found.as_ref().filter(|found| found.is_held && !found.rules().all(is_named)) {
            return Err(Error::invalid_params(format!(
                "the definition of `{name}` of `{server}` is held for what is in it, and is approved only by whoever names that: {}",
                found.describe()
            )));
        }
        let shown = digest.to_string();
        if self.digest.as_ref().is_some_and(|seen| *seen != shown) {
            return Err(Error::invalid_params(format!(
                "the definition has changed since: {shown} waits now; look at it with `mgp pin diff`"
            )));
        }
        let target = AuditTarget::new(Some(server_of(server).into()), Some(ToolName::new(name.to_string())));
        let despite = self.despite.join(" ");
        let mut details = vec![("digest", &*shown), ("pinned_for", server.as_str())];
        details.extend((!despite.is_empty()).then_some(("despite", &*despite)));
        details.extend(self.any_order.then_some(("any_order", "true")));
        call.record("dev.cloto.mgp.definition_approved", target, &details).await?;
        let upstream = fleet.get(server_of(server));
        let kind = name.kind();
        let (definitions, server, name) = (Arc::clone(definitions), server.clone(), name.clone());
        let approved = tokio::task::spawn_blocking(move || {
            let despite: Vec<_> = self.despite.iter().map(String::as_str).collect();
            if waiting.is_some() {
                definitions.approve(&server, &name, digest, &despite)?;
            }
            if self.any_order { definitions.pins().allow_any_order(&server, &name) } else { Ok(()) }
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
}

line_form!(ApprovedPin, |pin| format_args!("approved {}", pin.digest));

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
                // A definition that is not pinned is used unless something is held.
                None | Some(PinState::Approved(_)) => PinStatus::Approved,
                Some(PinState::Asked(_)) => PinStatus::New,
                Some(PinState::Changed { .. }) => PinStatus::Changed,
            },
            approved: approved.map(digest),
            waiting: match &held {
                Some(held) => held.definition.as_ref().map(digest),
                None => state.as_ref().and_then(PinState::pending).map(digest),
            },
            refused: held.map(|held| held.describe()),
            standing: ShownDefinitionStatus::of(definitions, &server, &name),
            server_id: server,
            name,
        }
    }
}
