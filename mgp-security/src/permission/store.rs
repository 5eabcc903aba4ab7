//! The stores of operators' decisions and of questions to operators.

use mgp_types::mgp::{AgentId, Permission, ServerId, Timestamp};
use mgp_types::{LOCAL_AGENT, agent_family};
use rusqlite::{Row, params};

use super::{GrantLifetime, GrantRecord, GrantTerms, GrantVerdict};
use crate::StoreError;
use mgp_store::{Database, optional_time, text, time};

/// Returns whether a decision for `by` stands in place of one for `whose`: one for all agents in place of all others, and
/// one for `local` in place of those for its clients.
pub(super) fn covers(by: Option<&AgentId>, whose: Option<&AgentId>) -> bool {
    let family = || agent_family(whose?.as_str());
    by.is_none_or(|by| whose == Some(by) || family() == Some(by.as_str()))
}

/// Returns the pattern of the clients of an agent, where it has any.
fn clients_of(agent: &AgentId) -> Option<String> {
    (agent.as_str() == LOCAL_AGENT).then(|| format!("{agent}/*"))
}

/// The store in which the decisions of operators outlive the process. It is read when a book is opened and when other
/// kernels changed it, and else only written, by one writer at a time and away from the threads that answer requests.
#[derive(Debug)]
pub(super) struct GrantStore(Database);

impl GrantStore {
    /// Returns the store in `database`, whose tables are brought up to date.
    pub(super) fn new(database: Database) -> Result<Self, StoreError> {
        database.section("permission", MIGRATIONS).map(Self)
    }

    /// Returns all records.
    pub(super) fn load(&self) -> Result<Vec<GrantRecord>, StoreError> {
        // A decision for all agents comes before those for single ones, which were made later.
        let all =
            "SELECT server, permission, decision, scope, expires_at, approver, decided_at, agent, question
                   FROM permission_grants ORDER BY server, permission, agent";
        self.0.read_all(all, [], record)
    }

    /// Stores a record in place of an older one about the same permission of the same server, for the same agent. A
    /// decision for all agents also replaces those for single agents, and one for `local` those for its clients.
    pub(super) fn put(&self, record: &GrantRecord) -> Result<(), StoreError> {
        let scope = match &record.verdict {
            GrantVerdict::Approved(terms) => terms.scope.as_ref().map(serde_json::to_string).transpose(),
            GrantVerdict::Denied { .. } => Ok(None),
        };
        let scope = scope.map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        let put = || {
            self.0.change(|change| {
        let clients = record.agent.as_ref().and_then(clients_of);
        if record.agent.is_none() || clients.is_some() {
            change.execute(
                "DELETE FROM permission_grants WHERE server = ?1 AND permission = ?2 AND (?3 IS NULL OR agent GLOB ?3)",
                params![record.server.as_str(), record.permission.as_str(), clients],
            )?;
        }
        change.execute(
            "INSERT OR REPLACE INTO permission_grants
                 (server, permission, decision, scope, expires_at, approver, decided_at, agent, question)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                record.server.as_str(),
                record.permission.as_str(),
                record.verdict.decision().as_str(),
                scope,
                record.verdict.end().map(Timestamp::as_millis),
                record.approver,
                record.decided_at.as_millis(),
                record.agent.as_ref().map_or(ALL_AGENTS, AgentId::as_str),
                record.question,
            ],
        )?;
        Ok(())
        })
        };
        if matches!(record.verdict, GrantVerdict::Denied { .. }) {
            self.0.take_away(put)
        } else {
            self.0.give(put)
        }
    }

    /// Removes the record about `permission` of `server` for `agent`; if `agent` is `None`, the records for all agents
    /// and for each.
    pub(super) fn remove(
        &self,
        server: &ServerId,
        permission: &Permission,
        agent: Option<&AgentId>,
    ) -> Result<(), StoreError> {
        self.0.execute(
            "DELETE FROM permission_grants WHERE server = ?1 AND permission = ?2 AND (?3 IS NULL OR agent = ?3 OR agent GLOB ?4)",
            params![server.as_str(), permission.as_str(), agent.map(AgentId::as_str), agent.and_then(clients_of)],
        )
    }
}

/// The store in which questions to operators outlive the process that asked them. It is read when a queue is opened and
/// when other kernels changed it, and else only written, away from the threads that answer requests.
#[derive(Debug)]
pub(super) struct QuestionStore(Database);

impl QuestionStore {
    /// Returns the store in `database`, whose tables are brought up to date.
    pub(super) fn new(database: Database) -> Result<Self, StoreError> {
        database.section("questions", &[QUESTIONS]).map(Self)
    }

    /// Returns all questions, the oldest first.
    pub(super) fn load(&self) -> Result<Vec<String>, StoreError> {
        self.0.read_all("SELECT question FROM questions ORDER BY number", [], |row| Ok(row.get(0)?))
    }

    /// Returns whether other kernels share the questions.
    pub(super) fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    /// Stores the question `id` as `now`, or removes it, if it is still stored as `before`; a new one if `others` are there,
    /// so that nobody asks what another kernel asks already. Returns whether it was so.
    pub(super) fn exchange(
        &self,
        id: &str,
        (before, now): (Option<&str>, Option<&str>),
        others: u32,
    ) -> Result<bool, StoreError> {
        let changed = self.0.change(|change| match (before, now) {
            (None, None) => Ok(1),
            (None, Some(now)) => change.execute(
                "INSERT INTO questions (id, question)
                 SELECT ?1, ?2 WHERE (SELECT count(*) FROM questions) = ?3 ON CONFLICT DO NOTHING",
                params![id, now, others],
            ),
            (Some(before), Some(now)) => {
                let replace = "UPDATE questions SET question = ?3 WHERE id = ?1 AND question = ?2";
                change.execute(replace, params![id, before, now])
            }
            (Some(before), None) => {
                change.execute("DELETE FROM questions WHERE id = ?1 AND question = ?2", params![id, before])
            }
        })?;
        Ok(changed == 1)
    }
}

const QUESTIONS: &str = "CREATE TABLE questions (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, question TEXT NOT NULL) STRICT";

/// Returns the record in a row. A row with an unknown value must neither be read as a grant nor passed over, because
/// it may be a denial.
fn record(row: &Row<'_>) -> Result<GrantRecord, StoreError> {
    let end = optional_time(row, 4)?;
    let verdict = match text(row, 2)? {
        "approved" => {
            let scope =
                row.get::<_, Option<String>>(3)?.map(|scope| serde_json::from_str(&scope)).transpose();
            let scope =
                scope.map_err(|error| StoreError::Damaged(format!("the scope of a grant: {error}")))?;
            GrantVerdict::Approved(GrantTerms { scope, expires_at: end, lasts: GrantLifetime::Always })
        }
        "denied" => GrantVerdict::Denied { until: end },
        _ => return Err(StoreError::Damaged("a decision is neither `approved` nor `denied`".to_owned())),
    };
    let agent = text(row, 7)?;
    let agent = (agent != ALL_AGENTS).then(|| AgentId::from(agent));
    Ok(GrantRecord {
        server: text(row, 0)?.into(),
        permission: Permission::read(text(row, 1)?),
        agent,
        verdict,
        approver: text(row, 5)?.into(),
        decided_at: time(row, 6)?,
        question: row.get(8)?,
    })
}

/// The value for the agent in a decision for all agents.
pub(super) const ALL_AGENTS: &str = "";

const MIGRATIONS: &[&str] = &[
    include_str!("schema/1_grants.sql"),
    include_str!("schema/2_grants_of_agents.sql"),
    include_str!("schema/3_answered_question.sql"),
];

#[cfg(test)]
mod tests {
    use mgp_types::mgp::Scope;

    use super::*;

    fn sample(permission: Permission, verdict: GrantVerdict) -> GrantRecord {
        GrantRecord {
            server: "files".into(),
            permission,
            agent: None,
            verdict,
            approver: "ada".into(),
            decided_at: Timestamp::from_millis(1000).unwrap(),
            question: None,
        }
    }

    #[test]
    fn records_are_read_as_they_were_written_and_the_last_one_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let scope: Scope = serde_json::from_str(r#"{"paths":["/a/**"]}"#).unwrap();
        let expires_at = Timestamp::from_millis(5000);
        let terms = GrantTerms { scope: Some(Box::new(scope)), expires_at, ..GrantTerms::default() };
        let granted = sample(Permission::FilesystemRead, GrantVerdict::Approved(terms));
        let end = Timestamp::from_millis(9000);
        let custom = sample(Permission::read("com.example.x"), GrantVerdict::Denied { until: end });
        let custom = GrantRecord { question: Some("k7fm".into()), ..custom };
        {
            let store = GrantStore::new(Database::open(&path).unwrap()).unwrap();
            store.put(&sample(Permission::FilesystemRead, GrantVerdict::Denied { until: None })).unwrap();
            store.put(&granted).unwrap();
            store.put(&custom).unwrap();
        }
        let store = GrantStore::new(Database::open(&path).unwrap()).unwrap();
        let mut records = store.load().unwrap();
        records.sort_by(|a, b| b.permission.as_str().cmp(a.permission.as_str()));
        assert_eq!(records, [granted, custom]);
    }

    #[test]
    fn what_was_granted_before_there_were_agents_in_it_holds_for_all_of_them() {
        let database = Database::in_memory().unwrap();
        database.migrate("permission", &MIGRATIONS[..1]).unwrap();
        let row =
            "INSERT INTO permission_grants VALUES ('files', 'camera', 'approved', NULL, NULL, 'ada', 1000)";
        database.connection().execute(row, []).unwrap();
        let store = GrantStore::new(database).unwrap();
        let granted = sample(Permission::Camera, GrantVerdict::Approved(GrantTerms::default()));
        assert_eq!(store.load().unwrap(), [granted]);
    }

    #[test]
    fn agents_have_records_of_their_own_until_all_have_one() {
        let store = GrantStore::new(Database::in_memory().unwrap()).unwrap();
        let granted = |agent: &str| {
            let granted = sample(Permission::Camera, GrantVerdict::Approved(GrantTerms::default()));
            GrantRecord { agent: Some(agent.into()), ..granted }
        };
        store.put(&granted("one")).unwrap();
        store.put(&granted("two")).unwrap();
        assert_eq!(store.load().unwrap(), [granted("one"), granted("two")]);
        store.put(&sample(Permission::Camera, GrantVerdict::Denied { until: None })).unwrap();
        assert_eq!(store.load().unwrap(), [sample(Permission::Camera, GrantVerdict::Denied { until: None })]);
    }

    #[test]
    fn questions_are_kept_in_their_order_and_replaced_only_as_they_are_known() {
        let store = QuestionStore::new(Database::in_memory().unwrap()).unwrap();
        let exchange = |id, before, now, others| store.exchange(id, (before, now), others).unwrap();
        assert!(exchange("b", None, Some("1"), 0) && exchange("a", None, Some("2"), 1));
        assert!(!exchange("c", None, Some("4"), 1), "one of the others is not known");
        assert!(!exchange("b", None, Some("4"), 2), "the id is taken");
        assert!(exchange("b", Some("1"), Some("3"), 2) && !exchange("b", Some("1"), Some("4"), 2));
        assert_eq!(store.load().unwrap(), ["3", "2"]);
        assert!(!exchange("b", Some("1"), None, 2) && exchange("b", Some("3"), None, 2));
        assert_eq!(store.load().unwrap(), ["2"]);
    }

    #[test]
    fn what_is_removed_is_gone_of_one_agent_or_of_all() {
        let store = GrantStore::new(Database::in_memory().unwrap()).unwrap();
        let denied = |agent: Option<&str>| {
            let denied = sample(Permission::Camera, GrantVerdict::Denied { until: None });
            GrantRecord { agent: agent.map(Into::into), ..denied }
        };
        for agent in [None, Some("one"), Some("two")] {
            store.put(&denied(agent)).unwrap();
        }
        let remove = |agent: Option<AgentId>| {
            store.remove(&"files".into(), &Permission::Camera, agent.as_ref()).unwrap();
        };
        remove(Some("one".into()));
        assert_eq!(store.load().unwrap(), [denied(None), denied(Some("two"))]);
        remove(None);
        assert_eq!(store.load().unwrap(), []);
    }

    #[test]
    fn what_cannot_be_understood_is_damage_and_no_grant() {
        let database = Database::in_memory().unwrap();
        let store = GrantStore::new(database.clone()).unwrap();
        store.put(&sample(Permission::Camera, GrantVerdict::Approved(GrantTerms::default()))).unwrap();
        database.connection().execute("UPDATE permission_grants SET scope = '{\"new\":1}'", []).unwrap();
        assert!(matches!(store.load(), Err(StoreError::Damaged(_))));
    }

    #[test]
    fn a_decision_for_local_stands_in_place_of_those_for_its_clients() {
        let agent = AgentId::from;
        let (local, client, other) = (agent("local"), agent("local/cursor"), agent("ada"));
        assert!(covers(Some(&local), Some(&client)) && covers(Some(&local), Some(&local)));
        assert!(!covers(Some(&client), Some(&local)) && !covers(Some(&local), Some(&other)));
        assert!(covers(None, Some(&client)) && covers(None, None) && !covers(Some(&local), None));
    }
}
