//! The list of all operations of operators.

use std::pin::Pin;

use mgp_types::{Error, Object, RawJson};

use super::operation::{Operation, OperatorCall, ProofNeed};
use super::{
    access, audit, config, keys, operators, permissions, pins, questions, registrations, server_orders,
    servers, status, tools,
};

/// All operations, by noun. What is not in this list, operators cannot do.
static OPERATIONS: [OperationEntry; 43] = [
    OperationEntry::of::<access::ListAccess>(),
    OperationEntry::of::<audit::ExportEvents>(),
    OperationEntry::of::<audit::QueryEvents>(),
    OperationEntry::of::<audit::ReadLogEnd>(),
    OperationEntry::of::<audit::VerifyLog>(),
    OperationEntry::of::<config::ListUnmatched>(),
    OperationEntry::of::<config::ReloadConfig>(),
    OperationEntry::of::<config::ShowConfig>(),
    OperationEntry::of::<status::ReadStatus>(),
    OperationEntry::of::<status::StepAside>(),
    OperationEntry::of::<status::StopKernel>(),
    OperationEntry::of::<keys::IssueKey>(),
    OperationEntry::of::<keys::ListKeys>(),
    OperationEntry::of::<keys::RevokeKey>(),
    OperationEntry::of::<operators::AdmitOperator>(),
    OperationEntry::of::<operators::IssueToken>(),
    OperationEntry::of::<operators::ProvePresence>(),
    OperationEntry::of::<operators::ReadProofStatus>(),
    OperationEntry::of::<operators::SetPassphrase>(),
    OperationEntry::of::<permissions::GrantPermission>(),
    OperationEntry::of::<permissions::ListGrants>(),
    OperationEntry::of::<permissions::ResetDecision>(),
    OperationEntry::of::<permissions::RevokePermission>(),
    OperationEntry::of::<questions::ApproveQuestion>(),
    OperationEntry::of::<questions::DenyQuestion>(),
    OperationEntry::of::<questions::ListPending>(),
    OperationEntry::of::<questions::ShowQuestion>(),
    OperationEntry::of::<questions::WatchQuestions>(),
    OperationEntry::of::<pins::ApprovePin>(),
    OperationEntry::of::<pins::ListPins>(),
    OperationEntry::of::<pins::PinnedName>(),
    OperationEntry::of::<registrations::ApproveRegistration>(),
    OperationEntry::of::<registrations::DenyRegistration>(),
    OperationEntry::of::<registrations::KeepRegistration>(),
    OperationEntry::of::<registrations::ListRegistrations>(),
    OperationEntry::of::<server_orders::ReadServerLog>(),
    OperationEntry::of::<server_orders::ReconnectServer>(),
    OperationEntry::of::<server_orders::RestartServer>(),
    OperationEntry::of::<server_orders::StartServer>(),
    OperationEntry::of::<server_orders::StopServer>(),
    OperationEntry::of::<servers::ListServers>(),
    OperationEntry::of::<status::ReadStats>(),
    OperationEntry::of::<tools::ListTools>(),
];

/// An operation in the list.
pub(crate) struct OperationEntry {
    name: &'static str,
    /// The connections that have to prove first that a person is there.
    pub(crate) proof: ProofNeed,
    /// The function that runs the operation with these params. Whoever calls it has checked that the proof was given. It
    /// fails with -32602 if the params are not those of the operation.
    pub(crate) run: fn(OperatorCall, Object) -> OperationFuture,
}

/// An operation that runs, and its reply as JSON.
pub(crate) type OperationFuture = Pin<Box<dyn Future<Output = Result<RawJson, Error>> + Send>>;

impl OperationEntry {
    const fn of<O: Operation>() -> Self {
        Self { name: O::NAME, proof: O::PROOF, run: |call, params| Box::pin(run::<O>(call, params)) }
    }

    /// Returns the operation with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|entry| entry.name == name)
    }
}

async fn run<O: Operation>(call: OperatorCall, params: Object) -> Result<RawJson, Error> {
    let operation: O = params.to().map_err(|error| Error::invalid_params(error.to_string()))?;
    let reply = operation.run(&call).await?;
    RawJson::from_value(&reply).map_err(|error| Error::internal("the result is not JSON").with_source(error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_operation_has_a_name_of_its_own() {
        let names: BTreeSet<_> = OPERATIONS.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), OPERATIONS.len());
        assert!(names.iter().all(|name| name.starts_with("kernel/")), "{names:?}");
    }

    #[test]
    fn no_operation_is_forgotten() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let text: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let written = text.lines().filter(|line| line.starts_with("impl Operation for ")).count();
        assert_eq!(written, OPERATIONS.len());
    }

    /// The operations that an unproved connection may use are named here once more, so that none becomes one by mistake.
    #[test]
    fn what_changes_something_takes_a_proof() {
        let with = |proof| -> Vec<_> {
            let of = |entry: &&OperationEntry| entry.proof == proof;
            OPERATIONS.iter().filter(of).map(|entry| entry.name.trim_start_matches("kernel/")).collect()
        };
        let tightening =
            ["stop", "permissions/revoke", "permissions/deny", "server/reconnect", "server/stop"];
        assert_eq!(with(ProofNeed::Others), tightening);
        let reading = [
            "access/list", "audit/export", "audit/query", "audit/head", "audit/verify", "config/unmatched",
            "config/show", "status", "yield", "keys/list", "operators/token", "operators/prove",
            "operators/standing", "operators/passphrase", "permissions/list", "permissions/pending",
            "permissions/show", "permissions/watch", "pins/list", "pins/diff", "registrations/list",
            "server/logs", "servers", "stats", "tools",
        ];
        assert_eq!(with(ProofNeed::None), reading);
    }
}
