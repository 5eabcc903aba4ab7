//! The store in which pins outlive the process, and the ids under which it keeps them.

use std::collections::BTreeMap;
use std::fmt;

use mgp_types::RawJson;
use mgp_types::canonical::Digest;
use mgp_types::mgp::ServerId;
use rusqlite::{Row, params};

use super::verdicts::Verdicts;
use super::{Definition, DefinitionKind, DefinitionName};
use crate::StoreError;
use mgp_store::{Database, text};

/// The known versions of one tool, prompt or template: the approved one, the one that waits for approval, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed: a definition waits for approval, has it, or both")]
pub enum PinState {
    /// The definition may be used.
    Approved(Definition),
    /// The first definition waits for approval.
    Asked(Definition),
    /// There was an approved definition, and the server now lists another one: it is quarantined.
    Changed {
        /// The approved definition.
        approved: Definition,
        /// The definition that waits for approval.
        pending: Definition,
    },
}

impl PinState {
    /// Returns the kind and name of the definition.
    pub const fn name(&self) -> &DefinitionName {
        let (Self::Approved(known) | Self::Asked(known) | Self::Changed { approved: known, .. }) = self;
        known.name()
    }

    /// Returns the approved definition, if there is one.
    pub fn approved(&self) -> Option<&Definition> {
        match self {
            Self::Approved(definition) | Self::Changed { approved: definition, .. } => Some(definition),
            Self::Asked(_) => None,
        }
    }

    /// Returns the definition that waits for approval, if there is one.
    pub fn pending(&self) -> Option<&Definition> {
        match self {
            Self::Approved(_) => None,
            Self::Asked(definition) | Self::Changed { pending: definition, .. } => Some(definition),
        }
    }
}

/// The store that keeps pins over restarts. It is written one call at a time, when a definition is new, changes or is
/// approved; decisions about calls never wait for it.
#[derive(Debug)]
pub(super) struct PinStore(Database);

impl PinStore {
    /// Returns the store in `database`, whose tables are brought up to date.
    pub(super) fn new(database: Database) -> Result<Self, StoreError> {
        database.section("definition", MIGRATIONS).map(Self)
    }

    /// Returns the verdicts on definitions, which lie in the same database.
    pub(super) fn verdicts(&self) -> Result<Verdicts, StoreError> {
        Verdicts::load(self.0.clone())
    }

    /// Returns all pins, each with the id that it is pinned for.
    pub(super) fn load(&self) -> Result<Vec<(ServerId, PinState)>, StoreError> {
        self.0.read_all("SELECT server, kind, name, approved, pending FROM definition_pins", [], read)
    }

    /// Stores the pins of a list, each in place of the state before it: all or, if another kernel changed one of those, none.
    /// Returns whether they are stored.
    pub(super) fn save(
        &self,
        server: &ServerId,
        list: &[(Option<PinState>, PinState)],
    ) -> Result<bool, StoreError> {
        let mut are_known = true;
        let saved = self.0.change(|change| {
            for (before, state) in list {
                let [approved, pending] = columns(Some(state));
                let [approved_before, pending_before] = columns(before.as_ref());
                let changed = change.execute(
                    "INSERT INTO definition_pins (server, kind, name, approved, pending) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (server, kind, name)
                     DO UPDATE SET approved = excluded.approved, pending = excluded.pending
                     WHERE approved IS ?6 AND pending IS ?7",
                    params![
                        server.as_str(),
                        state.name().kind().as_str(),
                        state.name().as_str(),
                        approved,
                        pending,
                        approved_before,
                        pending_before,
                    ],
                )?;
                are_known &= changed == 1;
            }
            // An error takes back what was written.
            if are_known { Ok(()) } else { Err(StoreError::InUse) }
        });
        if are_known { saved.map(|()| true) } else { Ok(false) }
    }

    /// Returns all records that are kept beside the pins.
    pub(super) fn load_beside(&self) -> Result<PinAnnotations, StoreError> {
        let mut beside = PinAnnotations::default();
        self.0.read_all("SELECT server, kind, name, digest, remark FROM definition_remarks", [], |row| {
            let (server, name) =
                (ServerId::from(text(row, 0)?), DefinitionName::new(kind(row, 1)?, text(row, 2)?));
            let what = RemarkKind::read(text(row, 4)?).ok_or_else(|| damaged("an unknown remark"))?;
            let mut remarks = beside.on(&server, &name).to_vec();
            remarks.push(Remark { digest: digest(row, 3)?, what });
            beside.remark(&server, &name, remarks);
            Ok(())
        })?;
        let entries = self.0.read_all("SELECT server, kind, digest FROM definition_entries", [], |row| {
            Ok(((ServerId::from(text(row, 0)?), kind(row, 1)?), digest(row, 2)?))
        })?;
        beside.entries.extend(entries);
        Ok(beside)
    }

    /// Stores `remarks` in place of the earlier ones on the definition.
    pub(super) fn remark(
        &self,
        server: &ServerId,
        name: &DefinitionName,
        remarks: &[Remark],
    ) -> Result<(), StoreError> {
        self.0.change(|change| {
            let (server, kind, name) = (server.as_str(), name.kind().as_str(), name.as_str());
            let all = "DELETE FROM definition_remarks WHERE server = ?1 AND kind = ?2 AND name = ?3";
            change.execute(all, params![server, kind, name])?;
            for Remark { digest, what } in remarks {
                change.execute(
                    "INSERT OR REPLACE INTO definition_remarks (server, kind, name, digest, remark)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![server, kind, name, digest.to_string(), what.to_string()],
                )?;
            }
            Ok(())
        })
    }

    /// Stores the digest of the configuration with which `server` listed its definitions of `kind`.
    pub(super) fn save_entry(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        entry: Digest,
    ) -> Result<(), StoreError> {
        let put = "INSERT OR REPLACE INTO definition_entries (server, kind, digest) VALUES (?1, ?2, ?3)";
        self.0.execute(put, params![server.as_str(), kind.as_str(), entry.to_string()])
    }
}

/// Returns the values for the approved version of a definition and for the one that waits.
fn columns(state: Option<&PinState>) -> [Option<&[u8]>; 2] {
    let versions = [state.and_then(PinState::approved), state.and_then(PinState::pending)];
    versions.map(|version| version.map(|definition| definition.canonical().as_bytes()))
}

fn kind(row: &Row<'_>, column: usize) -> Result<DefinitionKind, StoreError> {
    DefinitionKind::read(text(row, column)?).ok_or_else(|| damaged("an unknown kind"))
}

fn digest(row: &Row<'_>, column: usize) -> Result<Digest, StoreError> {
    text(row, column)?.parse().map_err(|_| damaged("an unreadable digest"))
}

fn read(row: &Row<'_>) -> Result<(ServerId, PinState), StoreError> {
    let (server, kind, name) = (ServerId::from(text(row, 0)?), kind(row, 1)?, text(row, 2)?);
    let state = match (definition(kind, row.get(3)?)?, definition(kind, row.get(4)?)?) {
        (Some(approved), None) => PinState::Approved(approved),
        (None, Some(pending)) => PinState::Asked(pending),
        (Some(approved), Some(pending)) => PinState::Changed { approved, pending },
        (None, None) => return Err(damaged("no definition")),
    };
    // The row is found by its name; with a definition of another name in it, an approval would apply to the wrong name.
    if state.name().as_str() != name {
        return Err(damaged("the definition of another name"));
    }
    Ok((server, state))
}

fn definition(kind: DefinitionKind, canonical: Option<Vec<u8>>) -> Result<Option<Definition>, StoreError> {
    let Some(canonical) = canonical else { return Ok(None) };
    let raw = RawJson::parse(canonical).map_err(|_| damaged("a definition that is no JSON"))?;
    Definition::restore(kind, &raw).map(Some).map_err(|_| damaged("a definition that is none"))
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("a pin has {what}"))
}

pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("schema/1_pins_of_tools.sql"),
    include_str!("schema/2_pins_of_kinds.sql"),
    include_str!("schema/3_remarks.sql"),
    include_str!("schema/4_verdicts.sql"),
];

/// The separator between the id of a server and that of an agent. No server id contains it.
const OF: char = '@';

/// Returns the id under which the definitions are pinned that `server` lists on the connection of `agent`: a list shown
/// to one agent neither approves nor holds definitions shown to another.
pub fn pinned_for(server: &ServerId, agent: &str) -> ServerId {
    ServerId::new(format!("{server}{OF}{agent}"))
}

/// Returns the server whose definitions are pinned under `holder`.
pub fn server_of(holder: &ServerId) -> &str {
    let holder = holder.as_str();
    holder.split_once(OF).map_or(holder, |(server, _)| server)
}

/// A remark on one definition, which applies only while the definition has this digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remark {
    /// The digest of the definition.
    pub(super) digest: Digest,
    /// The content of the remark.
    pub(super) what: RemarkKind,
}

/// The content of a remark on a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemarkKind {
    /// An operator approved the definition although this rule finds something in it.
    Accepted(Box<str>),
    /// An operator allowed that lists in the texts of the definition have another order each time, and figures other values.
    AnyOrder,
    /// The definition was in the first list after the configuration of its server had changed.
    Reconfigured,
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(rule) => write!(f, "{ACCEPTED}{rule}"),
            Self::AnyOrder => f.write_str(ANY_ORDER),
            Self::Reconfigured => f.write_str(RECONFIGURED),
        }
    }
}

impl RemarkKind {
    /// Reads what [`Display`](fmt::Display) wrote; `None` if this version does not know it.
    pub(super) fn read(text: &str) -> Option<Self> {
        match text.strip_prefix(ACCEPTED) {
            Some(rule) => Some(Self::Accepted(rule.into())),
            None if text == ANY_ORDER => Some(Self::AnyOrder),
            None if text == RECONFIGURED => Some(Self::Reconfigured),
            None => None,
        }
    }
}

/// All records that are kept beside the pins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PinAnnotations {
    /// The remarks on definitions, by server and name.
    pub(super) remarks: BTreeMap<ServerId, BTreeMap<DefinitionName, Vec<Remark>>>,
    /// The digest of the configuration with which each server last listed its definitions of each kind.
    pub(super) entries: BTreeMap<(ServerId, DefinitionKind), Digest>,
}

impl PinAnnotations {
    /// Replaces the remarks on the definition with `remarks`.
    pub(super) fn remark(&mut self, server: &ServerId, name: &DefinitionName, remarks: Vec<Remark>) {
        let of_server = self.remarks.entry(server.clone()).or_default();
        if remarks.is_empty() {
            of_server.remove(name);
        } else {
            of_server.insert(name.clone(), remarks);
        }
    }

    /// Returns the remarks on the definition called `name`, whatever digest they are about.
    pub(super) fn on(&self, server: &ServerId, name: &DefinitionName) -> &[Remark] {
        self.remarks.get(server).and_then(|of| of.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Returns the definitions of `kind` that came with a changed configuration.
    pub(super) fn reconfigured(&self, server: &ServerId, kind: DefinitionKind) -> Vec<DefinitionName> {
        let of_server = self.remarks.get(server).into_iter().flatten();
        of_server
            .filter(|(name, remarks)| {
                name.kind() == kind && remarks.iter().any(|remark| remark.what == RemarkKind::Reconfigured)
            })
            .map(|(name, _)| name.clone())
            .collect()
    }
}

const ACCEPTED: &str = "accepted:";
const ANY_ORDER: &str = "any-order";
const RECONFIGURED: &str = "reconfigured";

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::*;

    fn read(kind: DefinitionKind, description: &str) -> Definition {
        let json = format!(r#"{{"name":"read","description":"{description}"}}"#);
        Definition::read(kind, &Object::parse(json).unwrap()).unwrap()
    }

    fn tool(description: &str) -> Definition {
        read(DefinitionKind::Tool, description)
    }

    #[test]
    fn pins_of_the_first_version_are_pins_of_tools() {
        let database = Database::in_memory().unwrap();
        database.migrate("definition", &MIGRATIONS[..1]).unwrap();
        let old = tool("Reads.");
        database
            .connection()
            .execute(
                "INSERT INTO definition_pins (server, tool, approved) VALUES ('files', 'read', ?1)",
                [old.canonical().as_bytes()],
            )
            .unwrap();
        let pinned = PinStore::new(database).unwrap().load().unwrap();
        assert_eq!(pinned, [(ServerId::new("files"), PinState::Approved(old))]);
    }

    #[test]
    fn states_are_replaced_only_if_all_are_the_known_ones() {
        let store = PinStore::new(Database::in_memory().unwrap()).unwrap();
        let [asked, approved]: [PinState; 2] =
            [PinState::Asked(tool("Reads.")), PinState::Approved(tool("Reads."))];
        let row = |before: Option<&PinState>, state: &PinState| (before.cloned(), state.clone());
        let save =
            |before, state: &PinState| store.save(&ServerId::new("files"), &[row(before, state)]).unwrap();
        assert!(save(None, &asked) && !save(None, &approved) && !save(Some(&approved), &approved));
        assert!(save(Some(&asked), &approved) && !save(Some(&asked), &asked));
        let both = [row(Some(&approved), &asked), row(Some(&approved), &asked)];
        assert!(
            !store.save(&ServerId::new("files"), &both).unwrap(),
            "the second is not what it is after the first"
        );
        assert_eq!(store.load().unwrap()[0].1, approved);
    }

    #[test]
    fn a_row_that_was_tampered_with_is_called_damaged() {
        for tampered in ["name = 'write'", "approved = x'7b'", "kind = 'key'", "kind = 'template'"] {
            let database = Database::in_memory().unwrap();
            let store = PinStore::new(database.clone()).unwrap();
            assert!(
                store.save(&ServerId::new("files"), &[(None, PinState::Approved(tool("Reads.")))]).unwrap()
            );
            database.connection().execute(&format!("UPDATE definition_pins SET {tampered}"), []).unwrap();
            assert!(matches!(store.load(), Err(StoreError::Damaged(_))), "{tampered}");
        }
    }
}
