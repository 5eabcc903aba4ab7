//! The list of all operations of operators.

use std::any::TypeId;

use mgp_types::{BoxFuture, Error, Object, RawJson};

use super::operation::{Operation, OperatorCall, ProofNeed};
use super::{
    access, audit, backup, clients, cluster, config, export, keys, operators, permissions, pins, questions,
    registrations, server_additions, server_orders, servers, status, tools,
};
use crate::install::InstallRequest;

/// All operations, by noun, each with the name of its method and the connections that need the passphrase for it. What is not in this list, operators
/// cannot do.
static OPERATIONS: [OperationEntry; 61] = [
    OperationEntry::of::<access::ListAccess>("kernel/access/list", ProofNeed::None),
    OperationEntry::of::<access::ListGroups>("kernel/access/groups", ProofNeed::None),
    OperationEntry::of::<access::ReadAccessMatrix>("kernel/access/matrix", ProofNeed::None),
    OperationEntry::of::<audit::CountEvents>("kernel/audit/counts", ProofNeed::None),
    OperationEntry::of::<export::ExportEvents>("kernel/audit/export", ProofNeed::None),
    OperationEntry::of::<audit::QueryEvents>("kernel/audit/query", ProofNeed::None),
    OperationEntry::of::<audit::ReadLogEnd>("kernel/audit/head", ProofNeed::None),
    OperationEntry::of::<audit::VerifyLog>("kernel/audit/verify", ProofNeed::None),
    OperationEntry::of::<backup::BackUp>("kernel/backup", ProofNeed::Others),
    OperationEntry::of::<clients::TrustClient>("kernel/clients/trust", ProofNeed::All),
    OperationEntry::of::<cluster::ReadClusterStatus>("kernel/cluster/status", ProofNeed::None),
    OperationEntry::of::<config::CheckAskRule>("kernel/config/ask", ProofNeed::None),
    OperationEntry::of::<config::ListUnmatched>("kernel/config/unmatched", ProofNeed::None),
    OperationEntry::of::<config::ReloadConfig>("kernel/config/reload", ProofNeed::All),
    OperationEntry::of::<config::ShowConfig>("kernel/config/show", ProofNeed::None),
    OperationEntry::of::<tools::ExplainCall>("kernel/explain", ProofNeed::None),
    OperationEntry::of::<status::ReadStatus>("kernel/status", ProofNeed::None),
    OperationEntry::of::<status::StepAside>("kernel/yield", ProofNeed::None),
    OperationEntry::of::<status::StopKernel>("kernel/stop", ProofNeed::Others),
    OperationEntry::of::<status::RestartKernel>("kernel/restart", ProofNeed::Others),
    OperationEntry::of::<keys::IssueKey>("kernel/keys/new", ProofNeed::All),
    OperationEntry::of::<keys::ListKeys>("kernel/keys/list", ProofNeed::None),
    OperationEntry::of::<keys::RevokeKey>("kernel/keys/revoke", ProofNeed::All),
    OperationEntry::of::<keys::RotateKey>("kernel/keys/rotate", ProofNeed::All),
    OperationEntry::of::<operators::AdmitOperator>("kernel/operators/admit", ProofNeed::All),
    OperationEntry::of::<operators::IssueToken>("kernel/operators/token", ProofNeed::None),
    OperationEntry::of::<operators::ProvePresence>("kernel/operators/prove", ProofNeed::None),
    OperationEntry::of::<operators::ReadProofStatus>("kernel/operators/standing", ProofNeed::None),
    OperationEntry::of::<operators::SetPassphrase>("kernel/operators/passphrase", ProofNeed::None),
    OperationEntry::of::<operators::OpenPage>("kernel/page/open", ProofNeed::None),
    OperationEntry::of::<permissions::GrantPermission>("kernel/permissions/grant", ProofNeed::All),
    OperationEntry::of::<permissions::ListGrants>("kernel/permissions/list", ProofNeed::None),
    OperationEntry::of::<permissions::ResetDecision>("kernel/permissions/reset", ProofNeed::All),
    OperationEntry::of::<permissions::RevokePermission>("kernel/permissions/revoke", ProofNeed::Others),
    OperationEntry::of::<questions::ApproveQuestion>("kernel/permissions/approve", ProofNeed::All),
    OperationEntry::of::<questions::DenyQuestion>("kernel/permissions/deny", ProofNeed::Others),
    OperationEntry::of::<questions::ListPending>("kernel/permissions/pending", ProofNeed::None),
    OperationEntry::of::<questions::ShowQuestion>("kernel/permissions/show", ProofNeed::None),
    OperationEntry::of::<questions::WatchQuestions>("kernel/permissions/watch", ProofNeed::None),
    OperationEntry::of::<pins::ApprovePin>("kernel/pins/approve", ProofNeed::All),
    OperationEntry::of::<pins::ListPins>("kernel/pins/list", ProofNeed::None),
    OperationEntry::of::<pins::PinnedName>("kernel/pins/diff", ProofNeed::None),
    OperationEntry::of::<registrations::ApproveRegistration>("kernel/registrations/approve", ProofNeed::All),
    OperationEntry::of::<registrations::DenyRegistration>("kernel/registrations/deny", ProofNeed::Others),
    OperationEntry::of::<registrations::KeepRegistration>("kernel/registrations/keep", ProofNeed::All),
    OperationEntry::of::<registrations::ListRegistrations>("kernel/registrations/list", ProofNeed::None),
    OperationEntry::of::<server_orders::BeginLogin>("kernel/server/login", ProofNeed::All),
    OperationEntry::of::<server_orders::ChangeLogin>("kernel/server/login/change", ProofNeed::All),
    OperationEntry::of::<server_orders::ReadServerLog>("kernel/server/logs", ProofNeed::None),
    OperationEntry::of::<server_orders::ShowServer>("kernel/server/show", ProofNeed::None),
    OperationEntry::of::<server_orders::ReconnectServer>("kernel/server/reconnect", ProofNeed::Others),
    OperationEntry::of::<server_orders::RestartServer>("kernel/server/restart", ProofNeed::All),
    OperationEntry::of::<server_orders::StartServer>("kernel/server/start", ProofNeed::All),
    OperationEntry::of::<server_orders::StopServer>("kernel/server/stop", ProofNeed::Others),
    OperationEntry::of::<server_additions::AddServers>("kernel/servers/add", ProofNeed::All),
    OperationEntry::of::<InstallRequest>("kernel/servers/find", ProofNeed::None),
    OperationEntry::of::<server_additions::InstallServer>("kernel/servers/install", ProofNeed::All),
    OperationEntry::of::<servers::ListServers>("kernel/servers", ProofNeed::None),
    OperationEntry::of::<status::ReadStats>("kernel/stats", ProofNeed::None),
    OperationEntry::of::<cluster::MigrateStore>("kernel/store/migrate", ProofNeed::All),
    OperationEntry::of::<tools::ListTools>("kernel/tools", ProofNeed::None),
];

/// An operation in the list.
pub struct OperationEntry {
    name: &'static str,
    request: fn() -> TypeId,
    /// The connections that need the operator passphrase.
    pub proof: ProofNeed,
    /// The function that runs the operation with these params. Its caller has checked that the passphrase was given. It
    /// fails with -32602 if the params are not those of the operation.
    pub(crate) run: fn(OperatorCall, Object) -> BoxFuture<'static, Result<RawJson, Error>>,
}

mgp_types::partial_debug!(OperationEntry, self => name: self.name);

impl OperationEntry {
    const fn of<O: Operation>(name: &'static str, proof: ProofNeed) -> Self {
        Self { name, request: TypeId::of::<O>, proof, run: |call, params| Box::pin(run::<O>(call, params)) }
    }

    /// Returns the name of the method of an operation.
    ///
    /// # Panics
    /// The list lacks the operation, which a test prevents.
    pub fn name_of<O: Operation>() -> &'static str {
        let named = OPERATIONS.iter().find(|entry| (entry.request)() == TypeId::of::<O>());
        named.expect("each operation is in the list").name
    }

    /// Returns the operation with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
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

    /// The operations that need no passphrase are listed here once more, so that none becomes one by mistake.
    #[test]
    fn what_changes_something_needs_the_passphrase() {
        let with = |proof| -> Vec<_> {
            let of = |entry: &&OperationEntry| entry.proof == proof;
            OPERATIONS.iter().filter(of).map(|entry| entry.name.trim_start_matches("kernel/")).collect()
        };
        let tightening = [
            "backup", "stop", "restart", "permissions/revoke", "permissions/deny", "registrations/deny",
            "server/reconnect", "server/stop",
        ];
        assert_eq!(with(ProofNeed::Others), tightening);
        let reading = [
            "access/list", "access/groups", "access/matrix", "audit/counts", "audit/export", "audit/query",
            "audit/head", "audit/verify", "cluster/status", "config/ask", "config/unmatched", "config/show",
            "explain", "status", "yield", "keys/list", "operators/token", "operators/prove",
            "operators/standing", "operators/passphrase", "page/open", "permissions/list",
            "permissions/pending", "permissions/show", "permissions/watch", "pins/list", "pins/diff",
            "registrations/list", "server/logs", "server/show", "servers/find", "servers", "stats", "tools",
        ];
        assert_eq!(with(ProofNeed::None), reading);
    }
}
